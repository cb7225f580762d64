"""A corpus of pages: the names of its pages, what a search finds, and the shape of anything that searches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError, nearest

_PAGE = re.compile(r"(.+)#([1-9][0-9]{0,8})", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The name of a page: its document and its number there."""

    document: str
    """Path of a PDF below the folder that was indexed, with "/"; or of a subfolder, whose pictures are its pages; or
    of a picture that lies at the top, which is a document of one page."""
    number: int
    """From 1."""

    def __str__(self) -> str:
        return f"{self.document}#{self.number}"

    @staticmethod
    def read(text: str) -> "Page":
        """The page of a text like "reports/a.pdf#3"; UserError unless it is one."""
        match = _PAGE.fullmatch(text)
        if match is None:
            raise UserError(f"{text!r} names no page; write DOCUMENT#NUMBER, with numbers from 1")
        return Page(document=match[1], number=int(match[2]))


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


def unknown_document(document: str, known: Sequence[str]) -> UserError:
    """The error of a document that is not in an index."""
    meant = nearest(document, known)
    return UserError(
        f"the index has no document {document!r}"
        + (f"; did you mean {meant!r}?" if meant else f"; it has {len(known)}")
    )
