"""Late interaction by a kernel: MaxSim of queries with many pages, on numpy's arrays and without torch."""

import ctypes
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from ctypes import byref, c_int64, c_void_p
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.native.library import native_library

_PRODUCTS_AT_ONCE = 1 << 24
"""Products of an item that is given to a thread, at least: milliseconds."""
_ITEMS = 256
"""At most about so many: handing one over takes a while, too."""
_LARGEST_SUM = 2**31 - 1
_KERNELS = {"int8": "score_pages_int8", "float16": "score_pages_half", "uint64": "score_pages_signs"}


class _PageScan(ctypes.Structure):
    """As in the source."""

    _fields_ = (
        *((name, c_void_p) for name in ("vectors", "scale", "first", "beyond", "query", "weight", "end", "score")),
        *((name, c_int64) for name in ("queries", "pages", "depth")),
    )


def native_page_scores(
    vectors: NDArray[np.int8 | np.float16 | np.uint64],
    scales: NDArray[np.float32] | None,
    first: NDArray[np.int64],
    beyond: NDArray[np.int64],
    queries: Sequence[NDArray[np.float32 | np.uint64]],
    threads: Executor,
) -> NDArray[np.float32] | None:
    """MaxSim of each query (vector, dimension) with pages, as (query, page), in one pass; None without kernels.

    The pages' vectors are rows [first, beyond) of ``vectors``, which are halves, or int8 that stand for themselves
    times the scale of their row, or words of signs. A page has one or more of them, and the dimension is even. Against
    int8 a query is rounded to as many of 16 bits as no sum can overflow; against signs it is words of signs itself. A
    score depends on nothing but its query and its page: neither on other queries and pages nor on the threads.
    """
    library = native_library()
    if library is None:
        return None
    query, ends = np.concatenate(queries), np.cumsum([len(one) for one in queries], dtype=np.int64)
    scores = np.empty((len(queries), len(first)), dtype=np.float32)
    asked, weights = _whole(query) if vectors.dtype == np.int8 else (query, np.ones(len(query), dtype=np.float32))
    arrays = (vectors, scales, first, beyond, asked, weights, ends, scores)
    addresses = [None if array is None else array.ctypes.data for array in arrays]
    scan = _PageScan(*addresses, *scores.shape, query.shape[1])
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
    all_work = int(work[-1]) if len(work) else 0
    share = max(_PRODUCTS_AT_ONCE, all_work // _ITEMS)
    ends = np.searchsorted(work, np.arange(share, all_work, share))
    edges = [0, *dict.fromkeys(int(end) + 1 for end in ends if end + 1 < len(first)), len(first)]
    yield from pairwise(edges)
