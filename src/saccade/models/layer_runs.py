"""A layer as one step of autograd by native kernels, forward and backward.

The same formulas as the modules', with fewer walks through memory.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from saccade.models.native.kernels import Kernels
from saccade.models.native.visits import KeyValues, Visits
from saccade.models.plain_layers import Angles, Heads, PlainLayer, PlainNorm, PlainProduct


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """Which tokens ask, and what they look at."""

    visits: Visits
    places: Tensor | None
    """The tokens, in their order; None for all."""


def run_layer(states: Tensor, run: "LayerRun") -> Tensor:
    """States after the layer, of the tokens that ask; differentiable once by ``states`` and the layer's weights."""
    return _Layer.apply(states, run, *run.weights)  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a layer's backward needs of its forward; (tokens, ...) as there."""

    normed: Tensor
    of_normed: Tensor
    """What ``rms_norm`` multiplied each row by, as in the others with such a name."""
    asking: Tensor
    raw_query: Tensor
    of_query: Tensor | None
    query: Tensor
    raw_key: Tensor
    of_key: Tensor | None
    key: Tensor
    value: Tensor
    attended: Tensor
    normaliser: Tensor
    middle: Tensor
    normed_middle: Tensor
    of_middle: Tensor
    gate: Tensor
    up: Tensor


@dataclass(frozen=True, slots=True)
class LayerRun:
    """One layer on the tokens of one pack, or of some images."""

    kernels: Kernels
    layer: PlainLayer
    heads: Heads
    angles: Angles
    asking: QueryTokens
    keeps_little: bool
    """Whether the backward works everything out again from the layer's input."""

    @property
    def weights(self) -> list[Tensor]:
        layer = self.layer
        norms = (layer.before_attention, layer.of_queries, layer.of_keys, layer.before_mlp)
        products = (layer.query, layer.key, layer.value, layer.after_attention, layer.gate, layer.up, layer.down)
        biases = [product.bias for product in products if product.bias is not None]
        return [*(norm.weight for norm in norms if norm is not None), *(one.weight for one in products), *biases]

    def forward(self, states: Tensor) -> tuple[Tensor, _Kept]:
        """States after the layer, of the tokens that ask."""
        layer, kernels = self.layer, self.kernels
        normed, of_normed = kernels.rms_norm(states, layer.before_attention.weight, layer.before_attention.epsilon)
        asking, residual = self._chosen(normed), self._chosen(states)
        raw_query, raw_key, value = (
            self._product(product, given).view(len(given), -1, self.heads.dim)
            for product, given in ((layer.query, asking), (layer.key, normed), (layer.value, normed))
        )
        query, of_query = self._turned(raw_query, layer.of_queries, self._asking_angles)
        key, of_key = self._turned(raw_key, layer.of_keys, self.angles)
        attended, normaliser = kernels.attend(
            query, _held(key, value), self.asking.visits, self.heads.scale, repeats=self.heads.repeats
        )
        middle = self._product(layer.after_attention, attended.flatten(1), added=residual)
        normed_middle, of_middle = kernels.rms_norm(middle, layer.before_mlp.weight, layer.before_mlp.epsilon)
        gate, up = self._product(layer.gate, normed_middle), self._product(layer.up, normed_middle)
        out = self._product(layer.down, kernels.gated(gate, up), added=middle)
        # fmt: off
        return out, _Kept(
            normed, of_normed, asking, raw_query, of_query, query, raw_key, of_key, key, value, attended, normaliser,
            middle, normed_middle, of_middle, gate, up,
        )
        # fmt: on

    def backward(self, grad: Tensor, states: Tensor, kept: _Kept) -> tuple[Tensor, "_Gradients"]:
        """The gradient of ``states``, and those of the weights."""
        layer, kernels = self.layer, self.kernels
        found = _Gradients(kernels, {})
        to_active = found.through(layer.down, grad)
        active = kernels.gated_backward(to_active, kept.gate, kept.up)
        found.of_product(layer.down, grad, active)
        found.of_product(layer.gate, kept.gate, kept.normed_middle)
        found.of_product(layer.up, kept.up, kept.normed_middle)
        to_normed = found.through(layer.up, kept.up, added=found.through(layer.gate, kept.gate))
        to_middle = self._through_norm(layer.before_mlp, to_normed, kept.middle, kept.of_middle, found, more=grad)
        found.of_product(layer.after_attention, to_middle, kept.attended.flatten(1))
        to_query, to_keys, to_values = kernels.attend_backward(
            found.through(layer.after_attention, to_middle),
            kept.query,
            _held(kept.key, kept.value),
            self.asking.visits,
            self.heads.scale,
            repeats=self.heads.repeats,
            out=kept.attended,
            normaliser=kept.normaliser,
        )
        kernels.turn(to_query, to_query, self._asking_angles, back=True)
        # Of each query head apart until here.
        to_key = kernels.turn(to_keys, torch.empty_like(kept.key), self.angles, back=True, repeats=self.heads.repeats)
        to_value = kernels.turn(to_values, torch.empty_like(kept.value), None, repeats=self.heads.repeats)
        if layer.of_queries is not None and kept.of_query is not None:
            to_query = self._through_norm(layer.of_queries, to_query, kept.raw_query, kept.of_query, found)
        if layer.of_keys is not None and kept.of_key is not None:
            to_key = self._through_norm(layer.of_keys, to_key, kept.raw_key, kept.of_key, found)
        flat_query, flat_key, flat_value = (part.flatten(1) for part in (to_query, to_key, to_value))
        found.of_product(layer.query, flat_query, kept.asking)
        found.of_product(layer.key, flat_key, kept.normed)
        found.of_product(layer.value, flat_value, kept.normed)
        to_normed = found.through(layer.value, flat_value, added=found.through(layer.key, flat_key))
        places = self.asking.places
        if places is None:
            found.through(layer.query, flat_query, added=to_normed)
            return self._through_norm(
                layer.before_attention, to_normed, states, kept.of_normed, found, more=to_middle
            ), found
        to_normed.index_add_(0, places, found.through(layer.query, flat_query))
        to_states = self._through_norm(layer.before_attention, to_normed, states, kept.of_normed, found)
        return to_states.index_add_(0, places, to_middle), found

    @property
    def _asking_angles(self) -> Angles:
        cosines, sines = self.angles
        return self._chosen(cosines), self._chosen(sines)

    def _product(self, product: PlainProduct, given: Tensor, *, added: Tensor | None = None) -> Tensor:
        return self.kernels.product(given, product.weight.t(), bias=product.bias, added=added)

    def _chosen(self, states: Tensor) -> Tensor:
        return states if self.asking.places is None else states.index_select(0, self.asking.places)

    def _turned(self, raw: Tensor, norm: PlainNorm | None, angles: Angles) -> tuple[Tensor, Tensor | None]:
        if norm is None:
            return self.kernels.turn(raw, raw, angles), None
        normed, of_normed = self.kernels.rms_norm(raw, norm.weight, norm.epsilon)
        return self.kernels.turn(normed, normed, angles), of_normed

    def _through_norm(
        self,
        norm: PlainNorm,
        grad: Tensor,
        x: Tensor,
        of_x: Tensor,
        found: "_Gradients",
        *,
        more: Tensor | None = None,
    ) -> Tensor:
        to_x, to_weight = self.kernels.rms_norm_backward(grad, x, norm.weight, of_x, more)
        found.of_weight(norm.weight, to_weight)
        return to_x


@dataclass(frozen=True, slots=True)
class _Gradients:
    """Gradients of a layer's weights, of those alone that are trained."""

    kernels: Kernels
    by_weight: dict[int, Tensor]
    """By the identity of the weight."""

    def of_weight(self, weight: Tensor, grad: Tensor) -> None:
        if weight.requires_grad:
            self.by_weight[id(weight)] = grad

    def of_product(self, product: PlainProduct, grad: Tensor, given: Tensor) -> None:
        if product.weight.requires_grad:
            self.by_weight[id(product.weight)] = self.kernels.product(grad.t(), given)
        if product.bias is not None and product.bias.requires_grad:
            self.by_weight[id(product.bias)] = grad.sum(dim=0)

    def through(self, product: PlainProduct, grad: Tensor, *, added: Tensor | None = None) -> Tensor:
        """The gradient of what was given to the product; ``added`` is overwritten with its sum with it."""
        return self.kernels.product(grad, product.weight, added=added, out=added)


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, states: Tensor, run: LayerRun, *weights: Tensor) -> Tensor:
        out, kept = run.forward(states)
        ctx.save_for_backward(states)
        ctx.run, ctx.kept = run, None if run.keeps_little else kept  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        (states,) = ctx.saved_tensors  # type: ignore[attr-defined]
        run: LayerRun = ctx.run  # type: ignore[attr-defined]
        # What was kept is overwritten and let go.
        kept = run.forward(states)[1] if run.keeps_little else ctx.kept  # type: ignore[attr-defined]
        ctx.kept = None  # type: ignore[attr-defined]
        if kept is None:
            raise RuntimeError("a layer cannot go backward a second time; run the forward again")
        to_states, found = run.backward(grad.contiguous(), states, kept)
        return to_states, None, *(found.by_weight.get(id(weight)) for weight in run.weights)


def _held(key: Tensor, value: Tensor) -> KeyValues:
    return KeyValues(key, value, token_stride=key.stride(0), head_stride=key.stride(1))
