"""Decode steps on slots of keys and values: attention of new tokens, and one token of each row in one native call."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.models.plain_layers import Angles, PlainLanguageModel, PlainLayer, PlainNorm, PlainProduct
from saccade.native.block_mask import BlockMask, KeyValues, MaskBlock, block_mask
from saccade.native.interface import Attention, Decoding, address
from saccade.native.kernels import Kernels

_WORTH_A_THREAD = 8
"""Rows below which a thread leaves most of each vector empty."""
SMALL = 1 << 22
"""Weights that are read so fast that this does not matter."""


@dataclass(frozen=True, slots=True)
class CachedRows:
    """Neighbouring rows of a step, and where their keys and values live."""

    storage: Float[Tensor, "kv=2 layers slots heads tokens dim"]
    places: Int[Tensor, "rows"]
    """Where each row's new key goes, in tokens of one head. Tokens of one slot are rows of their own."""
    mask: BlockMask
    """The keys that each row attends to, counted like places."""


class TokenStep:
    """One decode step of one language model in one native call. Callers switch gradients off."""

    def __init__(self, language: PlainLanguageModel[PlainProduct], kernels: Kernels, epsilon: float) -> None:
        self._language = language
        self._kernels = kernels
        self._epsilon = epsilon
        self._layers = torch.tensor([_addresses(layer) for layer in language.layers])
        """``DecodedLayer`` of the source, one after the other."""
        self._size = language.size

    @classmethod
    def of(cls, language: PlainLanguageModel[PlainProduct], kernels: Kernels) -> "TokenStep | None":
        """None for weights that do not lie as the native step reads them."""
        norms = [language.last, *(norm for layer in language.layers for norm in _norms(layer) if norm is not None)]
        epsilons = {norm.epsilon for norm in norms}
        parts: list[PlainNorm | PlainProduct] = [
            *norms,
            *(product for layer in language.layers for product in layer.products),
        ]
        if len(epsilons) > 1 or language.has_adapters or not all(part.weight.is_contiguous() for part in parts):
            return None
        return cls(language, kernels, epsilons.pop())

    def groups(self, rows: int) -> int:
        """As ``step_groups``."""
        return step_groups(self._size, rows)

    def __call__(
        self, states: Float[Tensor, "rows hidden"], positions: Int[Tensor, "rows"], groups: Sequence[CachedRows]
    ) -> Float[Tensor, "rows hidden"]:
        """Last hidden states of a text token of each row, from embeddings and ``positions``.

        Keys and values of the tokens are added to the ``groups``, which are neighbours in that order.
        """
        states = states.clone()
        counts = [len(group.places) for group in groups]
        parts = zip(*(torch.split(whole, counts) for whole in (states, *self._language.text_angles(positions))), groups)
        self._kernels.decode([self._step(*part) for part in parts], len(states) * self._size)
        return states

    def _step(
        self,
        states: Float[Tensor, "rows hidden"],
        cosines: Float[Tensor, "rows half_dim"],
        sines: Float[Tensor, "rows half_dim"],
        group: CachedRows,
    ) -> Decoding:
        language, storage, mask = self._language, group.storage, group.mask
        step = Decoding(
            layers=self._layers.data_ptr(),
            last=language.last.weight.data_ptr(),
            states=states.data_ptr(),
            cosines=cosines.data_ptr(),
            sines=sines.data_ptr(),
            places=group.places.data_ptr(),
            query_group_count=len(mask.groups),
            rows=len(states),
            hidden=states.shape[1],
            mlp=language.layers[0].gate.width,
            key_heads=language.key_heads,
            layer_count=len(language.layers),
            layer_step=storage.stride(1),
            epsilon=self._epsilon,
        )
        step.attention = Attention(
            key=storage.data_ptr(),
            value=storage.data_ptr() + storage.stride(0) * storage.element_size(),
            order=address(mask.order),
            groups=mask.groups.data_ptr(),
            blocks=mask.blocks.data_ptr(),
            kv_token=storage.stride(4),
            kv_head=storage.stride(3),
            heads=language.heads,
            repeats=language.repeats,
            fold=language.repeats,
            dim=language.head_dim,
            scale=language.scale,
        )
        return step


def step_groups(size: int, rows: int) -> int:
    """Among how many threads that many rows are best divided; 0 where a step layer by layer is better.

    ``size`` is that of the language model.
    """
    threads = torch.get_num_threads()
    if rows < _WORTH_A_THREAD * threads and size > SMALL:
        return 0
    return max(1, min(threads, rows // _WORTH_A_THREAD))


def _norms(layer: PlainLayer[PlainProduct]) -> tuple[PlainNorm | None, ...]:
    return layer.before_attention, layer.query_norm, layer.key_norm, layer.before_mlp


def _addresses(layer: PlainLayer[PlainProduct]) -> list[int]:
    norms = [None if norm is None else norm.weight for norm in _norms(layer)]
    products = layer.products
    tensors = [*norms, *(product.weight for product in products), *(product.bias for product in products)]
    return [address(tensor) or 0 for tensor in tensors]


_SHORTEST = 32
"""Tokens that rows must share before looking at them together is worth a block of its own."""


class NewTokens(NamedTuple):
    """New tokens of one slot."""

    slot: int
    cached: int
    """Tokens in the slot already."""
    added: int
    prompt: int | None
    """Equal for slots that begin alike; None for a slot that begins with nothing known."""
    prompt_length: int


class SlotAttention:
    """Attention of some rows' new tokens, side by side, to a cache of slots."""

    def __init__(
        self, storage: Float[Tensor, "kv=2 layers slots heads tokens dim"], rows: Sequence[NewTokens], kernels: Kernels
    ) -> None:
        self._storage = storage
        self._kernels = kernels
        self._steps = storage.shape[3] * storage.shape[4]
        """From slot to slot, in tokens of one head."""
        starts = [row.slot * self._steps + row.cached for row in rows]
        self._places = torch.tensor(
            [place for start, row in zip(starts, rows) for place in range(start, start + row.added)]
        )
        self._all = self._mask(rows, [row.added for row in rows])
        self._last = self._mask(rows, [1] * len(rows)) if any(row.added > 1 for row in rows) else self._all

    @cached_property
    def _key_values(self) -> list[KeyValues]:
        return [
            KeyValues(key, value, token_stride=key.stride(2), head_stride=key.stride(1))
            for key, value in zip(*(part.unbind() for part in self._storage.unbind()))
        ]

    def advance(self) -> None:
        """On to the next token of each row, for rows of one new token."""
        self._places += 1
        self._all.blocks[:, 3] += self._all.blocks[:, 4]

    @property
    def rows(self) -> CachedRows:
        """For a step of all layers in one call; tokens of one row count as rows."""
        return CachedRows(self._storage, self._places, self._all)

    def keep(
        self,
        layer: int,
        key: Float[Tensor, "tokens key_heads dim"],
        value: Float[Tensor, "tokens key_heads dim"],
        angles: Angles,
    ) -> None:
        kv = self._key_values[layer]
        strides = kv.token_stride, kv.head_stride
        self._kernels.rotate(key, kv.key, angles, places=self._places, strides=strides)
        self._kernels.rotate(value, kv.value, None, places=self._places, strides=strides)

    def attend(
        self, layer: int, query: Float[Tensor, "queries heads dim"], scale: float, *, is_last: bool
    ) -> Float[Tensor, "queries heads dim"]:
        kv = self._key_values[layer]
        repeats = query.shape[1] // kv.key.shape[1]
        mask = self._last if is_last else self._all
        return self._kernels.attend(query, kv, mask, scale, repeats=repeats, fold=True)[0]

    def _mask(self, rows: Sequence[NewTokens], counts: Sequence[int]) -> BlockMask:
        """The last ``counts`` tokens of each row attend to the row up to themselves."""
        starts = [0]
        for count in counts:
            starts.append(starts[-1] + count)
        alike: dict[object, list[int]] = {}
        for index, row in enumerate(rows):
            alike.setdefault(("alone", index) if row.prompt is None else row.prompt, []).append(index)
        groups: list[list[MaskBlock]] = []
        order: list[int] = []
        for members in alike.values():
            shared = rows[members[0]].prompt_length if len(members) > 1 else 0
            shared = shared if shared >= _SHORTEST else 0
            first = len(order)
            group: list[MaskBlock] = []
            for index in members:
                row, start = rows[index], len(order)
                order += range(starts[index], starts[index + 1])
                own = row.cached + row.added - shared
                group.append((start, len(order), row.slot * self._steps + shared, own, True))
            if shared:
                group.insert(0, (first, len(order), rows[members[0]].slot * self._steps, shared, False))
            groups.append(group)
        return block_mask(groups, None if order == list(range(len(order))) else torch.tensor(order))
