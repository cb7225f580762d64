"""A corpus of pages: the names of its pages, what a search finds, and the shape of anything that searches."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError, nearest
from saccade.types import Page


@dataclass(frozen=True, kw_only=True, slots=True)
class PageHit:
    """A page that was found."""

    page: Page
    score: float
    """MaxSim of the question's vectors with the page's."""


class PageIndex(Protocol):
    """Pages that can be searched by vectors; safe to use from many threads."""

    @property
    def encoder(self) -> str:
        """Identity of the encoder that made the vectors."""
        ...

    @property
    def documents(self) -> Sequence[str]:
        """In the corpus' order: by their first page."""
        ...

    def pages(self, document: str | None = None) -> Sequence[Page]:
        """All pages, or a document's, in the corpus' order; UserError for a document that is not there."""
        ...

    def search(self, query: NDArray[np.float32], k: int, document: str | None = None) -> list[PageHit]:
        """The ``k`` best pages, or fewer where there are fewer, best first; each once, ties in the corpus' order.

        ``query`` has shape (vector, dimension). UserError for a document that is not there.
        """
        ...

    def picture(self, page: Page) -> Image.Image:
        """The page as the encoder saw it, in RGB; UserError for a page that is not there."""
        ...

    def picture_file(self, page: Page) -> Path:
        """The image file of that picture."""
        ...


def unknown_document(document: str, known: Sequence[str]) -> UserError:
    """The error of a document that is not in an index."""
    meant = nearest(document, known)
    return UserError(
        f"the index has no document {document!r}"
        + (f"; did you mean {meant!r}?" if meant else f"; it has {len(known)}")
    )
