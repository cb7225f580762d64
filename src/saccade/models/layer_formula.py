"""Forward of one decoder layer: pre-norm attention with rotary positions, then a gated MLP.

The formula stands here once. ``decoding`` fills it with torch's operations, ``saccade.native`` with kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.models.plain_layers import PlainLayer, PlainNorm, PlainProduct


class Operations(Protocol):
    """Row-wise operations of a layer."""

    def normalise(self, x: Tensor, norm: PlainNorm) -> tuple[Tensor, Tensor | None]:
        """RMS norm over the last dimension, and the reciprocal root that each row was multiplied by, if it is kept."""
        ...

    def project(self, states: Tensor, product: PlainProduct, *, residual: Tensor | None = None) -> Tensor:
        """``states`` @ weight.T + bias, plus ``residual``."""
        ...

    def gated(self, gate: Tensor, up: Tensor) -> Tensor:
        """silu(gate) * up."""
        ...


Attention = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor | None]]
"""Rotates queries (queries, heads, head_dim) and keys (tokens, key heads, head_dim) to their positions, in place if it
likes, and attends: (queries, heads, head_dim) and the log-sum-exp of the scores (queries, heads), if it is kept."""


@dataclass(frozen=True, slots=True)
class LayerStates:
    """What the backward of a layer needs of its forward; ``*_rstd`` are the factors of ``Operations.normalise``."""

    normed: Tensor
    normed_rstd: Tensor | None
    query_input: Tensor
    raw_query: Tensor
    query_rstd: Tensor | None
    query: Tensor
    raw_key: Tensor
    key_rstd: Tensor | None
    key: Tensor
    value: Tensor
    attended: Tensor
    lse: Tensor | None
    middle: Tensor
    normed_middle: Tensor
    middle_rstd: Tensor | None
    gate: Tensor
    up: Tensor


def forward_layer(
    states: Tensor,
    layer: PlainLayer,
    operations: Operations,
    attention: Attention,
    *,
    head_dim: int,
    queries: Tensor | None = None,
) -> tuple[Tensor, LayerStates]:
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
