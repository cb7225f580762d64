"""One new token for each of many rows: a language model's layers as bare products, for steps that are mostly overhead.

transformers' modules are made for every case; a forward of one token spends more time between their operations than in
them. Here the same weights go through the same operations without what a token by itself does not need. Whatever is
not known to the letter is left to the modules: ``TokenDecoder.of`` then gives None.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, rms_norm, silu
from transformers import PreTrainedModel
from transformers.activations import SiLUActivation
from transformers.models.qwen2.modeling_qwen2 import Qwen2DecoderLayer
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLDecoderLayer
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextDecoderLayer

_LAYERS = (Qwen2_5_VLDecoderLayer, Qwen3VLTextDecoderLayer, Qwen2DecoderLayer)
"""Pre-norm, rotary, gated with SiLU; norms of queries and keys in the second alone."""

Attend = Callable[[int, Tensor, Tensor, Tensor, float], Tensor]
"""Layer, queries (rows, heads, head_dim), new keys and new values (rows, key heads, head_dim), scale of the scores.

Keeps the new ones and gives (rows, heads * head_dim): attention to all that the rows hold.
"""


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Tensor
    epsilon: float

    @classmethod
    def of(cls, module: nn.Module) -> "_Norm":
        return cls(module.get_parameter("weight").detach(), float(module.variance_epsilon))  # type: ignore[arg-type]

    def __call__(self, states: Tensor) -> Tensor:
        return rms_norm(states, self.weight.shape, self.weight, self.epsilon)


@dataclass(frozen=True, slots=True)
class _Product:
    weight: Tensor
    bias: Tensor | None

    @classmethod
    def of(cls, module: nn.Module) -> "_Product":
        bias = module.bias
        return cls(module.get_parameter("weight").detach(), bias.detach() if isinstance(bias, Tensor) else None)

    @property
    def width(self) -> int:
        return len(self.weight)

    def into(self, out: Tensor, states: Tensor) -> None:
        if self.bias is None:
            torch.mm(states, self.weight.t(), out=out)
        else:
            torch.addmm(self.bias, states, self.weight.t(), out=out)

    def __call__(self, states: Tensor) -> Tensor:
        return linear(states, self.weight, self.bias)

    def onto(self, residual: Tensor, states: Tensor) -> Tensor:
        """The product added to ``residual``, which it may overwrite."""
        added = residual.addmm_(states, self.weight.t())
        return added if self.bias is None else added.add_(self.bias)


@dataclass(frozen=True, slots=True)
class _Layer:
    before_attention: _Norm
    asking: tuple[_Product, _Product, _Product]
    """To queries, keys and values."""
    of_queries: _Norm | None
    of_keys: _Norm | None
    after_attention: _Product
    before_mlp: _Norm
    gate: _Product
    up: _Product
    down: _Product

    @classmethod
    def of(cls, module: nn.Module) -> "_Layer":
        attention, mlp = module.get_submodule("self_attn"), module.get_submodule("mlp")
        query, key, value = (_Product.of(attention.get_submodule(f"{name}_proj")) for name in "qkv")
        has_norms = hasattr(attention, "q_norm")
        return cls(
            before_attention=_Norm.of(module.get_submodule("input_layernorm")),
            asking=(query, key, value),
            of_queries=_Norm.of(attention.get_submodule("q_norm")) if has_norms else None,
            of_keys=_Norm.of(attention.get_submodule("k_norm")) if has_norms else None,
            after_attention=_Product.of(attention.get_submodule("o_proj")),
            before_mlp=_Norm.of(module.get_submodule("post_attention_layernorm")),
            gate=_Product.of(mlp.get_submodule("gate_proj")),
            up=_Product.of(mlp.get_submodule("up_proj")),
            down=_Product.of(mlp.get_submodule("down_proj")),
        )

    def projected(self, states: Tensor) -> Tensor:
        """Queries, keys and values side by side, (rows, all of their widths)."""
        out = states.new_empty(len(states), sum(product.width for product in self.asking))
        start = 0
        for product in self.asking:
            product.into(out.narrow(1, start, product.width), states)
            start += product.width
        return out


class TokenDecoder:
    """A view of the language model's weights, true also when they change in place. Callers switch gradients off."""

    def __init__(self, hf: PreTrainedModel) -> None:
        text = hf.model.language_model
        attention = text.layers[0].self_attn
        self._embed = hf.get_input_embeddings()
        self._layers = [_Layer.of(layer) for layer in text.layers]
        self._last = _Norm.of(text.norm)
        self._frequencies: Tensor = text.rotary_emb.inv_freq.float()
        self._head_dim = int(attention.head_dim)
        self._scale = float(attention.scaling)
        self._heads = self._layers[0].asking[0].width // self._head_dim
        self._key_heads = self._layers[0].asking[1].width // self._head_dim

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "TokenDecoder | None":
        """None for a model that needs its modules: with adapters, hooks, sliding windows, scaled positions.

        In half precision the modules round in places of their own, so these are left to them too.
        """
        text = hf.model.language_model
        config = text.config
        is_plain = (
            all(type(layer) in _LAYERS for layer in text.layers)
            and all(_is_plain(module) for layer in text.layers for module in layer.modules())
            and config.hidden_act == "silu"
            and set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
            and text.rotary_emb.rope_type == "default"
            and all(weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in text.parameters())
        )
        return cls(hf) if is_plain else None

    def __call__(self, ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Last hidden states (rows, hidden) of ``ids`` (rows,) at ``positions`` (rows,), text all of them."""
        states = self._embed(ids[:, None])[:, 0].clone()
        turn = self._turn(positions)
        for index, layer in enumerate(self._layers):
            query, key, value = self._asking(layer, layer.before_attention(states), turn)
            states = layer.after_attention.onto(states, attend(index, query, key, value, self._scale))
            normed = layer.before_mlp(states)
            states = layer.down.onto(states, silu(layer.gate(normed), inplace=True).mul_(layer.up(normed)))
        return self._last(states)

    def _turn(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines, each (rows, 1, head_dim). A text token has one position on all axes."""
        angles = positions[:, None].float() * self._frequencies
        sines = angles.sin()
        return angles.cos().repeat(1, 2)[:, None], torch.cat([-sines, sines], dim=-1)[:, None]

    def _asking(self, layer: _Layer, states: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        parts = layer.projected(states).view(len(states), -1, self._head_dim)
        asking_end, keys_end = self._heads, self._heads + self._key_heads
        turning, value = parts[:, :keys_end], parts[:, keys_end:]
        if layer.of_queries is not None and layer.of_keys is not None:
            normed = layer.of_queries(turning[:, :asking_end]), layer.of_keys(turning[:, asking_end:])
            turning = torch.cat(normed, dim=1)
        cosines, sines = turn
        first, second = turning.chunk(2, dim=-1)
        turned = torch.addcmul(turning * cosines, torch.cat([second, first], dim=-1), sines)
        return turned[:, :asking_end], turned[:, asking_end:], value


def _is_plain(module: nn.Module) -> bool:
    """Whether a module does no more than its class in transformers or torch says."""
    kind = type(module)
    is_known = kind in (nn.Linear, nn.SiLU, SiLUActivation) or kind.__module__ in {one.__module__ for one in _LAYERS}
    return is_known and not (module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))
