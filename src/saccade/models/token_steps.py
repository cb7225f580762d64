"""One token of each of many rows through all layers in one native call, since more calls would outweigh the work."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.models.native.interface import Attention, Decoding, address
from saccade.models.native.kernels import Kernels
from saccade.models.native.visits import Visits
from saccade.models.plain_layers import PlainLayer, PlainNorm, PlainProduct, PlainTrunk

_WORTH_A_THREAD = 8
"""Rows below which a thread leaves most of each vector empty."""
_SMALL = 1 << 22
"""Weights that are read so fast that this does not matter."""


@dataclass(frozen=True, slots=True)
class CachedRows:
    """Neighbouring rows of a step, and where their keys and values live."""

    storage: Tensor
    """(key or value, layer, slot, key head, token, head_dim)"""
    places: Tensor
    """Where each row's new key goes, in tokens of one head; int64 (rows,)."""
    visits: Visits
    """Which row looks at what; keys are counted like places."""


class TokenStep:
    """Callers switch gradients off."""

    def __init__(self, trunk: PlainTrunk, kernels: Kernels, epsilon: float) -> None:
        self._trunk = trunk
        self._kernels = kernels
        self._epsilon = epsilon
        self._layers = torch.tensor([_addresses(layer) for layer in trunk.layers])
        """``DecodedLayer`` of the source, one after the other."""
        self._size = sum(one.weight.numel() for layer in trunk.layers for one in _products(layer))

    @classmethod
    def of(cls, trunk: PlainTrunk, kernels: Kernels) -> "TokenStep | None":
        """None for weights that do not lie as the native step reads them."""
        norms = [trunk.last, *(norm for layer in trunk.layers for norm in _norms(layer) if norm is not None)]
        epsilons = {norm.epsilon for norm in norms}
        parts: list[PlainNorm | PlainProduct] = [
            *norms,
            *(product for layer in trunk.layers for product in _products(layer)),
        ]
        if len(epsilons) > 1 or not all(part.weight.is_contiguous() for part in parts):
            return None
        return cls(trunk, kernels, epsilons.pop())

    def groups(self, rows: int) -> int:
        """Among how many threads that many rows are best divided; 0 where a step layer by layer is better."""
        threads = torch.get_num_threads()
        if rows < _WORTH_A_THREAD * threads and self._size > _SMALL:
            return 0
        return max(1, min(threads, rows // _WORTH_A_THREAD))

    def __call__(self, states: Tensor, positions: Tensor, groups: Sequence[CachedRows]) -> Tensor:
        """Last hidden states (rows, hidden) of a text token of each row, from embeddings and ``positions`` (rows,).

        Keys and values of the tokens are added to the ``groups``, who are neighbours in that order.
        """
        states = states.clone()
        counts = [len(group.places) for group in groups]
        parts = zip(*(torch.split(whole, counts) for whole in (states, *self._trunk.text_angles(positions))), groups)
        self._kernels.decode([self._step(*part) for part in parts], len(states) * self._size)
        return states

    def _step(self, states: Tensor, cosines: Tensor, sines: Tensor, group: CachedRows) -> Decoding:
        trunk, storage, visits = self._trunk, group.storage, group.visits
        step = Decoding(
            layers=self._layers.data_ptr(),
            last=trunk.last.weight.data_ptr(),
            states=states.data_ptr(),
            cosines=cosines.data_ptr(),
            sines=sines.data_ptr(),
            places=group.places.data_ptr(),
            family_count=len(visits.families),
            rows=len(states),
            hidden=states.shape[1],
            mlp=trunk.layers[0].gate.width,
            key_heads=trunk.key_heads,
            layer_count=len(trunk.layers),
            layer_step=storage.stride(1),
            epsilon=self._epsilon,
        )
        step.attention = Attention(
            key=storage.data_ptr(),
            value=storage.data_ptr() + storage.stride(0) * storage.element_size(),
            order=address(visits.order),
            families=visits.families.data_ptr(),
            visits=visits.visits.data_ptr(),
            kv_token=storage.stride(4),
            kv_head=storage.stride(3),
            heads=trunk.heads,
            repeats=trunk.repeats,
            fold=trunk.repeats,
            dim=trunk.head_dim,
            scale=trunk.scale,
        )
        return step


def _norms(layer: PlainLayer) -> tuple[PlainNorm | None, ...]:
    return layer.before_attention, layer.of_queries, layer.of_keys, layer.before_mlp


def _products(layer: PlainLayer) -> tuple[PlainProduct, ...]:
    return layer.query, layer.key, layer.value, layer.after_attention, layer.gate, layer.up, layer.down


def _addresses(layer: PlainLayer) -> list[int]:
    norms = [None if norm is None else norm.weight for norm in _norms(layer)]
    products = _products(layer)
    tensors = [*norms, *(product.weight for product in products), *(product.bias for product in products)]
    return [address(tensor) or 0 for tensor in tensors]
