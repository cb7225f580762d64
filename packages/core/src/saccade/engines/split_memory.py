"""Keys and values of a model whose layers have heads of several sizes: a memory for the layers of each size."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch

from saccade.engines.pages import PageMemory
from saccade.engines.row_memory import RowMemory, RowStates, Storage, Window
from saccade.models.shared_prefix import SharedPrefix

Heads = tuple[int, int]
"""Heads of a layer's keys, and the numbers of a head."""


class SplitRows(RowMemory):
    """``RowMemory`` for layers of several sizes."""

    def __init__(self, heads: Sequence[Heads], dtype: torch.dtype, expected_rows: int, longest: int) -> None:
        self._parts = [RowMemory(count, *size, dtype, expected_rows, longest) for size, count in Counter(heads).items()]
        self._places = _places(heads)

    def holding(self, rows: int, length: int) -> Storage | None:
        """The storage of the first size, where all have so much room."""
        found = [part.holding(rows, length) for part in self._parts]
        return None if any(one is None for one in found) else found[0]

    def grow(self, rows: int, length: int, held: Sequence[int]) -> Storage:
        for part in self._parts:
            if part.holding(rows, length) is None:
                part.grow(rows, length, held)
        made = self.holding(rows, length)
        assert made is not None
        return made

    def copy(self, source: int, targets: Sequence[int], length: int) -> None:
        for part in self._parts:
            part.copy(source, targets, length)

    def move(self, moves: Sequence[tuple[int, int, int]]) -> None:
        for part in self._parts:
            part.move(moves)

    def give_back(self, place: int, keep: int, until: int) -> None:
        for part in self._parts:
            part.give_back(place, keep, until)

    def window(self, first: int, lengths: Sequence[int], width: int, prefix: SharedPrefix | None) -> Window:
        return _joined([part.window(first, lengths, width, prefix) for part in self._parts], self._places)


class SplitPages(PageMemory):
    """``PageMemory`` for layers of several sizes."""

    def __init__(self, heads: Sequence[Heads], dtype: torch.dtype, device: torch.device, first_pages: int) -> None:
        sizes = Counter(heads).items()
        self._parts = [PageMemory(count, *size, dtype, device, first_pages) for size, count in sizes]
        self._places = _places(heads)

    @property
    def page_count(self) -> int:
        return self._parts[0].page_count

    def free_tokens(self, wanted: int) -> int:
        return min(part.free_tokens(wanted) for part in self._parts)

    def release(self, place: int, keep: int) -> None:
        for part in self._parts:
            part.release(place, keep)

    def share(self, source: int, targets: Sequence[int], length: int) -> None:
        for part in self._parts:
            part.share(source, targets, length)

    def window(
        self,
        places: Sequence[int],
        lengths: Sequence[int],
        width: int,
        counts: Sequence[int],
        prefix: SharedPrefix | None,
    ) -> Window:
        return _joined([part.window(places, lengths, width, counts, prefix) for part in self._parts], self._places)


def _places(heads: Sequence[Heads]) -> list[tuple[int, int]]:
    """Of each layer: which size it has, and which of the layers of that size it is."""
    sizes = list(Counter(heads))
    return [(sizes.index(size), heads[:layer].count(size)) for layer, size in enumerate(heads)]


def _joined(windows: Sequence[Window], places: Sequence[tuple[int, int]]) -> Window:
    def exchange(keys: RowStates, values: RowStates, layer: int) -> tuple[RowStates, RowStates]:
        part, own = places[layer]
        return windows[part].exchange(keys, values, own)

    return replace(windows[0], exchange=exchange)
