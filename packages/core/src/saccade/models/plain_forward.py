"""Forward of one decoder layer without transformers' modules, and one decode step of many rows by it in plain torch.

The formula (pre-norm attention with rotary positions, then a gated MLP) stands here once: filled with torch's
operations here, with kernels in ``saccade.native``. transformers' modules are made for every case; a forward of one
token spends more time between their operations than in them. ``TokenDecoder`` is for machines without a
compiler, and for GPUs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu
from transformers import PreTrainedModel

from saccade.models.plain_layers import Angles, PlainLanguageModel, PlainLayer, PlainNorm, PlainProduct, Product

GivenProduct = TypeVar("GivenProduct", contravariant=True)


class Operations(Protocol[GivenProduct]):
    """Row-wise operations of a layer."""

    def normalise(
        self, x: Float[Tensor, "*rows width"], norm: PlainNorm
    ) -> tuple[Float[Tensor, "*rows width"], Float[Tensor, "all_rows"] | None]:
        """RMS norm over the last dimension, and the reciprocal root that each row was multiplied by, if it is kept."""
        ...

    def project(
        self,
        states: Float[Tensor, "rows depth"],
        product: GivenProduct,
        *,
        residual: Float[Tensor, "rows columns"] | None = None,
    ) -> Float[Tensor, "rows columns"]:
        """``states`` @ weight.T + bias, plus ``residual``."""
        ...

    def gated(self, gate: Float[Tensor, "rows width"], up: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        """silu(gate) * up."""
        ...


Attention = Callable[
    [Float[Tensor, "queries heads dim"], Float[Tensor, "tokens key_heads dim"], Float[Tensor, "tokens key_heads dim"]],
    tuple[Float[Tensor, "queries heads dim"], Float[Tensor, "queries heads"] | None],
]
"""Rotates queries and keys to their positions, perhaps in place, and attends; gives the log-sum-exp of the scores too,
if it is kept."""


@dataclass(frozen=True, slots=True)
class LayerStates:
    """Values of a layer's forward that its backward needs; ``*_rstd`` are the factors of ``Operations.normalise``."""

    normed: Float[Tensor, "tokens hidden"]
    normed_rstd: Float[Tensor, "tokens"] | None
    query_input: Float[Tensor, "queries hidden"]
    raw_query: Float[Tensor, "queries heads dim"]
    query_rstd: Float[Tensor, "queries*heads"] | None
    query: Float[Tensor, "queries heads dim"]
    raw_key: Float[Tensor, "tokens key_heads dim"]
    key_rstd: Float[Tensor, "tokens*key_heads"] | None
    key: Float[Tensor, "tokens key_heads dim"]
    value: Float[Tensor, "tokens key_heads dim"]
    attended: Float[Tensor, "queries heads dim"]
    lse: Float[Tensor, "queries heads"] | None
    middle: Float[Tensor, "queries hidden"]
    normed_middle: Float[Tensor, "queries hidden"]
    middle_rstd: Float[Tensor, "queries"] | None
    gate: Float[Tensor, "queries mlp"]
    up: Float[Tensor, "queries mlp"]


def forward_layer(
    states: Float[Tensor, "tokens hidden"],
    layer: PlainLayer[Product],
    operations: Operations[Product],
    attention: Attention,
    *,
    head_dim: int,
    queries: Int[Tensor, "queries"] | None = None,
) -> tuple[Float[Tensor, "queries hidden"], LayerStates]:
    """States after the layer: of all tokens, or of those at ``queries`` alone (keys and values are always of all)."""
    normalise, project = operations.normalise, operations.project
    normed, normed_rstd = normalise(states, layer.before_attention)
    query_input, residual = (part if queries is None else part.index_select(0, queries) for part in (normed, states))
    raw_query, raw_key, value = (
        project(given, product).view(len(given), -1, head_dim)
        for given, product in ((query_input, layer.query), (normed, layer.key), (normed, layer.value))
    )
    query, query_rstd = (raw_query, None) if layer.query_norm is None else normalise(raw_query, layer.query_norm)
    key, key_rstd = (raw_key, None) if layer.key_norm is None else normalise(raw_key, layer.key_norm)
    attended, lse = attention(query, key, value)
    middle = project(attended.flatten(1), layer.after_attention, residual=residual)
    normed_middle, middle_rstd = normalise(middle, layer.before_mlp)
    gate, up = project(normed_middle, layer.gate), project(normed_middle, layer.up)
    out = project(operations.gated(gate, up), layer.down, residual=middle)
    # fmt: off
    return out, LayerStates(
        normed, normed_rstd, query_input, raw_query, query_rstd, query, raw_key, key_rstd, key, value, attended, lse,
        middle, normed_middle, middle_rstd, gate, up,
    )
    # fmt: on


Attend = Callable[
    [
        int,
        Float[Tensor, "rows heads dim"],
        Float[Tensor, "rows key_heads dim"],
        Float[Tensor, "rows key_heads dim"],
        float,
    ],
    Float[Tensor, "rows heads*dim"],
]
"""Layer, queries, new keys, new values, scale of the scores: keeps the new ones, attends to all that the rows hold."""


class TorchOperations:
    """A layer's operations by torch, on a CPU in fp32."""

    def normalise(self, x: Float[Tensor, "*rows width"], norm: PlainNorm) -> tuple[Float[Tensor, "*rows width"], None]:
        return rms_norm(x, norm.weight.shape, norm.weight, norm.epsilon), None

    def project(
        self,
        states: Float[Tensor, "rows depth"],
        product: PlainProduct,
        *,
        residual: Float[Tensor, "rows columns"] | None = None,
    ) -> Float[Tensor, "rows columns"]:
        weight, bias = product.weight.t(), product.bias
        first, second = (bias, None) if residual is None else (residual, bias)
        out = states @ weight if first is None else torch.addmm(first, states, weight)
        return out if second is None else out.add_(second)

    def gated(self, gate: Float[Tensor, "rows width"], up: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        return silu(gate).mul_(up)


class ModuleOperations:
    """The same by the modules of the products, which may have adapters, rounded where transformers' modules round."""

    def normalise(self, x: Float[Tensor, "*rows width"], norm: PlainNorm) -> tuple[Float[Tensor, "*rows width"], None]:
        return norm.weight * rms_norm(x.float(), norm.weight.shape, None, norm.epsilon).to(x.dtype), None

    def project(
        self,
        states: Float[Tensor, "rows depth"],
        product: nn.Module,
        *,
        residual: Float[Tensor, "rows columns"] | None = None,
    ) -> Float[Tensor, "rows columns"]:
        out: Tensor = product(states)
        return out if residual is None else residual + out

    def gated(self, gate: Float[Tensor, "rows width"], up: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        return silu(gate).mul_(up)


class TokenDecoder:
    """One decode step of one language model by torch, on any device. Callers switch gradients off.

    In fp32 on a CPU few fused operations; else as many as the modules' own, rounded as theirs, without what lies
    between them: on a GPU the modules of a layer take longer on the host than its kernels on the device.
    """

    def __init__(self, hf: PreTrainedModel, step: "_Step[PlainProduct] | _Step[nn.Module]") -> None:
        self._hf = hf
        self._embed = hf.get_input_embeddings()
        self._step = step

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "TokenDecoder | None":
        """None for a model that needs all of its modules."""
        plain = PlainLanguageModel.of(hf)
        if plain is not None and not plain.has_adapters:
            return cls(hf, _Step(plain, TorchOperations(), _rotate_at_once))
        language = PlainLanguageModel.with_modules(hf)
        return None if language is None else cls(hf, _Step(language, ModuleOperations(), _rotate_rounding))

    def __call__(
        self, ids: Int[Tensor, "rows"], positions: Int[Tensor, "rows"], attend: Attend
    ) -> Float[Tensor, "rows hidden"]:
        """Last hidden states of ``ids`` at ``positions``, text all of them."""
        return self._step(self._embed(ids[:, None])[:, 0], positions, attend)

    def places(self) -> tuple[object, ...]:
        """Where all weights of the model lie, and as what: where a step that was recorded will read them."""
        weights = chain(self._hf.parameters(), self._hf.buffers())
        return tuple((one.data_ptr(), one.device, one.dtype, one.shape, one.stride()) for one in weights)


@dataclass(frozen=True, slots=True)
class _Step(Generic[Product]):
    language: PlainLanguageModel[Product]
    operations: Operations[Product]
    rotate: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

    def __call__(
        self, states: Float[Tensor, "rows hidden"], positions: Int[Tensor, "rows"], attend: Attend
    ) -> Float[Tensor, "rows hidden"]:
        language = self.language
        cosines, sines = (part.to(states.dtype) for part in _both_halves(language.text_angles(positions)))
        for index, layer in enumerate(language.layers):

            def attention(query: Tensor, key: Tensor, value: Tensor, index: int = index) -> tuple[Tensor, None]:
                heads = query.shape[1]
                # Queries and keys side by side, (rows, all of their heads, head_dim): rotated in one go.
                both = torch.cat([query, key], dim=1)
                first, second = both.chunk(2, dim=-1)
                rotated = self.rotate(both, torch.cat([second, first], dim=-1), cosines, sines)
                return attend(index, rotated[:, :heads], rotated[:, heads:], value, language.scale), None

            states = forward_layer(states, layer, self.operations, attention, head_dim=language.head_dim)[0]
        return self.operations.normalise(states, language.last)[0]


def _rotate_at_once(both: Tensor, swapped: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    return torch.addcmul(both * cosines, swapped, sines)


def _rotate_rounding(both: Tensor, swapped: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    return (both * cosines).add_(swapped.mul_(sines))


def _both_halves(angles: Angles) -> tuple[Float[Tensor, "rows 1 dim"], Float[Tensor, "rows 1 dim"]]:
    """Cosines and signed sines of both halves."""
    cosines, sines = angles
    return cosines.repeat(1, 2)[:, None], torch.cat([-sines, sines], dim=-1)[:, None]
