"""A page index on disk, memory-mapped and searched exactly: MaxSim with every page that is asked for."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError
from saccade.media.decode import decode_image
from saccade.plain_files import plain_bytes
from saccade.retrieval.corpus import PageHit, unknown_document
from saccade.retrieval.late_interaction import Vectors, best_first
from saccade.retrieval.layout import IndexEntry, IndexPaths, read_entries, read_header
from saccade.retrieval.rows import mapped, read_copy
from saccade.retrieval.scanning import PageScanner, SharedScan
from saccade.types import Page
from saccade.vision_models.kinds import PageVectors


def open_index(path: Path, *, threads: int | None = None) -> "PageStore":
    """The index in a directory; UserError where there is none. ``threads`` search it, by default one for each core."""
    return PageStore(IndexPaths(path), PageScanner(threads))


class PageStore:
    """A page index as it was when it was opened; pages that are added later need another opening."""

    def __init__(self, paths: IndexPaths, scanner: PageScanner) -> None:
        self.header = read_header(paths)
        self.paths = paths
        self.scanner = scanner
        entries = list(read_entries(paths))
        self.unreadable = _unreadable(entries)
        stored = [entry for entry in entries if entry.rows]
        self.everything = mapped(paths, self.header, np.array([entry.rows for entry in stored], dtype=np.int64))
        """All pages that were ever added, in the order of their rows."""
        self.living = np.array(_living(entries), dtype=np.int64)
        """Places among them of the pages that were not replaced."""
        self.rows = self.everything.at(self.living)
        self._whole_scan = SharedScan(scanner, self.rows)
        self._entries = [stored[place] for place in self.living]
        self._pages = [Page(document=entry.document, number=entry.number) for entry in self._entries]
        self._places: dict[str, list[int]] = {}
        for place, page in enumerate(self._pages):
            self._places.setdefault(page.document, []).append(place)

    @property
    def encoder(self) -> str:
        return self.header.encoder

    @property
    def documents(self) -> Sequence[str]:
        return list(self._places)

    def __len__(self) -> int:
        return len(self._pages)

    def pages(self, document: str | None = None) -> Sequence[Page]:
        return [self._pages[place] for place in self.places(document)]

    def search(self, query: Vectors, k: int, document: str | None = None) -> list[PageHit]:
        if document is None:
            return self._hits(self._whole_scan.scores(self.check_query(query)), self.places(), k)
        return self.best_of(query, self.places(document), k)

    def picture(self, page: Page) -> Image.Image:
        path = self.picture_file(page)
        try:
            raw = plain_bytes(path)
        except OSError as error:
            raise UserError(f"{path}, the picture of {page}, cannot be read ({error.strerror})") from error
        return decode_image(raw, str(path))

    def picture_file(self, page: Page) -> Path:
        return self.paths.picture(self._entries[self.place(page)].picture)

    def page_vectors(self, page: Page) -> PageVectors:
        """The stored vectors of a page, and where on it they are."""
        place = self.place(page)
        entry = self._entries[place]
        vectors = self.rows.wide(place)[:, : self.header.dimension]
        return PageVectors(vectors=vectors, grid=entry.grid, first=entry.first)

    def places(self, document: str | None = None) -> NDArray[np.int64]:
        """Places of all pages, or of a document's, in the corpus."""
        if document is None:
            return np.arange(len(self._pages))
        if document not in self._places:
            raise unknown_document(document, self.documents)
        return np.array(self._places[document], dtype=np.int64)

    def place(self, page: Page) -> int:
        for place in self._places.get(page.document, ()):
            if self._pages[place].number == page.number:
                return place
        if page.document not in self._places:
            raise unknown_document(page.document, self.documents)
        raise UserError(f"the index has no page {page}; {page.document} has {len(self._places[page.document])} pages")

    def best_of(self, query: Vectors, places: NDArray[np.int64], k: int, *, by_reading: bool = False) -> list[PageHit]:
        """The ``k`` best of the pages at these places, which are in the corpus' order.

        ``by_reading`` takes a copy of their vectors, so that the process does not grow by what it maps.
        """
        pages = self.rows.at(places)
        scores = self.scanner.scores(read_copy(self.paths, pages) if by_reading else pages, self.check_query(query))
        return self._hits(scores, places, k)

    def _hits(self, scores: NDArray[np.float32], places: NDArray[np.int64], k: int) -> list[PageHit]:
        return [
            PageHit(page=self._pages[int(places[best])], score=float(scores[best])) for best in best_first(scores, k)
        ]

    def check_query(self, query: Vectors) -> Vectors:
        """The query as wide as the rows; ValueError unless it is made of finite vectors of the index' dimension."""
        if query.ndim != 2 or query.shape[1] != self.header.dimension or not np.isfinite(query).all():
            raise ValueError(
                f"a query of shape {query.shape}: give finite vectors of {self.header.dimension} numbers each"
            )
        return np.pad(query.astype(np.float32), ((0, 0), (0, self.header.width - self.header.dimension)))


def _living(entries: Sequence[IndexEntry]) -> list[int]:
    """Places, among the entries with rows, of the pages that were not replaced."""
    stored = [(place, entry) for place, entry in enumerate(entries) if entry.rows]
    replaced = _new_starts(entries)
    return [row for row, (place, entry) in enumerate(stored) if place >= replaced.get(entry.file, 0)]


def _unreadable(entries: Sequence[IndexEntry]) -> list[IndexEntry]:
    replaced = _new_starts(entries)
    return [entry for place, entry in enumerate(entries) if entry.error and place >= replaced.get(entry.file, 0)]


def _new_starts(entries: Sequence[IndexEntry]) -> dict[str, int]:
    """Where what an index has of a file begins anew."""
    return {entry.file: place for place, entry in enumerate(entries) if entry.is_replaced}
