"""What a low-rank adapter adds to a linear layer, as plain tensors: beside the layer's product, or in its weights."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
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

    @torch.no_grad()
    def added_to(self, weight: Float[Tensor, "columns depth"]) -> Float[Tensor, "columns depth"]:
        """The weight with the adapter, worked out in fp32 and rounded to its type; ``weight`` stays as it is."""
        delta = torch.mm(self.up.float(), self.down.float()).mul_(self.scale)
        return delta.add_(weight.float()).to(weight.dtype)


PEFT_PREFIX = "base_model.model."
"""PEFT's files name a module by its path below a wrapper that we do not use."""
_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptedWeights:
    """All weights of a model, told apart: a base that stays, and an adapter that every step changes.

    Who has the base takes over the adapter alone. It is added to the base itself each time, never to what the adapter
    before it was added to, so the sum has the bytes that it has where all weights are given.
    """

    base: Hashable
    """Equal only where the base is the same to the bit."""
    base_weights: Callable[[], Iterable[tuple[str, Tensor]]]
    """Every weight once under transformers' name, those that the adapter has whole among them."""
    adapters: Mapping[str, LowRank]
    """By the name of the weight that each is added to."""
    whole: Mapping[str, Tensor]
    """Weights that take the place of the base's."""

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        """As ``WeightSource.named_weights``."""
        for name, weight in self.base_weights():
            yield name, self.merged_weight(name, weight)

    def merged_weight(self, name: str, weight: Tensor) -> Tensor:
        """What is sampled with in the place of a weight of the base."""
        adapter = self.adapters.get(name)
        return self.whole.get(name, weight) if adapter is None else adapter.added_to(weight)

    def peft_tensors(self) -> dict[str, Tensor]:
        """The adapter under the names that PEFT's files have for it."""
        tensors = {f"{PEFT_PREFIX}{name}": weight for name, weight in self.whole.items()}
        for name, adapter in self.adapters.items():
            module = f"{PEFT_PREFIX}{name.removesuffix('.weight')}"
            tensors |= {f"{module}{_DOWN}": adapter.down, f"{module}{_UP}": adapter.up}
        return tensors

    @classmethod
    def of_peft(
        cls,
        tensors: Mapping[str, Tensor],
        scale: float,
        *,
        base: Hashable,
        base_weights: Callable[[], Iterable[tuple[str, Tensor]]],
    ) -> "AdaptedWeights":
        """The same again, from ``peft_tensors``."""
        named = {name.removeprefix(PEFT_PREFIX): tensor for name, tensor in tensors.items()}
        downs = {name.removesuffix(_DOWN): tensor for name, tensor in named.items() if name.endswith(_DOWN)}
        adapters = {f"{name}.weight": LowRank(down, named[f"{name}{_UP}"], scale) for name, down in downs.items()}
        whole = {name: tensor for name, tensor in named.items() if not name.endswith((_DOWN, _UP))}
        return cls(base=base, base_weights=base_weights, adapters=adapters, whole=whole)

    @property
    def scale(self) -> float:
        """Of all adapters alike: alpha / rank."""
        return next(iter(self.adapters.values())).scale


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
