"""Where a row says that its question is asked: a corpus, a document, the pages that hold the answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.tasks.rows.fields import Row, RowError, RowValue, listed, optional_text, short
from saccade.types import ImageRef, Page

GOLD_KEY, SHOWN_KEY = "gold_pages", "shown_pages"


@dataclass(frozen=True, kw_only=True, slots=True)
class RowScope:
    """The scope of a row's question; fields are as in ``Task``."""

    corpus: str | None = None
    document: str | None = None
    gold_pages: tuple[Page, ...] | None = None
    shown_pages: tuple[Page, ...] = ()

    def check_shown(self, images: Sequence[ImageRef]) -> None:
        """``RowError`` unless each image has its page, where pages are named at all."""
        if self.shown_pages and len(self.shown_pages) != len(images):
            raise RowError(SHOWN_KEY, f"names {len(self.shown_pages)} pages for {len(images)} images")

    @property
    def content(self) -> list[str]:
        """What tells questions of one wording apart that are asked elsewhere; empty without a scope."""
        return [] if self.corpus is None and self.document is None else [self.corpus or "", self.document or ""]


def read_scope(row: Row) -> RowScope:
    """The scope that a row names: ``corpus``, ``document``, ``gold_pages`` and ``shown_pages``, none of them needed.

    A page is written as "DOCUMENT#NUMBER", or as its number from 1 where the row names the document. Gold pages may be
    an empty list, for a question that no page answers.
    """
    document = optional_text(row, "document")
    gold = None if row.get(GOLD_KEY) is None else _pages(row[GOLD_KEY], GOLD_KEY, document)
    return RowScope(
        corpus=optional_text(row, "corpus"),
        document=document,
        gold_pages=None if gold is None else tuple(dict.fromkeys(gold)),
        shown_pages=_pages(row.get(SHOWN_KEY), SHOWN_KEY, document),
    )


def _pages(value: RowValue, key: str, document: str | None) -> tuple[Page, ...]:
    return tuple(_page(one, key, document) for one in listed(value, key))


def _page(value: RowValue, key: str, document: str | None) -> Page:
    if isinstance(value, int) and not isinstance(value, bool) and document is not None:
        value = f"{document}#{value}"
    try:
        if isinstance(value, str):
            return Page.read(value)
    except UserError:
        pass
    raise RowError(key, f"{short(value)} names no page; write DOCUMENT#NUMBER, or a number from 1 beside a document")
