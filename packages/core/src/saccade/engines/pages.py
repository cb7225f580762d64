"""Keys and values in pages, as on a GPU: a row takes a page when it has filled the one before (Kwon et al. 2023).

Rows that begin with the same prompt share its whole pages. Attention reads rows in one piece, so each layer gathers
its own before it attends: what that takes is one layer's part of the rows at work, and nothing is ever moved. With a
kernel that reads pages where they lie (``in_place``) decode steps gather nothing.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.engines.row_memory import RowStates, Window
from saccade.models.memory import bytes_left, on_device
from saccade.models.shared_prefix import SharedPrefix

if TYPE_CHECKING:
    from saccade.engines.in_place import Kernel

PAGE = 64
"""Tokens of a page."""
_FIRST_PAGES = 256
_SPARE = 0
"""The page that padding is written to; rows that are shorter than others read it and look at nothing in it."""


@dataclass(slots=True)
class PageMemory:
    """A pool of pages, and which of them each row has, in order."""

    layer_count: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device
    first_pages: int = 0
    """Pages to begin with, where it is known how many will be needed."""
    room: Callable[[], int] | None = None
    """Bytes that the device has left for more pages; None: those of a GPU, elsewhere as many as are asked for."""
    page: int = PAGE
    """Tokens of a page."""
    in_place: "Kernel | None" = None
    """With it decode steps read pages where they lie."""
    _pool: Float[Tensor, "layers kv=2 pages page heads dim"] | None = None
    _uses: list[int] = field(default_factory=list)
    """Rows that have each page."""
    _free: list[int] = field(default_factory=list)
    _tables: dict[int, list[int]] = field(default_factory=dict)

    @property
    def page_count(self) -> int:
        return len(self._uses)

    def free_tokens(self, wanted: int) -> int:
        """For how many tokens there are pages that no row has, or room for more of them; ``wanted`` where these do."""
        free = len(self._free) * self.page
        return free if free >= wanted else free + self._addable(wanted // self.page + 1) * self.page

    def _addable(self, wanted: int) -> int:
        """Pages that the pool may grow by."""
        room = self.room
        if room is None and self.device.type == "cuda":
            room = functools.partial(bytes_left, self.device)
        # A layer's rows are gathered in one piece, beside the pool.
        page_bytes = 2 * (self.layer_count + 1) * self.page * self.kv_heads * self.head_dim * self.dtype.itemsize
        return wanted if room is None else max(0, room() // page_bytes)

    def release(self, place: int, keep: int) -> None:
        """Gives up the pages of a row behind its first ``keep`` tokens; what it writes next is written by it alone."""
        table = self._tables.get(place, [])
        while len(table) > -(-keep // self.page):
            page = table.pop()
            self._uses[page] -= 1
            if not self._uses[page]:
                self._free.append(page)
        if keep % self.page and table and self._uses[table[-1]] > 1:
            shared = table.pop()
            self._uses[shared] -= 1
            self._cover(place, keep)
            self.pool[:, :, table[-1]] = self.pool[:, :, shared]

    def is_like(self, other: "PageMemory") -> bool:
        """Whether pages of the one could be the other's."""
        return type(self) is type(other) and self._kind == other._kind

    @property
    def _kind(self) -> tuple[object, ...]:
        sizes = self.layer_count, self.kv_heads, self.head_dim, self.page
        return *sizes, self.dtype, self.device, self.in_place

    def clear(self) -> None:
        """As a new memory of so many pages: no row has any, and all are zeros. The pool lies where it lay."""
        self._tables.clear()
        self._uses = [0] * len(self._uses)
        self._free = _unused(0, len(self._uses))
        if self._pool is not None:
            self._pool.zero_()

    def share(self, source: int, targets: Sequence[int], length: int) -> None:
        """Lets ``targets`` begin with the first ``length`` tokens of ``source``: whole pages are theirs too."""
        whole = length // self.page
        for target in targets:
            self.release(target, 0)
            pages = self._tables[source][:whole]
            for page in pages:
                self._uses[page] += 1
            self._tables[target] = list(pages)
            if length % self.page:
                self._cover(target, length)
                pool = self.pool
                pool[:, :, self._tables[target][whole]] = pool[:, :, self._tables[source][whole]]

    def window(
        self,
        places: Sequence[int],
        lengths: Sequence[int],
        width: int,
        counts: Sequence[int],
        prefix: SharedPrefix | None,
    ) -> Window:
        """What a forward of ``width`` tokens sees, of which each row has its own ``counts``; the others are padding."""
        self.cover(places, [length + count for length, count in zip(lengths, counts)])
        total = max(lengths) + width
        table = on_device(self.tables(places, -(-total // self.page)), self.device)
        targets = on_device(self.targets(places, lengths, width, counts), self.device)
        starts = on_device(list(lengths), self.device)
        return self.window_on(table, targets, starts, total=total, prefix=prefix)

    def window_on(
        self,
        table: Int[Tensor, "rows pages"],
        targets: Int[Tensor, "rows width"],
        starts: Int[Tensor, "rows"],
        *,
        total: int,
        prefix: SharedPrefix | None = None,
    ) -> Window:
        """The same by addresses on the device: ``tables``, ``targets``, and the tokens that each row holds."""
        (rows, width), flat = targets.shape, table.flatten()
        # As (layers, kv, tokens of all pages, heads, dim).
        pool = self.pool
        tokens = pool.flatten(2, 3)

        def exchange(keys: RowStates, values: RowStates, layer: int) -> tuple[RowStates, RowStates]:
            # Keys and values at once: on a GPU a decode step is as long as it takes to start its operations.
            tokens[layer][:, targets] = torch.stack([keys, values]).transpose(2, 3)
            whole = pool[layer].index_select(1, flat).view(2, rows, -1, self.kv_heads, self.head_dim)
            gathered = whole[:, :, :total].transpose(2, 3)
            return gathered[0], gathered[1]

        columns = starts[:, None] + torch.arange(width, device=self.device)
        made = Window(exchange=exchange, columns=columns, total=total, dtype=self.dtype, prefix=prefix)
        if self.in_place is None:
            return made
        from saccade.engines.in_place import attend_in_place

        attend = attend_in_place(self.in_place, table, starts, width, total)

        def in_place(layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
            tokens[layer][:, targets.flatten()] = torch.stack([key, value])
            return attend(query, pool[layer, 0], pool[layer, 1], scale)

        return replace(made, in_place=in_place)

    def cover(self, places: Sequence[int], lengths: Sequence[int]) -> None:
        """Gives rows the pages that so many tokens need."""
        for place, length in zip(places, lengths):
            self._cover(place, length)

    def tables(self, places: Sequence[int], pages: int) -> list[list[int]]:
        """The pages of rows, filled up to so many."""
        return [_padded(self._tables[place], pages) for place in places]

    def targets(
        self, places: Sequence[int], lengths: Sequence[int], width: int, counts: Sequence[int]
    ) -> list[list[int]]:
        """Where each of ``width`` tokens of a row goes; what is beyond its ``counts`` goes to a spare page."""
        page = self.page
        return [
            [
                self._tables[place][at // page] * page + at % page if at < length + count else _SPARE
                for at in range(length, length + width)
            ]
            for place, length, count in zip(places, lengths, counts)
        ]

    def _cover(self, place: int, length: int) -> None:
        """Gives a row the pages that so many tokens need."""
        table = self._tables.setdefault(place, [])
        while len(table) * self.page < length:
            if not self._free:
                self._grow()
            page = self._free.pop()
            self._uses[page] = 1
            table.append(page)

    @property
    def pool(self) -> Float[Tensor, "layers kv=2 pages page heads dim"]:
        """All pages. It is another tensor once they have grown."""
        if self._pool is None:
            self._grow()
        assert self._pool is not None
        return self._pool

    def _grow(self) -> None:
        before = len(self._uses)
        more = before // 2 if before else max(_FIRST_PAGES * PAGE // self.page, self.first_pages)
        count = before + max(1, min(more, self._addable(more)))
        # By way of the host: a GPU that is nearly full cannot hold both.
        kept = None if self._pool is None else self._pool.cpu()
        self._pool = None
        shape = (self.layer_count, 2, count, self.page, self.kv_heads, self.head_dim)
        # Zeros: a masked key still meets its value as 0 * value, and NaNs would survive.
        pool = torch.zeros(shape, dtype=self.dtype, device=self.device)
        if kept is not None:
            pool[:, :, :before] = kept
        self._pool = pool
        self._uses += [0] * (count - before)
        self._free += _unused(before, count)


def _unused(first: int, stop: int) -> list[int]:
    """Pages for rows, the first to be handed out at the end."""
    return [page for page in range(stop - 1, first - 1, -1) if page != _SPARE]


def _padded(table: Sequence[int], count: int) -> list[int]:
    return [*table[:count], *[_SPARE] * (count - len(table))]
