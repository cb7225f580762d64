"""Questions on documents of many pages: SlideVQA, ViDoSeek, MMLongBench-Doc, OpenDocVQA, FetaTab and PaperTab.

Their tasks name a document or a corpus and, where the set knows them, the gold pages; ``saccade.retrieval`` brings the
images from an index of the documents. Page numbers are ours, from 1. Sets count so too, as far as they could be
checked: SlideVQA's README says 1 to 20; ViDoSeek's code names pictures of pages from 1 (``scripts/pdf2images.py``) and
compares by these names (``utils/overall_evaluator.py``), and its example's page 11 holds the answer; of 35 short
answers in 43 of MMLongBench-Doc's PDFs 28 stand on the page counted from 1 and 3 on the one counted from 0.
"""

import re
from collections.abc import Iterable, Sequence

from saccade.quantities import parse_integer
from saccade.tasks.datasets.dataset import Problem, RowReading
from saccade.tasks.rows.answers import answer_text
from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    listed,
    literal,
    mapping,
    optional_text,
    required_text,
    short,
)
from saccade.tasks.rows.pages import RowScope
from saccade.types import AnswerKind, Page

SINGLE, MULTIPLE, UNANSWERABLE = "single page", "multiple pages", "unanswerable"
"""Buckets by the number of gold pages."""

NOT_ANSWERABLE = "Not answerable"
"""MMLongBench-Doc's answer to questions that have none."""

SLIDES = 20
"""Of each of SlideVQA's decks."""

_SOURCES = {
    "table": "Table",
    "chart": "Chart",
    "plot": "Chart",
    "figure": "Figure",
    "photo": "Figure",
    "image": "Figure",
    "figure/photo/image": "Figure",
    "generalized-text (layout)": "Layout",
    "layout": "Layout",
    "pure-text (plain-text)": "Text",
    "plain-text": "Text",
    "pure-text": "Text",
    "text": "Text",
}
_KINDS: dict[str, AnswerKind] = {"Int": "integer", "Float": "number", "Str": "text", "List": "text", "None": "exact"}
_INSTRUCTION = re.compile(r".*Query: ", re.DOTALL)


def read_slidevqa(row: Row) -> Sequence[RowReading]:
    """``deck_name, qa_id, question, answer, evidence_pages`` (from 1), and ``page_1`` to ``page_20`` on the hub.

    The document is the deck: a folder of its slides in an index. Buckets: by pages, ``reasoning_type, answer_type``.
    """
    deck = required_text(row, "deck_name")
    gold = _pages(deck, _numbers(row.get("evidence_pages"), "evidence_pages", least=1))
    shown = slides_of(row)
    return [
        Problem(
            id=required_text(row, "qa_id"),
            question=required_text(row, "question"),
            answer=answer_text(row.get("answer"), "answer"),
            kind="text",
            images=tuple(shown.values()),
            images_key="page_1",
            scope=RowScope(corpus="slidevqa", document=deck, gold_pages=gold, shown_pages=_pages(deck, shown)),
            buckets=(by_pages(gold), *_texts_under(row, "reasoning_type", "answer_type")),
        )
    ]


def slides_of(row: Row) -> dict[int, RowValue]:
    """The slides that a row of SlideVQA on the hub holds, by their number."""
    numbers = range(1, SLIDES + 1)
    return {number: slide for number in numbers if (slide := row.get(f"page_{number}")) is not None}


def read_vidoseek(row: Row) -> Sequence[RowReading]:
    """``uid, query, reference_answer, meta_info: file_name, reference_page (from 1), source_type, query_type``.

    Asked of the whole corpus, as the set is made. Buckets: by pages, ``query_type, source_type``.
    """
    about = mapping(row.get("meta_info"), "meta_info")
    name = required_text(about, "file_name")
    gold = _pages(name, _numbers(about.get("reference_page"), "meta_info.reference_page", least=1))
    return [
        Problem(
            id=required_text(row, "uid"),
            question=required_text(row, "query"),
            answer=answer_text(row.get("reference_answer"), "reference_answer"),
            answer_key="reference_answer",
            kind="text",
            images=(),
            scope=RowScope(corpus="vidoseek", gold_pages=gold),
            buckets=(by_pages(gold), *_texts_under(about, "query_type", "source_type")),
        )
    ]


def read_mmlongbench(row: Row) -> Sequence[RowReading]:
    """``doc_id, question, answer, answer_format``, ``evidence_pages`` (from 1) and ``evidence_sources`` as literals.

    Three rows say page 0, where the first page is meant. Buckets: by pages, as the set's script has it, where
    questions without an answer stand apart from all others; else the sources of the evidence.
    """
    name, answer = required_text(row, "doc_id"), answer_text(row.get("answer"), "answer")
    kind = _KINDS.get(required_text(row, "answer_format"))
    if kind is None:
        raise RowError("answer_format", f"{short(row.get('answer_format'))} is none of {', '.join(_KINDS)}")
    if kind == "integer" and parse_integer(answer) is None:
        # Three of its whole numbers are none: a time, a yes, a name.
        kind = "text"
    numbers = [max(number, 1) for number in _numbers(row.get("evidence_pages"), "evidence_pages", least=0)]
    gold = _pages(name, numbers) or None
    buckets = (SINGLE if len(numbers) == 1 else MULTIPLE, *evidence_sources(row.get("evidence_sources")))
    if answer == NOT_ANSWERABLE:
        gold, buckets, kind = (), (UNANSWERABLE,), "exact"
    return [
        Problem(
            question=required_text(row, "question"),
            answer=answer,
            kind=kind,
            tolerance=0.01 if kind == "number" else 0.0,
            accepted=(answer, "Unanswerable") if answer == NOT_ANSWERABLE else (),
            images=(),
            scope=RowScope(corpus="mmlongbench-doc", document=name, gold_pages=gold),
            buckets=buckets,
        )
    ]


def read_opendocvqa(row: Row) -> Sequence[RowReading]:
    """``query_id, query`` (with an instruction before "Query: "), ``answers, relevant_doc_ids``.

    Each ``doc_id`` of the corpus is a page: a document of one in an index.
    """
    answers = [answer_text(answer, "answers") for answer in listed(row.get("answers"), "answers")]
    if not answers:
        raise RowError("answers", "there is no answer")
    names = [_name(one, "relevant_doc_ids") for one in listed(row.get("relevant_doc_ids"), "relevant_doc_ids")]
    gold = tuple(Page(document=name, number=1) for name in dict.fromkeys(names))
    return [
        Problem(
            id=required_text(row, "query_id"),
            question=_INSTRUCTION.sub("", required_text(row, "query")).strip(),
            answer=answers[0],
            answer_key="answers",
            kind="text",
            accepted=tuple(dict.fromkeys(answers)),
            images=(),
            scope=RowScope(corpus="opendocvqa", gold_pages=gold),
            buckets=(by_pages(gold),),
        )
    ]


def read_table_question(row: Row) -> Sequence[RowReading]:
    """UDA-QA's ``doc_name, q_uid, question`` and ``answer`` (FetaTab) or ``answer_1`` to ``answer_3`` (PaperTab).

    The document is ``doc_name`` as a PDF; on which pages the answer stands is not published.
    """
    keys = [key for key in ("answer", "answer_1", "answer_2", "answer_3") if optional_text(row, key)]
    answers = [answer_text(row[key], key) for key in keys]
    if not answers:
        raise RowError("answer", "there is no answer")
    return [
        Problem(
            id=required_text(row, "q_uid"),
            question=required_text(row, "question"),
            answer=answers[0],
            answer_key=keys[0],
            kind="text",
            accepted=tuple(dict.fromkeys(answers)) if len(answers) > 1 else (),
            images=(),
            scope=RowScope(corpus="uda-qa", document=f"{required_text(row, 'doc_name')}.pdf"),
            buckets=("yes or no" if answers[0].casefold() in ("yes", "no") else "in words",),
        )
    ]


def by_pages(gold: Sequence[Page]) -> str:
    """The bucket of a question with so many gold pages; one without any cannot be answered from them."""
    return (UNANSWERABLE, SINGLE, MULTIPLE)[min(len(gold), 2)]


def evidence_sources(value: RowValue) -> tuple[str, ...]:
    """Table, Chart, Figure, Layout, Text: what the evidence is, each once; other words are left out."""
    words = (str(word).strip().casefold() for word in _literals(value, "evidence_sources"))
    return tuple(dict.fromkeys(_SOURCES[word] for word in words if word in _SOURCES))


def _texts_under(row: Row, *keys: str) -> Iterable[str]:
    return (text for key in keys if (text := optional_text(row, key)))


def _pages(document: str, numbers: Iterable[int]) -> tuple[Page, ...]:
    return tuple(Page(document=document, number=number) for number in dict.fromkeys(numbers))


def _numbers(value: RowValue, key: str, *, least: int) -> list[int]:
    numbers = []
    for one in _literals(value, key):
        if isinstance(one, bool) or not isinstance(one, int) or one < least:
            raise RowError(key, f"{short(one)} is no number of a page; they are whole and count from {least}")
        numbers.append(one)
    return numbers


def _literals(value: RowValue, key: str) -> list[RowValue]:
    return listed(literal(value, key), key)


def _name(value: RowValue, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise RowError(key, f"{short(value)} names no document")
    return str(value).strip()
