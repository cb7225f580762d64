"""A page index on disk, memory-mapped and searched exactly: MaxSim with every page that is asked for."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError
from saccade.media.decode import decode_image
from saccade.retrieval.corpus import Page, PageHit, unknown_document
from saccade.retrieval.late_interaction import Vectors, best_first
from saccade.retrieval.layout import TYPES, IndexEntry, IndexPaths, read_entries, read_header
from saccade.retrieval.scanning import PageScanner, Stored, widened
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
        self._entries, first = _living(entries)
        self.first = np.array(first, dtype=np.int64)
        self.beyond = self.first + np.array([entry.rows for entry in self._entries], dtype=np.int64)
        self.vectors, self.scales = _mapped(paths, sum(entry.rows for entry in entries))
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
        return self.best_of(query, self.places(document), k)

    def picture(self, page: Page) -> Image.Image:
        path = self.paths.picture(self._entries[self.place(page)].picture)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}, the picture of {page}, cannot be read ({error.strerror})") from error
        return decode_image(raw, str(path))

    def page_vectors(self, page: Page) -> PageVectors:
        """The stored vectors of a page, and where on it they are."""
        place = self.place(page)
        entry, rows = self._entries[place], slice(self.first[place], self.beyond[place])
        wide = widened(self.vectors[rows], None if self.scales is None else self.scales[rows])
        return PageVectors(vectors=wide[:, : self.header.dimension], grid=entry.grid, first=entry.first)

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

    def best_of(self, query: Vectors, places: NDArray[np.int64], k: int) -> list[PageHit]:
        """The ``k`` best of the pages at these places, which are in the corpus' order."""
        asked = self.checked(query)
        scores = self.scanner.scores(self.vectors, self.scales, self.first[places], self.beyond[places], asked)
        return [
            PageHit(page=self._pages[int(places[best])], score=float(scores[best])) for best in best_first(scores, k)
        ]

    def checked(self, query: Vectors) -> Vectors:
        """The query as wide as the rows; ValueError unless it is made of finite vectors of the index' dimension."""
        if query.ndim != 2 or query.shape[1] != self.header.dimension or not np.isfinite(query).all():
            raise ValueError(
                f"a query of shape {query.shape}: give finite vectors of {self.header.dimension} numbers each"
            )
        return np.pad(query.astype(np.float32), ((0, 0), (0, self.header.width - self.header.dimension)))


def _living(entries: Sequence[IndexEntry]) -> tuple[list[IndexEntry], list[int]]:
    """Pages that were not replaced, and the first row of each."""
    replaced = {entry.file: place for place, entry in enumerate(entries) if entry.is_replaced}
    living, first, row = [], [], 0
    for place, entry in enumerate(entries):
        if entry.rows and place >= replaced.get(entry.file, 0):
            living.append(entry)
            first.append(row)
        row += entry.rows
    return living, first


def _unreadable(entries: Sequence[IndexEntry]) -> list[IndexEntry]:
    replaced = {entry.file: place for place, entry in enumerate(entries) if entry.is_replaced}
    return [entry for place, entry in enumerate(entries) if entry.error and place >= replaced.get(entry.file, 0)]


def _mapped(paths: IndexPaths, rows: int) -> tuple[Stored, NDArray[np.float32] | None]:
    """The rows that the journal speaks of; UserError when there are fewer."""
    header = read_header(paths)
    kind = TYPES[header.settings.precision]
    is_whole = header.settings.precision == "int8"
    vectors: Stored = np.empty((0, header.width), dtype=kind)
    scales = np.empty(0, dtype=np.float32) if is_whole else None
    if rows == 0:
        return vectors, scales
    try:
        vectors = np.memmap(paths.vectors, dtype=kind, mode="r", shape=(rows, header.width))
        scales = np.memmap(paths.scales, dtype=np.float32, mode="r", shape=(rows,)) if is_whole else None
    except (OSError, ValueError) as error:
        raise UserError(f"{paths.root} lacks vectors that its journal speaks of ({error}); make it anew") from error
    return vectors, scales
