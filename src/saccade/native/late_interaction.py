"""Late interaction by a kernel: MaxSim of a query with many pages, on numpy's arrays and without torch."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import Executor
from ctypes import byref, c_int64, c_void_p
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.native.library import native_library

_PRODUCTS_AT_ONCE = 1 << 24
"""Products of an item that is given to a thread: milliseconds."""
_LARGEST_SUM = 2**31 - 1
_KERNELS = {"int8": "score_pages_int8", "float16": "score_pages_half", "uint64": "score_pages_signs"}


class _PageScan(ctypes.Structure):
    """As in the source."""

    _fields_ = (
        *((name, c_void_p) for name in ("vectors", "scale", "first", "beyond", "query", "weight", "score")),
        ("queries", c_int64),
        ("depth", c_int64),
    )


def native_page_scores(
    vectors: NDArray[np.int8 | np.float16 | np.uint64],
    scales: NDArray[np.float32] | None,
    first: NDArray[np.int64],
    beyond: NDArray[np.int64],
    query: NDArray[np.float32 | np.uint64],
    threads: Executor,
) -> NDArray[np.float32] | None:
    """MaxSim of ``query`` (vector, dimension) with pages, whose vectors are rows [first, beyond); None without kernels.

    ``vectors`` are halves, or int8 that stand for themselves times the scale of their row, or words of signs. A page
    has one or more of them, and the dimension is even. Against int8 the query is rounded to as many of 16 bits as no
    sum can overflow; against signs it is words of signs itself. A page's score depends on nothing else, neither on the
    other pages nor on the number of threads.
    """
    library = native_library()
    if library is None:
        return None
    scores = np.empty(len(first), dtype=np.float32)
    asked, weights = _whole(query) if vectors.dtype == np.int8 else (np.ascontiguousarray(query), None)
    weights = np.ones(len(query), dtype=np.float32) if weights is None else weights
    arrays = (vectors, scales, first, beyond, asked, weights, scores)
    addresses = [None if array is None else array.ctypes.data for array in arrays]
    scan = _PageScan(*addresses, *query.shape)
    kernel = library[_KERNELS[vectors.dtype.name]]
    for done in [threads.submit(kernel, byref(scan), c_int64(a), c_int64(b)) for a, b in _items(first, beyond, query)]:
        done.result()
    return scores


def _whole(query: NDArray[np.float32 | np.uint64]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """The query's vectors in whole numbers, and what brings each back."""
    largest = min(2**15 - 1, _LARGEST_SUM // (127 * query.shape[1]))
    weights = np.maximum(np.abs(query).max(axis=1), np.finfo(np.float32).tiny).astype(np.float32) / np.float32(largest)
    return np.rint(query / weights[:, None]).astype(np.int16), weights


def _items(
    first: NDArray[np.int64], beyond: NDArray[np.int64], query: NDArray[np.float32 | np.uint64]
) -> Iterator[tuple[int, int]]:
    """Ranges of pages with about equal work."""
    work = np.cumsum(beyond - first) * query.size
    ends = np.searchsorted(work, np.arange(_PRODUCTS_AT_ONCE, int(work[-1]) if len(work) else 0, _PRODUCTS_AT_ONCE))
    edges = [0, *dict.fromkeys(int(end) + 1 for end in ends if end + 1 < len(first)), len(first)]
    yield from pairwise(edges)
