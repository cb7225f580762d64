"""Forward of one decoder layer without transformers' modules, and one decode step of many rows by it in plain torch.

The formula (pre-norm attention with rotary positions, then a gated MLP) stands here once: filled with torch's
operations here, with kernels in ``saccade.native``. transformers' modules are made for every case; a forward of one
token spends more time between their operations than in them. ``TokenDecoder`` is for machines without a compiler.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import rms_norm, silu
from transformers import PreTrainedModel

from saccade.models.plain_layers import Angles, PlainLanguageModel, PlainLayer, PlainNorm, PlainProduct


class Operations(Protocol):
    """Row-wise operations of a layer."""

    def normalise(
        self, x: Float[Tensor, "*rows width"], norm: PlainNorm
    ) -> tuple[Float[Tensor, "*rows width"], Float[Tensor, "all_rows"] | None]:
        """RMS norm over the last dimension, and the reciprocal root that each row was multiplied by, if it is kept."""
        ...

    def project(
        self,
        states: Float[Tensor, "rows depth"],
        product: PlainProduct,
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
    layer: PlainLayer,
    operations: Operations,
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


class TokenDecoder:
    """One decode step of one language model by torch. Callers switch gradients off."""

    def __init__(self, hf: PreTrainedModel, language: PlainLanguageModel) -> None:
        self._embed = hf.get_input_embeddings()
        self._language = language
        self._operations = TorchOperations()

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "TokenDecoder | None":
        """None for a model that needs its modules."""
        language = PlainLanguageModel.of(hf)
        return None if language is None else cls(hf, language)

    def __call__(
        self, ids: Int[Tensor, "rows"], positions: Int[Tensor, "rows"], attend: Attend
    ) -> Float[Tensor, "rows hidden"]:
        """Last hidden states of ``ids`` at ``positions``, text all of them."""
        language, states = self._language, self._embed(ids[:, None])[:, 0]
        cosines, sines = _both_halves(language.text_angles(positions))
        for index, layer in enumerate(language.layers):

            def attention(query: Tensor, key: Tensor, value: Tensor, index: int = index) -> tuple[Tensor, None]:
                heads = query.shape[1]
                # Queries and keys side by side, (rows, all of their heads, head_dim): rotated in one go.
                both = torch.cat([query, key], dim=1)
                first, second = both.chunk(2, dim=-1)
                rotated = torch.addcmul(both * cosines, torch.cat([second, first], dim=-1), sines)
                return attend(index, rotated[:, :heads], rotated[:, heads:], value, language.scale), None

            states = forward_layer(states, layer, self._operations, attention, head_dim=language.head_dim)[0]
        return self._operations.normalise(states, language.last)[0]


def _both_halves(angles: Angles) -> tuple[Float[Tensor, "rows 1 dim"], Float[Tensor, "rows 1 dim"]]:
    """Cosines and signed sines of both halves."""
    cosines, sines = angles
    return cosines.repeat(1, 2)[:, None], torch.cat([-sines, sines], dim=-1)[:, None]
