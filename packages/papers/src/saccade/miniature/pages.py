"""Questions on drawn documents with the pages that are brought for them, for the miniature of Lang2Act."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError
from saccade.gym.drawn.pages import (
    DrawnDocument,
    PageQuestion,
    SoughtPlate,
    asked_text,
    document_scene,
    drawn_document,
    has_three,
    mark_side,
    right_answer,
    sought_plates,
)
from saccade.media import MediaStore
from saccade.retrieval import maxsim
from saccade.seeding import generator_for
from saccade.tasks.drawing import BACKGROUND
from saccade.tasks.procedural import split_of
from saccade.tasks.scene import rectangle_target
from saccade.types import Page, Task
from saccade.vision_models.kinds import PageEncoder

KINDS: tuple[PageQuestion, ...] = ("mark", "pair", "cross")
"""Kinds that are asked where none is named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedPages:
    """A question with the pages that were brought for it, and what an expert knows of it."""

    task: Task
    document: DrawnDocument
    sought: tuple[SoughtPlate, ...]
    shown: tuple[int, ...]
    """Indices of the document's pages, in the order in which they are shown."""

    def image_of(self, sought: SoughtPlate) -> int | None:
        """Number of the image, from 1, that shows the plate; None where its page was not brought."""
        return self.shown.index(sought.page) + 1 if sought.page in self.shown else None


class PageQuestions:
    """Drawn questions, each a function of seed, split and number; they go round the split's ``documents``.

    With an ``encoder`` the ``pages`` best pages of the document are shown, best first. Without one the gold pages are,
    with others, in random order; ``oracle`` shows gold pages alone. ``ground`` is the grey of the paper.
    """

    def __init__(
        self,
        *,
        seed: int,
        media: MediaStore,
        documents: int,
        pages: int = 3,
        difficulty: float = 0.5,
        encoder: PageEncoder | None = None,
        kinds: Sequence[PageQuestion] = KINDS,
        oracle: bool = False,
        ground: int = BACKGROUND[0],
    ) -> None:
        if pages < 2:
            raise UserError(f"pages={pages}: a question may need two pages; use 2 or more (3 in the paper)")
        self._seed, self._media, self._documents = seed, media, documents
        self._pages, self._mark_px, self._difficulty = pages, mark_side(difficulty), difficulty
        self._encoder, self._kinds, self._oracle, self._ground = encoder, tuple(kinds), oracle, ground
        self.document = lru_cache(4096)(self._document)
        self._vectors = lru_cache(4096)(self._page_vectors)

    def asked_pages(self, split: str, number: int) -> AskedPages:
        """The question of this number."""
        rng = generator_for(self._seed, "page question", split, number)
        kind = self._kinds[int(rng.integers(len(self._kinds)))]
        place = self._place(split, number, kind)
        document = self.document(split, place)
        sought = sought_plates(document, rng, kind)
        question = asked_text(document, sought)
        shown = self._shown_pages(split, place, document, sought, question, rng)
        names = tuple(Page(document=document.name, number=page + 1) for page in range(len(document.pages)))
        task = Task(
            id=f"pages/{split}/{number:06d}-seed{self._seed}",
            family="pages",
            question=question,
            answer=right_answer(sought),
            answer_kind="exact",
            # Drawn anew each time: a step's pictures are forgotten after it.
            images=tuple(self._media.add(self._picture(document, page)) for page in shown),
            document=document.name,
            gold_pages=tuple(dict.fromkeys(names[one.page] for one in sought)),
            shown_pages=tuple(names[page] for page in shown),
            targets=tuple(
                rectangle_target(f"{one.plate.colour} plate", one.plate.box, shown.index(one.page))
                for one in sought
                if one.page in shown
            ),
            difficulty=self._difficulty,
        )
        return AskedPages(task=task, document=document, sought=sought, shown=shown)

    def _place(self, split: str, number: int, kind: PageQuestion) -> int:
        """The document of this number, or the next that such a question can be asked of; UserError for none."""
        places = [(number + ahead) % self._documents for ahead in range(self._documents)]
        found = (one for one in places if kind != "same" or has_three(self.document(split, one)))
        if (place := next(found, None)) is None:
            raise UserError(f"none of the {self._documents} documents has a page of three plates; use more documents")
        return place

    def _shown_pages(
        self,
        split: str,
        place: int,
        document: DrawnDocument,
        sought: Sequence[SoughtPlate],
        question: str,
        rng: Generator,
    ) -> tuple[int, ...]:
        gold = tuple(dict.fromkeys(one.page for one in sought))
        if self._oracle:
            return gold
        if self._encoder is not None:
            [query] = self._encoder.encode_questions([question])
            scores = [maxsim(query, page) for page in self._vectors(split, place)]
            return tuple(int(page) for page in np.argsort(scores, kind="stable")[::-1][: self._pages])
        others = [index for index in range(len(document.pages)) if index not in gold]
        drawn = [others[int(index)] for index in rng.permutation(len(others))]
        brought = [*gold, *drawn][: self._pages]
        return tuple(brought[int(index)] for index in rng.permutation(len(brought)))

    def _document(self, split: str, place: int) -> DrawnDocument:
        rng = generator_for(self._seed, "document", split, place)
        while True:
            document = drawn_document(rng)
            if split_of(document_scene(document, generator_for(0), "mark", self._mark_px)) == split:
                return document

    def _picture(self, document: DrawnDocument, page: int) -> Image.Image:
        return document.picture(page, self._mark_px, self._ground)

    def _page_vectors(self, split: str, place: int) -> list[NDArray[np.float32]]:
        assert self._encoder is not None
        document = self.document(split, place)
        pictures = [self._picture(document, page) for page in range(len(document.pages))]
        return [page.vectors for page in self._encoder.encode_pages(pictures)]
