"""A decoder layer as one step of autograd by native kernels, forward and backward.

The same formulas as the modules', with fewer walks through memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from saccade.models.plain_forward import LayerStates, forward_layer
from saccade.models.plain_layers import Angles, PlainLayer, PlainNorm, PlainProduct
from saccade.native.block_mask import BlockMask, KeyValues
from saccade.native.kernels import Kernels
from saccade.native.products import LowRankProduct


@dataclass(frozen=True, slots=True)
class KernelOperations:
    """A layer's operations by kernels."""

    kernels: Kernels
    lows: dict[int, Tensor] | None = field(default=None, kw_only=True)
    """Where what is between the factors of each adapter is kept, by the identity of its first factor; None: nowhere."""

    def normalise(
        self, x: Float[Tensor, "*rows width"], norm: PlainNorm
    ) -> tuple[Float[Tensor, "*rows width"], Float[Tensor, "all_rows"]]:
        return self.kernels.rms_norm(x, norm.weight, norm.epsilon)

    def project(
        self,
        states: Float[Tensor, "rows depth"],
        product: PlainProduct,
        *,
        residual: Float[Tensor, "rows columns"] | None = None,
    ) -> Float[Tensor, "rows columns"]:
        more = None
        if (adapter := product.adapter) is not None:
            low = states.new_empty(len(states), len(adapter.down))
            more = LowRankProduct(adapter.down.t(), adapter.up.t(), adapter.scale, low)
            if self.lows is not None:
                self.lows[id(adapter.down)] = low
        return self.kernels.product(states, product.weight.t(), bias=product.bias, added=residual, more=more)

    def gated(self, gate: Float[Tensor, "rows width"], up: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        return self.kernels.gated(gate, up)


@dataclass(frozen=True, slots=True)
class Heads:
    """The shape of a layer's attention."""

    dim: int
    scale: float
    """Factor of the products of queries and keys."""
    repeats: int
    """Query heads that share a key head."""


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The tokens whose states are worked out, and the keys that each of them attends to."""

    mask: BlockMask
    places: Int[Tensor, "queries"] | None
    """The tokens, in their order; None for all."""


@dataclass(frozen=True, slots=True)
class KeptForward:
    """What the backward of a layer needs of its forward."""

    states: LayerStates
    lows: Mapping[int, Tensor]
    """What was between the factors of each adapter, by the identity of its first factor."""


def run_layer(states: Float[Tensor, "tokens hidden"], run: "LayerRun") -> Float[Tensor, "queries hidden"]:
    """States after the layer, of its query tokens; differentiable once by ``states`` and the layer's weights."""
    return _Layer.apply(states, run, *run.weights)  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True, slots=True)
class LayerRun:
    """One layer on the tokens of one pack, or of some images."""

    kernels: Kernels
    layer: PlainLayer[PlainProduct]
    heads: Heads
    angles: Angles
    queries: QueryTokens
    recomputes: bool
    """Whether the backward works everything out again from the layer's input."""

    @property
    def weights(self) -> list[Tensor]:
        layer = self.layer
        norms = (layer.before_attention, layer.query_norm, layer.key_norm, layer.before_mlp)
        biases = [product.bias for product in layer.products if product.bias is not None]
        adapters = [product.adapter for product in layer.products if product.adapter is not None]
        return [
            *(norm.weight for norm in norms if norm is not None),
            *(one.weight for one in layer.products),
            *biases,
            *(weight for adapter in adapters for weight in (adapter.down, adapter.up)),
        ]

    def forward(self, states: Float[Tensor, "tokens hidden"]) -> tuple[Float[Tensor, "queries hidden"], KeptForward]:
        """States after the layer, of the query tokens."""
        lows: dict[int, Tensor] = {}
        operations, places = KernelOperations(self.kernels, lows=lows), self.queries.places
        out, kept = forward_layer(states, self.layer, operations, self._attend, head_dim=self.heads.dim, queries=places)
        return out, KeptForward(kept, lows)

    def _attend(
        self,
        query: Float[Tensor, "queries heads dim"],
        key: Float[Tensor, "tokens key_heads dim"],
        value: Float[Tensor, "tokens key_heads dim"],
    ) -> tuple[Float[Tensor, "queries heads dim"], Float[Tensor, "queries heads"]]:
        kernels, heads = self.kernels, self.heads
        kernels.rotate(query, query, self._query_angles)
        kernels.rotate(key, key, self.angles)
        return kernels.attend(query, _key_values(key, value), self.queries.mask, heads.scale, repeats=heads.repeats)

    def backward(
        self, grad: Float[Tensor, "queries hidden"], states: Float[Tensor, "tokens hidden"], forward: KeptForward
    ) -> tuple[Float[Tensor, "tokens hidden"], "_Gradients"]:
        """The gradient of ``states``, and those of the weights; ``forward`` is overwritten."""
        layer, kernels, kept = self.layer, self.kernels, forward.states
        found = _Gradients(kernels, forward.lows, {}, {})
        to_active = found.through(layer.down, grad)
        active = kernels.gated_backward(to_active, kept.gate, kept.up)
        found.of_product(layer.down, grad, active)
        to_normed = found.through(layer.up, kept.up, added=found.through(layer.gate, kept.gate))
        found.of_product(layer.gate, kept.gate, kept.normed_middle)
        found.of_product(layer.up, kept.up, kept.normed_middle)
        to_middle = found.through_norm(layer.before_mlp, to_normed, kept.middle, kept.middle_rstd, more=grad)
        to_attended = found.through(layer.after_attention, to_middle)
        found.of_product(layer.after_attention, to_middle, kept.attended.flatten(1))
        to_query, to_key, to_value = self._through_attention(to_attended, kept)
        if layer.query_norm is not None:
            to_query = found.through_norm(layer.query_norm, to_query, kept.raw_query, kept.query_rstd)
        if layer.key_norm is not None:
            to_key = found.through_norm(layer.key_norm, to_key, kept.raw_key, kept.key_rstd)
        flat_query, flat_key, flat_value = (part.flatten(1) for part in (to_query, to_key, to_value))
        to_normed = found.through(layer.value, flat_value, added=found.through(layer.key, flat_key))
        norm, rstd, places = layer.before_attention, kept.normed_rstd, self.queries.places
        to_queries = found.through(layer.query, flat_query, added=to_normed if places is None else None)
        found.of_product(layer.query, flat_query, kept.query_input)
        found.of_product(layer.key, flat_key, kept.normed)
        found.of_product(layer.value, flat_value, kept.normed)
        if places is None:
            return found.through_norm(norm, to_normed, states, rstd, more=to_middle), found
        to_normed.index_add_(0, places, to_queries)
        return found.through_norm(norm, to_normed, states, rstd).index_add_(0, places, to_middle), found

    def _through_attention(
        self, grad: Float[Tensor, "queries heads*dim"], kept: LayerStates
    ) -> tuple[
        Float[Tensor, "queries heads dim"], Float[Tensor, "tokens key_heads dim"], Float[Tensor, "tokens key_heads dim"]
    ]:
        """Gradients of queries, keys and values before their rotation."""
        kernels, repeats = self.kernels, self.heads.repeats
        assert kept.lse is not None
        to_query, to_keys, to_values = kernels.attend_backward(
            grad,
            kept.query,
            _key_values(kept.key, kept.value),
            self.queries.mask,
            self.heads.scale,
            repeats=repeats,
            out=kept.attended,
            lse=kept.lse,
        )
        kernels.rotate(to_query, to_query, self._query_angles, back=True)
        # The gradients of keys and values are of each query head apart until here.
        to_key = kernels.rotate(to_keys, torch.empty_like(kept.key), self.angles, back=True, repeats=repeats)
        to_value = kernels.rotate(to_values, torch.empty_like(kept.value), None, repeats=repeats)
        return to_query, to_key, to_value

    @property
    def _query_angles(self) -> Angles:
        cosines, sines = self.angles
        places = self.queries.places
        return self.angles if places is None else (cosines.index_select(0, places), sines.index_select(0, places))


@dataclass(frozen=True, slots=True)
class _Gradients:
    """Gradients of a layer's weights, of those alone that are trained."""

    kernels: Kernels
    lows: Mapping[int, Tensor]
    """What was between the factors of each adapter, by the identity of its first factor."""
    by_weight: dict[int, Tensor]
    """By the identity of the weight."""
    to_lows: dict[int, Tensor]
    """The gradients of ``lows``."""

    def of_product(
        self, product: PlainProduct, grad: Float[Tensor, "rows columns"], given: Float[Tensor, "rows depth"]
    ) -> None:
        """Keeps the gradients of the product's own weights; ``through`` comes before it."""
        if product.weight.requires_grad:
            self.by_weight[id(product.weight)] = self.kernels.product(grad.t(), given)
        if product.bias is not None and product.bias.requires_grad:
            self.by_weight[id(product.bias)] = grad.sum(dim=0)
        if (adapter := product.adapter) is not None:
            key = id(adapter.down)
            self.by_weight[key] = (self.to_lows.pop(key) * adapter.scale).t() @ given
            self.by_weight[id(adapter.up)] = grad.t() @ (self.lows[key] * adapter.scale)

    def through(
        self,
        product: PlainProduct,
        grad: Float[Tensor, "rows columns"],
        *,
        added: Float[Tensor, "rows depth"] | None = None,
    ) -> Float[Tensor, "rows depth"]:
        """The gradient of what was given to the product; ``added`` is overwritten with its sum with it."""
        more = None
        if (adapter := product.adapter) is not None:
            to_low = self.to_lows[id(adapter.down)] = grad.new_empty(len(grad), len(adapter.down))
            more = LowRankProduct(adapter.up, adapter.down, adapter.scale, to_low)
        return self.kernels.product(grad, product.weight, added=added, out=added, more=more)

    def through_norm(
        self,
        norm: PlainNorm,
        grad: Float[Tensor, "*rows width"],
        x: Float[Tensor, "*rows width"],
        rstd: Float[Tensor, "all_rows"] | None,
        *,
        more: Float[Tensor, "*rows width"] | None = None,
    ) -> Float[Tensor, "*rows width"]:
        """The gradient of the norm's input ``x``, plus ``more``."""
        assert rstd is not None
        to_x, to_weight = self.kernels.rms_norm_backward(grad, x, norm.weight, rstd, more)
        if norm.weight.requires_grad:
            self.by_weight[id(norm.weight)] = to_weight
        return to_x


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Float[Tensor, "tokens hidden"], run: LayerRun, *weights: Tensor
    ) -> Float[Tensor, "queries hidden"]:
        out, kept = run.forward(states)
        ctx.save_for_backward(states)
        ctx.run, ctx.kept = run, None if run.recomputes else kept  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Float[Tensor, "queries hidden"]) -> tuple[Tensor | None, ...]:
        (states,) = ctx.saved_tensors  # type: ignore[attr-defined]
        run: LayerRun = ctx.run  # type: ignore[attr-defined]
        # What was kept is overwritten and let go.
        kept = run.forward(states)[1] if run.recomputes else ctx.kept  # type: ignore[attr-defined]
        ctx.kept = None  # type: ignore[attr-defined]
        if kept is None:
            raise RuntimeError("a layer cannot go backward a second time; run the forward again")
        to_states, found = run.backward(grad.contiguous(), states, kept)
        return to_states, None, *(found.by_weight.get(id(weight)) for weight in run.weights)


def _key_values(key: Float[Tensor, "tokens key_heads dim"], value: Float[Tensor, "tokens key_heads dim"]) -> KeyValues:
    return KeyValues(key, value, token_stride=key.stride(0), head_stride=key.stride(1))
