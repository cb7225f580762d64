"""Attention of new tokens to their rows' slots by native kernels: what a group shares is read once for all of it."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.models.plain_layers import Angles
from saccade.native.block_mask import BlockMask, KeyValues, MaskBlock, block_mask
from saccade.native.kernels import Kernels
from saccade.native.token_step import CachedRows

_SHORTEST = 32
"""Tokens that rows must share before looking at them together is worth a block of its own."""


class NewTokens(NamedTuple):
    """What is appended to one slot."""

    slot: int
    cached: int
    """Tokens in the slot already."""
    added: int
    prompt: int | None
    """Equal for slots that begin alike; None for a slot that begins with nothing known."""
    prompt_length: int


class SlotAttention:
    """Attention of some rows' new tokens, side by side, to a cache (key or value, layer, slot, head, token, dim)."""

    def __init__(self, storage: Tensor, rows: Sequence[NewTokens], kernels: Kernels) -> None:
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
        """For rows that are given one token each."""
        return CachedRows(self._storage, self._places, self._all)

    def keep(self, layer: int, key: Tensor, value: Tensor, angles: Angles) -> None:
        kv = self._key_values[layer]
        strides = kv.token_stride, kv.head_stride
        self._kernels.rotate(key, kv.key, angles, places=self._places, strides=strides)
        self._kernels.rotate(value, kv.value, None, places=self._places, strides=strides)

    def attend(self, layer: int, query: Tensor, scale: float, *, is_last: bool) -> Tensor:
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
