"""Search in two stages for large corpora: a first look at all pages, then exact MaxSim with the most promising ones."""

from collections.abc import Sequence
from pathlib import Path
from threading import BoundedSemaphore

import numpy as np
from PIL import Image

from saccade.retrieval.corpus import PageHit
from saccade.retrieval.first_stage import FirstStage, first_rows
from saccade.retrieval.late_interaction import Vectors, best_first
from saccade.retrieval.scanning import SharedScan
from saccade.retrieval.store import PageStore, open_index
from saccade.types import Page

CANDIDATES = 400
"""At least so many pages are scored exactly,"""
CANDIDATE_VECTORS = 300_000
"""and as many as have about so many vectors: small pages cost little, and there are many of them alike."""


def open_two_stage(
    path: Path, stage: FirstStage = FirstStage(), *, candidates: int | None = None, threads: int | None = None
) -> "TwoStageIndex":
    """The index in a directory with its first stage; UserError where it is not built, or behind the index."""
    return TwoStageIndex(open_index(path, threads=threads), stage, candidates=candidates)


class OverExact:
    """What a page index over an exact one has from it: all but the search."""

    def __init__(self, exact: PageStore) -> None:
        self.exact = exact

    @property
    def encoder(self) -> str:
        return self.exact.encoder

    @property
    def documents(self) -> Sequence[str]:
        return self.exact.documents

    def pages(self, document: str | None = None) -> Sequence[Page]:
        return self.exact.pages(document)

    def picture(self, page: Page) -> Image.Image:
        return self.exact.picture(page)

    def picture_file(self, page: Page) -> Path:
        return self.exact.picture_file(page)


class TwoStageIndex(OverExact):
    """A page index that scores exactly as ``PageStore``, but only pages that the first stage finds promising.

    What it misses is missed: hold its recall against ``exact`` on questions of your own. ``candidates`` are by default
    as many pages as have 300,000 vectors, and 400 or more.
    """

    def __init__(self, exact: PageStore, stage: FirstStage = FirstStage(), *, candidates: int | None = None) -> None:
        super().__init__(exact)
        self.candidates = candidates or _candidates(exact)
        self._first = SharedScan(exact.scanner, first_rows(exact, stage))
        # Copies of candidates take megabytes each: so many are there at once, however many ask.
        self._copies = BoundedSemaphore(exact.scanner.threads)

    def search(self, query: Vectors, k: int, document: str | None = None) -> list[PageHit]:
        """Exact for one document, and for a corpus with no more pages than there would be candidates."""
        promising = max(k, self.candidates)
        if document is not None or len(self.exact) <= promising:
            return self.exact.search(query, k, document)
        looked = self._first.scores(self.exact.check_query(query))
        places = np.sort(np.array(best_first(looked, promising), dtype=np.int64))
        with self._copies:
            return self.exact.best_of(query, places, k, by_reading=True)


def _candidates(store: PageStore) -> int:
    vectors = int((store.rows.beyond - store.rows.first).sum())
    return max(CANDIDATES, CANDIDATE_VECTORS * len(store) // max(1, vectors))
