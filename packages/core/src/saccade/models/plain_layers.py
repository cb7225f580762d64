"""Weights of a language model's layers, for forwards that do without transformers' modules.

A model whose layers are not known to the letter is left to its modules: ``PlainLanguageModel.of`` then gives None.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.activations import SiLUActivation
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
from transformers.models.qwen2.modeling_qwen2 import Qwen2DecoderLayer
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLDecoderLayer
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLDecoderLayer
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextDecoderLayer

from saccade.models.families import language_model
from saccade.models.low_rank import LowRank, adapted_layer, has_adapter, is_bare

_LAYERS = (
    Qwen2_5_VLDecoderLayer,
    Qwen3VLTextDecoderLayer,
    Qwen2DecoderLayer,
    Qwen3DecoderLayer,
    LlamaDecoderLayer,
    Qwen2VLDecoderLayer,
)
"""Pre-norm, rotary, gated with SiLU; norms of queries and keys in Qwen3's alone."""


Product = TypeVar("Product")
"""A matrix product of a layer: ``PlainProduct``, or the module itself."""

Angles = tuple[Float[Tensor, "tokens half_dim"], Float[Tensor, "tokens half_dim"]]
"""Cosines and sines of rotary positions."""


@dataclass(frozen=True, slots=True)
class PlainNorm:
    """x / sqrt(mean(x^2) + epsilon) * weight."""

    weight: Float[Tensor, "width"]
    epsilon: float

    @classmethod
    def of(cls, module: nn.Module) -> "PlainNorm":
        return cls(module.get_parameter("weight"), float(module.variance_epsilon))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class PlainProduct:
    """x @ weight.T + bias, and what an adapter adds."""

    weight: Float[Tensor, "columns depth"]
    bias: Float[Tensor, "columns"] | None
    adapter: LowRank | None = None

    @classmethod
    def of(cls, module: nn.Module) -> "PlainProduct":
        linear = adapted_layer(module)
        bias = linear.bias
        return cls(linear.get_parameter("weight"), bias if isinstance(bias, Tensor) else None, LowRank.of(module))

    @property
    def width(self) -> int:
        return len(self.weight)


@dataclass(frozen=True, slots=True)
class PlainLayer(Generic[Product]):
    """The weights of one layer in the order in which a token meets them."""

    before_attention: PlainNorm
    query: Product
    key: Product
    value: Product
    query_norm: PlainNorm | None
    key_norm: PlainNorm | None
    after_attention: Product
    before_mlp: PlainNorm
    gate: Product
    up: Product
    down: Product

    @property
    def products(self) -> tuple[Product, ...]:
        return self.query, self.key, self.value, self.after_attention, self.gate, self.up, self.down

    def with_products(self, change: Callable[[Product], Product]) -> "PlainLayer[Product]":
        return replace(
            self,
            query=change(self.query),
            key=change(self.key),
            value=change(self.value),
            after_attention=change(self.after_attention),
            gate=change(self.gate),
            up=change(self.up),
            down=change(self.down),
        )

    @classmethod
    def of(cls, module: nn.Module, product: Callable[[nn.Module], Product]) -> "PlainLayer[Product]":
        attention, mlp = module.get_submodule("self_attn"), module.get_submodule("mlp")
        has_norms = hasattr(attention, "q_norm")
        return cls(
            before_attention=PlainNorm.of(module.get_submodule("input_layernorm")),
            query=product(attention.get_submodule("q_proj")),
            key=product(attention.get_submodule("k_proj")),
            value=product(attention.get_submodule("v_proj")),
            query_norm=PlainNorm.of(attention.get_submodule("q_norm")) if has_norms else None,
            key_norm=PlainNorm.of(attention.get_submodule("k_norm")) if has_norms else None,
            after_attention=product(attention.get_submodule("o_proj")),
            before_mlp=PlainNorm.of(module.get_submodule("post_attention_layernorm")),
            gate=product(mlp.get_submodule("gate_proj")),
            up=product(mlp.get_submodule("up_proj")),
            down=product(mlp.get_submodule("down_proj")),
        )


@dataclass(frozen=True, slots=True)
class PlainLanguageModel(Generic[Product]):
    """A view of the language model's weights, true also when they change in place."""

    layers: tuple[PlainLayer[Product], ...]
    last: PlainNorm
    heads: int
    key_heads: int
    head_dim: int
    scale: float
    """Factor of the products of queries and keys."""
    rotary: nn.Module

    @property
    def repeats(self) -> int:
        """Query heads that share a key head."""
        return self.heads // self.key_heads

    @property
    def size(self: "PlainLanguageModel[PlainProduct]") -> int:
        """Weights of all products of its layers."""
        return sum(product.weight.numel() for layer in self.layers for product in layer.products)

    @property
    def has_adapters(self: "PlainLanguageModel[PlainProduct]") -> bool:
        return any(product.adapter is not None for layer in self.layers for product in layer.products)

    def angles(self, states: Float[Tensor, "tokens hidden"], positions: Int[Tensor, "*axes 1 tokens"]) -> Angles:
        """For ``positions`` of one row of tokens, as the modules take them; ``states`` give type and device."""
        half = self.head_dim // 2
        cosines, sines = (part[0, :, :half].contiguous() for part in self.rotary(states[None], positions))
        return cosines, sines

    def text_angles(self, positions: Int[Tensor, "tokens"]) -> Angles:
        """For text at ``positions``, the same on all axes."""
        radians = positions[:, None].float() * self.rotary.get_buffer("inv_freq")
        return radians.cos(), radians.sin()

    @staticmethod
    def of(hf: PreTrainedModel) -> "PlainLanguageModel[PlainProduct] | None":
        """None for a model that needs its modules: with hooks, sliding windows, scaled positions, odd adapters.

        In half precision the modules round in places of their own; ``with_modules`` keeps these.
        """
        text = language_model(hf)
        parts = (module for part in (*text.layers, text.norm) for module in _parts(part))
        if not has_known_layers(text) or not all(is_plain(module) for module in parts) or not is_fp32_on_cpu(text):
            return None
        return _view(text, PlainProduct.of)

    @staticmethod
    def with_modules(hf: PreTrainedModel) -> "PlainLanguageModel[nn.Module] | None":
        """The same with the modules of the products, in any precision, on any device and with adapters."""
        text = language_model(hf)
        between = (
            module
            for part in (*text.layers, text.norm)
            for name, module in part.named_modules()
            if not any(step.endswith("_proj") for step in name.split("."))
        )
        device = next(text.parameters()).device.type
        if not has_known_layers(text) or not all(map(is_plain, between)) or torch.is_autocast_enabled(device):
            return None
        return _view(text, lambda module: module)


def _parts(module: nn.Module) -> Iterator[nn.Module]:
    """The module and all below it; of a layer with a plain adapter the layer that is adapted."""
    if has_adapter(module) and LowRank.of(module) is not None:
        yield adapted_layer(module)
        return
    yield module
    for child in module._modules.values():
        if child is not None:
            yield from _parts(child)


def has_known_layers(text: Any) -> bool:
    """Whether a language model's layers do what their classes and its configuration say, and these are known."""
    config = text.config
    return (
        all(type(layer) in _LAYERS for layer in text.layers)
        and config.hidden_act == "silu"
        and set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        and text.rotary_emb.rope_type == "default"
    )


def _view(text: Any, product: Callable[[nn.Module], Product]) -> PlainLanguageModel[Product]:
    attention = text.layers[0].self_attn
    return PlainLanguageModel(
        layers=tuple(PlainLayer.of(layer, product) for layer in text.layers),
        last=PlainNorm.of(text.norm),
        heads=int(text.config.num_attention_heads),
        key_heads=int(text.config.num_key_value_heads),
        head_dim=int(attention.head_dim),
        scale=float(attention.scaling),
        rotary=text.rotary_emb,
    )


def is_fp32_on_cpu(module: nn.Module) -> bool:
    """Whether all weights of a module lie on the CPU in fp32 and no autocast is on."""
    are_fp32 = all(weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in module.parameters())
    return are_fp32 and not torch.is_autocast_enabled("cpu")


def is_plain(module: nn.Module) -> bool:
    """Whether a module does no more than its class in transformers or torch says."""
    kind = type(module)
    is_known = kind in (nn.Linear, nn.SiLU, SiLUActivation) or kind.__module__ in {one.__module__ for one in _LAYERS}
    return is_known and is_bare(module)
