"""MaxSim: by hand, by the kernel and by numpy, for all shapes of queries and pages."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from saccade.native.library import SWITCH, native_library
from saccade.retrieval import maxsim, maxsim_parts
from saccade.retrieval.late_interaction import best_first
from saccade.retrieval.rows import PageRows, quantised, signs, widened
from saccade.retrieval.scanning import QUERIES_AT_ONCE, PageScanner, SharedScan


def vectors(count: int, dimension: int, seed: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def test_each_vector_of_the_question_meets_the_most_similar_one() -> None:
    query = np.array([[1, 0], [0, 1]], dtype=np.float32)
    page = np.array([[0.6, 0.8], [1, 0], [0, -1]], dtype=np.float32)
    parts = maxsim_parts(query, page)
    assert maxsim(query, page) == pytest.approx(1.8)
    assert parts.best.tolist() == [1, 0]
    assert parts.similarity == pytest.approx([1.0, 0.8])


def test_padding_never_scores() -> None:
    query = np.array([[-1, -1]], dtype=np.float32)
    page = np.array([[1, 1], [0, 0]], dtype=np.float32)
    assert maxsim(query, page) == 0.0
    assert maxsim(query, page, np.array([True, False])) == -2.0
    assert maxsim(query, page, np.array([False, False])) == -np.inf


def test_the_best_come_first_and_ties_in_the_corpus_order() -> None:
    scores = np.array([1, 3, 2, 3, 2, 2, -np.inf], dtype=np.float32)
    assert [best_first(scores, k) for k in (1, 2, 3, 4, 9)] == [
        [1],
        [1, 3],
        [1, 3, 2],
        [1, 3, 2, 4],
        [1, 3, 2, 4, 5, 0, 6],
    ]


@pytest.mark.parametrize("queries", [1, 7, 8, 9, 20, 33])
@pytest.mark.parametrize("dimension", [2, 6, 128])
@pytest.mark.parametrize("precision", ["int8", "fp16"])
@pytest.mark.parametrize("way", ["kernel", "numpy"])
def test_stored_pages_score_as_they_are(
    monkeypatch: pytest.MonkeyPatch, way: str, precision: str, dimension: int, queries: int
) -> None:
    monkeypatch.setenv(SWITCH, "0" if way == "numpy" else "")
    if way == "kernel" and native_library() is None:
        pytest.skip("no native kernels here")
    counts = np.array([1, 2, 3, 31, 32, 33, 65, 4, 700])
    first = (np.cumsum(counts) - counts).astype(np.int64)
    rows, query = vectors(int(counts.sum()), dimension, seed=1), vectors(queries, dimension, seed=2)
    stored, scales = quantised(rows) if precision == "int8" else (rows.astype(np.float16), None)
    # Pages of a scope are in any places of the store.
    chosen = np.array([8, 0, 5, 1, 2, 3, 4, 6, 7])
    pages = PageRows(vectors=stored, scales=scales, first=first, beyond=first + counts)
    scores = PageScanner(2).scores(pages.at(chosen), query)
    exact = [maxsim(query, pages.wide(place)) for place in range(len(counts))]
    assert scores == pytest.approx([exact[place] for place in chosen], abs=2e-5 * queries)


def test_no_score_depends_on_the_threads_or_on_the_other_pages() -> None:
    rows, query = vectors(3000, 64, seed=3), vectors(20, 64, seed=4)
    stored, scales = quantised(rows)
    first = np.arange(0, 3000, 10)
    pages = PageRows(vectors=stored, scales=scales, first=first, beyond=first + 10)
    alone = [PageScanner(1).scores(pages.at(np.array([place])), query)[0] for place in range(300)]
    assert PageScanner(3).scores(pages, query).tolist() == alone


@pytest.mark.parametrize("kind", ["int8", "fp16", "signs"])
@pytest.mark.parametrize("way", ["kernel", "numpy"])
def test_queries_of_one_pass_score_as_each_alone(monkeypatch: pytest.MonkeyPatch, way: str, kind: str) -> None:
    monkeypatch.setenv(SWITCH, "0" if way == "numpy" else "")
    rows = vectors(600, 64, seed=8)
    kinds = {"int8": quantised(rows), "fp16": (rows.astype(np.float16), None), "signs": (signs(rows), None)}
    stored, scales = kinds[kind]
    counts = np.array([1, 40, 300, 59, 200])
    pages = PageRows(vectors=stored, scales=scales, first=np.cumsum(counts) - counts, beyond=np.cumsum(counts))
    queries = [vectors(count, 64, seed=count) for count in (1, 20, 7, 36, 8)]
    together = PageScanner(2).scores_of(pages, queries)
    assert together.tolist() == [PageScanner(1).scores(pages, query).tolist() for query in queries]


class HeldScanner(PageScanner):
    """Notes the passes; the first one ends when it may."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__(1)
        self.may_end, self.passes, self.fails = threading.Event(), list[int](), fails

    def scores_of(self, pages: PageRows, queries: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        self.passes.append(len(queries))
        self.may_end.wait()
        if self.fails and len(self.passes) > 1:
            raise MemoryError("no room")
        return super().scores_of(pages, queries)


@pytest.mark.parametrize("fails", [False, True])
def test_who_asks_during_a_pass_shares_the_next_one(fails: bool) -> None:
    stored, scales = quantised(vectors(300, 64, seed=9))
    first = np.arange(0, 300, 10)
    pages = PageRows(vectors=stored, scales=scales, first=first, beyond=first + 10)
    scanner = HeldScanner(fails)
    shared = SharedScan(scanner, pages)
    queries = [vectors(5, 64, seed=seed) for seed in range(70)]
    with ThreadPoolExecutor(70) as asking:
        answers = [asking.submit(shared.scores, query) for query in queries]
        while shared.waiting + sum(scanner.passes) < 70:
            time.sleep(0.001)
        scanner.may_end.set()
    assert sum(scanner.passes) == 70
    assert max(scanner.passes) == QUERIES_AT_ONCE
    assert len(scanner.passes) <= 2 + 70 // QUERIES_AT_ONCE
    failed = [answer for answer in answers if answer.exception()]
    assert len(failed) == (70 - scanner.passes[0] if fails else 0)
    for query, answer in zip(queries, answers):
        if answer not in failed:
            assert answer.result().tolist() == PageScanner(1).scores(pages, query).tolist()


def test_quantised_vectors_come_back_within_half_a_step() -> None:
    rows = np.concatenate([vectors(50, 128, seed=5), np.zeros((1, 128), dtype=np.float32)])
    whole, scales = quantised(rows)
    assert np.abs(widened(whole, scales) - rows).max() <= scales.max() / 2 + 1e-7
    assert not widened(whole, scales)[50].any()


@pytest.mark.parametrize("dimension", [16, 64, 128, 200])
@pytest.mark.parametrize("way", ["kernel", "numpy"])
def test_signs_score_by_the_share_that_agrees(monkeypatch: pytest.MonkeyPatch, way: str, dimension: int) -> None:
    monkeypatch.setenv(SWITCH, "0" if way == "numpy" else "")
    rows, query = vectors(40, dimension, seed=6), vectors(9, dimension, seed=7)
    first = np.array([0, 1, 25])
    pages = PageRows(vectors=signs(rows), scales=None, first=first, beyond=np.array([1, 25, 40]))
    agreement = np.sign(query) @ np.sign(rows).T
    filled = -(-dimension // 64) * 64
    # What fills the last word up is alike in all.
    share = (agreement + filled - dimension) / filled
    exact = [share[:, a:b].max(axis=1).sum() for a, b in zip(pages.first, pages.beyond)]
    assert PageScanner(1).scores(pages, query) == pytest.approx(exact, abs=1e-5)
