"""Vectors of many pages as they are stored: rows of small numbers, one page after the other."""

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.retrieval.late_interaction import Vectors
from saccade.retrieval.layout import TYPES, IndexHeader, IndexPaths

Stored = NDArray[np.int8 | np.float16 | np.uint64]
"""Rows of numbers; or of signs, in words of 64."""
Scales = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PageRows:
    """Pages, whose vectors are rows [first, beyond), one or more."""

    vectors: Stored
    scales: Scales | None
    """A number for each row of int8, which stands for itself times it."""
    first: NDArray[np.int64]
    beyond: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> "PageRows":
        """Some of the pages."""
        return PageRows(vectors=self.vectors, scales=self.scales, first=self.first[places], beyond=self.beyond[places])

    def wide(self, place: int) -> Vectors:
        """The vectors of a page."""
        rows = slice(int(self.first[place]), int(self.beyond[place]))
        return widened(self.vectors[rows], None if self.scales is None else self.scales[rows])


def quantised(vectors: Vectors) -> tuple[NDArray[np.int8], Scales]:
    """Each vector as whole numbers from -127 to 127 and the scale that brings it back."""
    scales = np.abs(vectors).max(axis=1).astype(np.float32) / np.float32(127)
    safe = np.where(scales > 0, scales, np.float32(1))
    return np.rint(vectors / safe[:, None]).astype(np.int8), scales


def signs(vectors: Vectors) -> NDArray[np.uint64]:
    """Which numbers of each vector are above 0, in words of 64; the last one is filled up alike for all."""
    bits = np.packbits(vectors > 0, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)


def widened(vectors: Stored, scales: Scales | None) -> Vectors:
    """Stored vectors as fp32."""
    wide = vectors.astype(np.float32)
    return wide if scales is None else wide * scales[:, None]


def mapped(paths: IndexPaths, header: IndexHeader, counts: NDArray[np.int64]) -> PageRows:
    """All pages of an index, which have so many rows each; UserError when its files have fewer."""
    beyond = np.cumsum(counts)
    kind, is_whole = TYPES[header.settings.precision], header.settings.precision == "int8"
    rows = int(counts.sum())
    vectors: Stored = np.empty((0, header.width), dtype=kind)
    scales = np.empty(0, dtype=np.float32) if is_whole else None
    try:
        if rows:
            vectors = np.memmap(paths.vectors, dtype=kind, mode="r", shape=(rows, header.width))
            scales = np.memmap(paths.scales, dtype=np.float32, mode="r", shape=(rows,)) if is_whole else None
    except (OSError, ValueError) as error:
        raise UserError(f"{paths.root} lacks vectors that its journal lists ({error}); make it again") from error
    return PageRows(vectors=vectors, scales=scales, first=beyond - counts, beyond=beyond)


def read_copy(paths: IndexPaths, pages: PageRows) -> PageRows:
    """Copies of some of an index' pages, read and not mapped: a process stays as small as it is."""
    counts = pages.beyond - pages.first
    beyond = np.cumsum(counts)
    vectors = np.empty((int(counts.sum()), pages.vectors.shape[1]), dtype=pages.vectors.dtype)
    scales = None if pages.scales is None else np.empty(len(vectors), dtype=np.float32)
    for path, copy in ((paths.vectors, vectors), (paths.scales, scales)):
        if copy is None:
            continue
        size, into = copy[:1].nbytes, copy.view(np.uint8).data.cast("B")
        with open_plain(path) as file:
            for source, at, end in zip(pages.first.tolist(), (beyond - counts).tolist(), beyond.tolist()):
                part = into[at * size : end * size]
                if os.preadv(file.fileno(), [part], source * size) != len(part):
                    raise UserError(f"{path} is shorter than its index says; make the index again")
    return PageRows(vectors=vectors, scales=scales, first=beyond - counts, beyond=beyond)
