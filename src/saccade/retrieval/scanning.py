"""Exact MaxSim over pages whose vectors lie one after the other: by a native kernel, or by numpy without one."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from saccade.native.late_interaction import native_page_scores
from saccade.retrieval.late_interaction import Vectors

Stored = NDArray[np.int8 | np.float16]

_ROWS_AT_ONCE = 16384
"""Vectors that numpy widens to fp32 at once."""


class PageScanner:
    """Scores pages with a number of threads of its own, on which no score depends."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="pages")

    def scores(
        self,
        vectors: Stored,
        scales: NDArray[np.float32] | None,
        first: NDArray[np.int64],
        beyond: NDArray[np.int64],
        query: Vectors,
    ) -> NDArray[np.float32]:
        """MaxSim of the query with each page, whose vectors are rows [first, beyond), one or more.

        ``scales`` has a number for each row of int8 vectors, which stand for themselves times it.
        """
        found = native_page_scores(vectors, scales, first, beyond, query, self._pool)
        return found if found is not None else _by_numpy(vectors, scales, first, beyond, query)


def quantised(vectors: Vectors) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each vector as whole numbers from -127 to 127 and the scale that brings it back."""
    scales = np.abs(vectors).max(axis=1).astype(np.float32) / np.float32(127)
    safe = np.where(scales > 0, scales, np.float32(1))
    return np.rint(vectors / safe[:, None]).astype(np.int8), scales


def widened(vectors: Stored, scales: NDArray[np.float32] | None) -> Vectors:
    """Stored vectors as fp32."""
    wide = vectors.astype(np.float32)
    return wide if scales is None else wide * scales[:, None]


def _by_numpy(
    vectors: Stored,
    scales: NDArray[np.float32] | None,
    first: NDArray[np.int64],
    beyond: NDArray[np.int64],
    query: Vectors,
) -> NDArray[np.float32]:
    scores = np.empty(len(first), dtype=np.float32)
    for begin, end in _together(first, beyond):
        rows = np.concatenate([np.arange(a, b) for a, b in zip(first[begin:end], beyond[begin:end])])
        products = widened(vectors[rows], None if scales is None else scales[rows]) @ query.T
        starts = np.cumsum(beyond[begin:end] - first[begin:end]) - (beyond[begin:end] - first[begin:end])
        scores[begin:end] = np.maximum.reduceat(products, starts, axis=0).sum(axis=1, dtype=np.float64)
    return scores


def _together(first: NDArray[np.int64], beyond: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of pages of about so many vectors as are widened at once."""
    begin, rows = 0, 0
    for page, count in enumerate((beyond - first).tolist()):
        rows += count
        if rows >= _ROWS_AT_ONCE:
            yield begin, page + 1
            begin, rows = page + 1, 0
    if begin < len(first):
        yield begin, len(first)
