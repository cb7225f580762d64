"""Searches of the web that lie recorded on disk. What was not recorded has no answer: nothing is guessed or fetched.

Two layouts are read. The cache that Agentic-MME's own runner writes, a folder for each question:

    0009/serper_search_1.json    {"request": {"q": ...}, "response": {"organic": [...], "knowledgeGraph": {...}, ...}}
    0009/webpage_1.json          {"request": {"url": ...}, "response": {"text": ...}}    (ours: it keeps no pages)

And MMSearch's release, ``rerank.parquet`` and ``summarization.parquet``: the eight websites that were found for a
question, whatever is asked, and the text of the one page that was kept.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from saccade.errors import UserError
from saccade.plain_files import plain_text
from saccade.tasks.rows.fields import Row, RowError
from saccade.tasks.rows.tables import parquet_rows

MAX_ORGANIC = 5
"""Results of a response that are shown, as many as Agentic-MME's tool shows."""
WEBSITES = 8
_SEARCH, _PAGE = "serper_search_", "webpage_"
Kept = TypeVar("Kept")


@dataclass(frozen=True, kw_only=True, slots=True)
class WebResult:
    """A result of a search."""

    title: str
    address: str
    """What a page is opened by: its URL, or its title where none was recorded."""
    snippet: str


class RecordedWeb(Protocol):
    """What was recorded; ``question`` is the question's name in the recording, None for any."""

    def search(self, question: str | None, query: str, /) -> Sequence[WebResult] | None:
        """The results; None where none were recorded."""
        ...

    def page(self, question: str | None, address: str, /) -> str | None:
        """The text of a page; None where it was not recorded."""
        ...


def recording_in(folder: Path) -> Callable[[], RecordedWeb]:
    """Reads the recording of a folder; ``UserError`` at once where there is none."""
    if _parquet(folder, "rerank"):
        return partial(_read_release, folder)
    if next(folder.glob(f"*/{_SEARCH}*.json"), None) is None:
        raise UserError(
            f"{folder} holds no recorded search: neither QUESTION/{_SEARCH}1.json nor MMSearch's rerank.parquet"
        )
    return partial(_read_responses, folder)


def plain_query(query: str) -> str:
    """The query as two are compared: small letters, single spaces."""
    return " ".join(query.casefold().split())


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class _Responses:
    found: Mapping[str, Mapping[str, Sequence[WebResult]]]
    """By question and query."""
    pages: Mapping[str, Mapping[str, str]]

    def search(self, question: str | None, query: str) -> Sequence[WebResult] | None:
        return next((one[plain_query(query)] for one in _of(self.found, question) if plain_query(query) in one), None)

    def page(self, question: str | None, address: str) -> str | None:
        return next((one[address.strip()] for one in _of(self.pages, question) if address.strip() in one), None)


def _of(kept: Mapping[str, Kept], question: str | None) -> list[Kept]:
    return list(kept.values()) if question is None else [kept[question]] if question in kept else []


def _read_responses(folder: Path) -> RecordedWeb:
    found: dict[str, dict[str, Sequence[WebResult]]] = {}
    pages: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*/*.json")):
        if path.name.startswith((_SEARCH, _PAGE)):
            request, response = _recorded(path)
            if path.name.startswith(_SEARCH):
                results = found.setdefault(path.parent.name, {})
                results.setdefault(plain_query(str(request.get("q", ""))), tuple(_results(response)))
            else:
                pages.setdefault(path.parent.name, {})[str(request.get("url", ""))] = str(response.get("text", ""))
    return _Responses(found=found, pages=pages)


def _recorded(path: Path) -> tuple[Row, Row]:
    """Request and response of a file."""
    try:
        told = json.loads(plain_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from error
    parts = [told.get(name) if isinstance(told, dict) else None for name in ("request", "response")]
    request, response = parts
    if not isinstance(request, dict) or not isinstance(response, dict):
        raise UserError(f"{path}: must be an object with the objects request and response")
    return request, response


def _results(response: Row) -> Iterator[WebResult]:
    """What is known of the thing itself, the first results, and questions that others asked."""
    known, organic, asked = (response.get(name) for name in ("knowledgeGraph", "organic", "peopleAlsoAsk"))
    for group, title, address, snippet in (
        ([known], "title", "website", "description"),
        (organic, "title", "link", "snippet"),
        (asked, "question", "link", "snippet"),
    ):
        for one in group[:MAX_ORGANIC] if isinstance(group, list) else ():
            if isinstance(one, dict):
                texts = [str(one.get(name) or "").strip() for name in (title, address, snippet)]
                if any(texts):
                    yield WebResult(title=texts[0], address=texts[1] or texts[0], snippet=texts[2])


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class _Release:
    found: Mapping[str, Sequence[WebResult]]
    pages: Mapping[str, tuple[str, str]]
    """Title and text, by question."""

    def search(self, question: str | None, query: str) -> Sequence[WebResult] | None:
        return next(iter(_of(self.found, question)), None)

    def page(self, question: str | None, address: str) -> str | None:
        titles = {
            one.title for results in _of(self.found, question) for one in results if one.address == address.strip()
        }
        return next((text for title, text in _of(self.pages, question) if title in titles), None)


def _parquet(folder: Path, split: str) -> list[Path]:
    return sorted(path for path in folder.rglob("*.parquet") if path.name.startswith((f"{split}.", f"{split}-")))


def _read_release(folder: Path) -> RecordedWeb:
    columns = [f"website{place}_info" for place in range(WEBSITES)]
    rows = _rows(folder, "rerank", columns)
    pages = _rows(folder, "summarization", ["website_title", "website_retrieved_content"])
    return _Release(
        found={str(row["sample_id"]): [*_websites(row[name] for name in columns if name in row)] for row in rows},
        pages={
            str(row["sample_id"]): (str(row["website_title"]), str(row["website_retrieved_content"])) for row in pages
        },
    )


def _rows(folder: Path, split: str, columns: Sequence[str]) -> Iterator[Row]:
    for path in _parquet(folder, split):
        for one in parquet_rows(path, ["sample_id", *columns]):
            if isinstance(one.row, RowError) or "sample_id" not in one.row:
                raise UserError(f"{path}: is no file of MMSearch: the column sample_id is missing")
            yield one.row


def _websites(told: Iterator[object]) -> Iterator[WebResult]:
    for one in told:
        if isinstance(one, dict):
            title = str(one.get("title") or "")
            yield WebResult(title=title, address=str(one.get("url") or title), snippet=str(one.get("snippet") or ""))
