"""What a low-rank adapter adds to a linear layer, as plain tensors: beside the layer's product, or in its weights."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

_PLAIN = "peft.tuners.lora.layer.Linear"
"""By its name, because PEFT is an extra."""


@dataclass(frozen=True, slots=True)
class LowRank:
    """scale * (x @ down.T) @ up.T, which is x @ (scale * up @ down).T."""

    down: Float[Tensor, "rank depth"]
    up: Float[Tensor, "columns rank"]
    scale: float

    @classmethod
    def of(cls, layer: nn.Module) -> "LowRank | None":
        """That of PEFT's layer; None for a layer without an adapter, or with anything but one plain one that is on."""
        found = _plain_adapter(layer)
        return None if found is None else cls(*found)

    @torch.no_grad()
    def merged_into(
        self, weight: Float[Tensor, "columns depth"], out: Float[Tensor, "columns depth"]
    ) -> Float[Tensor, "columns depth"]:
        """``out``, filled with ``weight`` and the adapter; ``weight`` stays as it is. All of them are fp32."""
        return torch.mm(self.up, self.down, out=out).mul_(self.scale).add_(weight)


def has_adapter(layer: nn.Module) -> bool:
    """Whether it is one of PEFT's layers around a linear one, of whatever kind."""
    # The dictionary itself: asking a module for a name that it lacks takes ten times as long.
    return "lora_A" in layer._modules


def adapted_layer(layer: nn.Module) -> nn.Module:
    """The layer itself, or the one that its adapter is around."""
    return layer.get_submodule("base_layer") if has_adapter(layer) else layer


def is_bare(module: nn.Module) -> bool:
    """Whether its forward is that of its class, and no hook sees it."""
    return not (module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))


def _plain_adapter(layer: Any) -> tuple[Tensor, Tensor, float] | None:
    if not has_adapter(layer) or f"{type(layer).__module__}.{type(layer).__name__}" != _PLAIN:
        return None
    names = list(layer.active_adapters)
    if layer.disable_adapters or layer.merged or layer.fan_in_fan_out or len(names) != 1:
        return None
    [name] = names
    down, up, dropout = (parts[name] for parts in (layer.lora_A, layer.lora_B, layer.lora_dropout))
    is_odd = name in layer.lora_variant or type(dropout) is not nn.Identity
    if is_odd or any(type(part) is not nn.Linear or part.bias is not None for part in (down, up)):
        return None
    return (down.weight, up.weight, float(layer.scaling[name])) if all(map(is_bare, (layer, down, up))) else None
