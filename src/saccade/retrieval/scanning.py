"""Exact MaxSim over stored pages: by a native kernel, or by numpy without one."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from saccade.native.late_interaction import native_page_scores
from saccade.retrieval.late_interaction import Vectors
from saccade.retrieval.rows import PageRows, signs, widened

_ROWS_AT_ONCE = 16384
"""Vectors that numpy widens to fp32 at once."""


class PageScanner:
    """Scores pages with a number of threads of its own, on which no score depends."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="pages")

    def scores(self, pages: PageRows, query: Vectors) -> NDArray[np.float32]:
        """MaxSim of the query with each page; of signs the products are the share that agrees, less the rest."""
        is_signs = pages.vectors.dtype == np.uint64
        asked = signs(query) if is_signs else query
        found = native_page_scores(pages.vectors, pages.scales, pages.first, pages.beyond, asked, self._pool)
        if found is not None:
            return found
        return _agreement(pages, signs(query)) if is_signs else _by_numpy(pages, query)


def _by_numpy(pages: PageRows, query: Vectors) -> NDArray[np.float32]:
    scores = np.empty(len(pages.first), dtype=np.float32)
    counts = pages.beyond - pages.first
    for begin, end in _together(counts):
        ranges = zip(pages.first[begin:end], pages.beyond[begin:end])
        rows = np.concatenate([np.arange(first, beyond) for first, beyond in ranges])
        wide = widened(pages.vectors[rows], None if pages.scales is None else pages.scales[rows])
        starts = np.cumsum(counts[begin:end]) - counts[begin:end]
        scores[begin:end] = np.maximum.reduceat(wide @ query.T, starts, axis=0).sum(axis=1, dtype=np.float64)
    return scores


def _agreement(pages: PageRows, query: NDArray[np.uint64]) -> NDArray[np.float32]:
    words = pages.vectors.view(np.uint64)
    scores = np.empty(len(pages.first), dtype=np.float32)
    for page, (first, beyond) in enumerate(zip(pages.first, pages.beyond)):
        apart = np.bitwise_count(words[first:beyond, None] ^ query).sum(axis=2, dtype=np.int64)
        scores[page] = (1 - apart.min(axis=0) / (32 * query.shape[1])).sum()
    return scores


def _together(counts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of pages of about so many vectors as are widened at once."""
    begin, rows = 0, 0
    for page, count in enumerate(counts.tolist()):
        rows += count
        if rows >= _ROWS_AT_ONCE:
            yield begin, page + 1
            begin, rows = page + 1, 0
    if begin < len(counts):
        yield begin, len(counts)
