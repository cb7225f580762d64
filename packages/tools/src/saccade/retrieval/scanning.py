"""Exact MaxSim over stored pages: by a native kernel, or by numpy without one; one pass for all who ask at once."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from saccade.native.late_interaction import native_page_scores
from saccade.retrieval.late_interaction import Vectors
from saccade.retrieval.rows import PageRows, signs, widened

_ROWS_AT_ONCE = 16384
"""Vectors that numpy widens to fp32 at once."""


QUERIES_AT_ONCE = 4
"""Queries of a pass at most: with more each takes no less time, and all of them wait for the last."""
_SCORES_AT_ONCE = 1 << 25
"""Scores of a pass at most, where there is more than one query."""


class PageScanner:
    """Scores pages with a number of threads of its own, on which no score depends."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="pages")

    def scores(self, pages: PageRows, query: Vectors) -> NDArray[np.float32]:
        """MaxSim of the query with each page; of signs the products are the share that agrees, less the rest."""
        scores: NDArray[np.float32] = self.scores_of(pages, [query])[0]
        return scores

    def scores_of(self, pages: PageRows, queries: Sequence[Vectors]) -> NDArray[np.float32]:
        """The scores of several queries, (query, page), in one pass over the pages; each as it would be alone."""
        is_signs = pages.vectors.dtype == np.uint64
        asked = [signs(query) for query in queries] if is_signs else queries
        found = native_page_scores(pages.vectors, pages.scales, pages.first, pages.beyond, asked, self._pool)
        if found is not None:
            return found
        return np.stack([_agreement(pages, signs(query)) if is_signs else _by_numpy(pages, query) for query in queries])


class SharedScan:
    """Scores the same pages for many threads, in turn: those that ask while a pass is under way share a later one."""

    def __init__(self, scanner: PageScanner, pages: PageRows) -> None:
        self._scanner, self._pages = scanner, pages
        self._most = max(1, min(QUERIES_AT_ONCE, _SCORES_AT_ONCE // max(1, len(pages.first))))
        self._waiting: deque[tuple[Vectors, Future[NDArray[np.float32]]]] = deque()
        self._passes = ThreadPoolExecutor(1, thread_name_prefix="pass")

    @property
    def waiting(self) -> int:
        """Queries that no pass has taken up yet."""
        return len(self._waiting)

    def scores(self, query: Vectors) -> NDArray[np.float32]:
        """As ``PageScanner.scores``."""
        mine: Future[NDArray[np.float32]] = Future()
        self._waiting.append((query, mine))
        self._passes.submit(self._pass)
        return mine.result()

    def _pass(self) -> None:
        """Answers those who have waited longest; what goes wrong is said to each of them."""
        # There is a call for each query: a later one may find that all are answered.
        asked = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        if not asked:
            return
        try:
            found = self._scanner.scores_of(self._pages, [query for query, _ in asked])
        except BaseException as error:
            for _, answer in asked:
                answer.set_exception(error)
            return
        for (_, answer), scores in zip(asked, found):
            answer.set_result(scores)


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
