"""Counts beside a list: each facet under all other parts of the filter, and how the numbers lie."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.viewer.store.filters import CHOICES, NONE, RANGES, TERM, Extras, Filter, Mask, masks
from saccade.viewer.store.table import RowsView

BINS = 20
MAX_VALUES = 200
"""Values of a facet that are counted by name, the most frequent first."""
_SHOWN_RANGES = tuple(name for name in RANGES if name not in ("sample", "action_tokens"))

Counts = list[tuple[str, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """A number over the rows that are left; ``counts`` are those of equal bins from ``low`` to ``high``."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectedRows:
    """The rows that a filter leaves; facets and ranges are empty where they were not asked for."""

    rows: NDArray[np.intp]
    """In the order of the table."""
    facets: Mapping[str, Counts]
    ranges: Mapping[str, Range]


def select(filter_: Filter, view: RowsView, extras: Extras = Extras(), *, with_facets: bool = True) -> SelectedRows:
    """The rows of a filter, with all counts beside them."""
    parts = masks(filter_, view, extras)
    everything = _all_of(parts, view.count)
    rows = np.arange(view.count) if everything is None else np.flatnonzero(everything)
    if not with_facets:
        return SelectedRows(rows=rows, facets={}, ranges={})
    facets = {}
    for name in CHOICES:
        others = {part: mask for part, mask in parts.items() if part != name}
        mask = _all_of(others, view.count) if name in parts else everything
        facets[name] = _facet_counts(name, mask, view, extras)
    terms = [name for name in view.columns if name.startswith(TERM)]
    ranges = {name: found for name in (*_SHOWN_RANGES, *terms) if (found := _range(view.columns[name], rows, view))}
    return SelectedRows(rows=rows, facets=facets, ranges=ranges)


def _all_of(parts: Mapping[str, Mask], count: int) -> Mask | None:
    """None stands for all rows."""
    result: Mask | None = None
    for mask in parts.values():
        result = mask if result is None else result & mask
    return result


def _facet_counts(name: str, mask: Mask | None, view: RowsView, extras: Extras) -> Counts:
    total = view.count if mask is None else int(np.count_nonzero(mask))
    if name == "right":
        codes = view.columns["right"] if mask is None else view.columns["right"][mask]
        wrong_or_right = np.bincount(codes.astype(np.int8) + 1, minlength=3)
        pairs = [("1", wrong_or_right[2]), ("0", wrong_or_right[1]), ("unknown", wrong_or_right[0])]
        return [(value, int(count)) for value, count in pairs if count]
    if name == "marked":
        marked = sum(mask is None or bool(mask[row]) for row in extras.marked if row < view.count)
        return [("1", marked), ("0", total - marked)] if extras.marked else []
    column = {"tool": "tools", "error": "errors"}.get(name, name)
    codes = view.columns[column] if mask is None else view.columns[column][mask]
    counts = np.bincount(codes, minlength=len(view.words[column]))
    if name in ("tool", "error"):
        by_word: dict[str, int] = {}
        for words, count in zip(view.words_by_code(column), counts):
            for word in words or (NONE,):
                by_word[word] = by_word.get(word, 0) + int(count)
        found = [(word, count) for word, count in by_word.items() if count]
    else:
        found = [(word, int(count)) for word, count in zip(view.words[column], counts) if count and word]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:MAX_VALUES]


def _range(column: NDArray[np.number], rows: NDArray[np.intp], view: RowsView) -> Range | None:
    values = column if len(rows) == view.count else column[rows]
    values = values.astype(np.float32)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    if not math.isfinite(high - low) or high <= low:
        return Range(low=low, high=high, counts=(len(values),))
    bins = ((values - np.float32(low)) * np.float32(BINS / (high - low))).astype(np.int32)
    counts = np.bincount(np.clip(bins, 0, BINS - 1), minlength=BINS)
    return Range(low=low, high=high, counts=tuple(map(int, counts)))


def sorted_rows(rows: NDArray[np.intp], view: RowsView, sort: str, *, until: int | None = None) -> NDArray[np.intp]:
    """The rows in order, as many as ``until``; those without a number come last, ties in the order of the run."""
    name, is_down = sort.removeprefix("-"), sort.startswith("-")
    rank = view.rank[rows].astype(np.int64)
    if name == "order":
        key = -rank if is_down else rank
    elif name not in view.columns:
        key = rank
    else:
        key = (_ordered(view.columns[name][rows], is_down=is_down) << 32) | rank
    if until is not None and until < len(rows) // 4:
        first = np.argpartition(key, until)[:until]
        return rows[first[np.argsort(key[first])]]
    return rows[np.argsort(key)]


def _ordered(values: NDArray[np.number], *, is_down: bool) -> NDArray[np.int64]:
    """Numbers as 31-bit integers of the same order, NaN above all."""
    floats = values.astype(np.float32)
    signed = -floats if is_down else floats
    bits = signed.view(np.int32).astype(np.int64)
    # IEEE floats are ordered like their bits, negative ones the other way round.
    ordered = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    return np.where(np.isnan(floats), 0x7FFFFFFF, ordered)
