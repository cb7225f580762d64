"""Search in two stages: what it finds of the exact best pages, and files that are cut off or behind."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from retrieval_samples import contents

from saccade.errors import UserError
from saccade.retrieval import FirstStage, IndexSettings, TwoStageIndex, build_first_stage, open_index, open_two_stage
from saccade.retrieval.building import IndexWriter
from saccade.retrieval.first_stage import pooled
from saccade.retrieval.layout import IndexEntry, IndexPaths
from saccade.retrieval.sources import DraftedPage
from saccade.vision_models.kinds import PageVectors

PAGES, PER_PAGE, DIMENSION, TOPICS = 400, 48, 32, 300


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


class TopicEncoder:
    """Pages about some topics each, with a patch in ten about each; a question's words are about topics of one page."""

    identity, dimension = "topics", DIMENSION

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._topics = unit(self._rng.standard_normal((TOPICS, DIMENSION)))
        self._of_pages: list[NDArray[np.int64]] = []

    def encode_pages(self, images: Sequence[Image.Image]) -> Sequence[PageVectors]:
        return [PageVectors(vectors=self._page()) for _ in images]

    def _page(self) -> NDArray[np.float32]:
        about = self._rng.choice(TOPICS, 6)
        self._of_pages.append(about)
        noise = self._rng.standard_normal((PER_PAGE, DIMENSION)) * 0.08
        return unit(self._topics[np.repeat(about, PER_PAGE // 6)] + noise)

    def encode_questions(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        asked = [self._of_pages[int(text)][:4] for text in texts]
        return [unit(self._topics[about] + self._rng.standard_normal((4, DIMENSION)) * 0.08) for about in asked]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TopicEncoder]:
    encoder, out = TopicEncoder(), tmp_path_factory.mktemp("topics")
    writer = IndexWriter(IndexPaths(out), encoder, IndexSettings())
    dot = Image.new("RGB", (1, 1))
    pages = [
        IndexEntry(file="a", sha256="0", document=f"d{number // 100}", number=number % 100 + 1, picture="dot.png")
        for number in range(PAGES)
    ]
    writer.write([DraftedPage(entry=entry, image=dot) for entry in pages])
    return out, encoder


@pytest.mark.parametrize(
    ("stage", "recall"), [(FirstStage(vectors=8), 0.98), (FirstStage(vectors=None, precision="signs"), 0.95)]
)
def test_two_stages_find_what_the_exact_search_finds(
    index: tuple[Path, TopicEncoder], stage: FirstStage, recall: float
) -> None:
    out, encoder = index
    exact = open_index(out)
    build_first_stage(exact, stage)
    fast = TwoStageIndex(exact, stage, candidates=40)
    found, wanted = 0, 0
    for query in encoder.encode_questions([str(page) for page in range(0, PAGES, 4)]):
        best = exact.search(query, 3)
        # Scores are the exact ones, and ties stay where they were.
        hits = fast.search(query, 3)
        found += len([hit for hit in hits if hit in best])
        wanted += len(best)
    assert found >= recall * wanted
    (query,) = encoder.encode_questions(["7"])
    assert fast.search(query, 5, "d1") == exact.search(query, 5, "d1")
    assert len(fast.search(query, 60)) == 60


def test_small_pages_have_more_candidates(index: tuple[Path, TopicEncoder]) -> None:
    exact = open_index(index[0])
    stage = FirstStage(vectors=8)
    build_first_stage(exact, stage)
    assert TwoStageIndex(exact, stage).candidates == 300_000 // PER_PAGE
    assert TwoStageIndex(exact, stage, candidates=7).candidates == 7


def test_a_first_stage_is_continued_and_missed(index: tuple[Path, TopicEncoder], tmp_path: Path) -> None:
    out, _ = index
    stage = FirstStage(vectors=4)
    with pytest.raises(UserError, match=r"first-4-int8\.bin is not there"):
        open_two_stage(out, stage)
    build_first_stage(open_index(out), stage)
    whole = contents(out)
    for name, size in (("first-4-int8.bin", 5001), ("first-4-int8.scales.bin", 390)):
        with (out / name).open("r+b") as file:
            file.truncate(size)
    with pytest.raises(UserError, match=r"first-4-int8\.bin is out of date"):
        open_two_stage(out, stage)
    build_first_stage(open_index(out), stage)
    assert contents(out) == whole


def test_like_vectors_are_pooled_to_their_direction() -> None:
    rng = np.random.default_rng(1)
    topics = unit(rng.standard_normal((5, 16)))
    few = pooled(unit(topics[rng.permutation(np.repeat(np.arange(5), 20))] + rng.standard_normal((100, 16)) * 0.01), 5)
    assert few.shape == (5, 16)
    assert np.linalg.norm(few, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert pooled(topics, 5) is topics
