"""The test files that Lang2Act published: questions with the pages that were retrieved for them, and their pictures.

``top3_test.jsonl``  a question a line, with paths of the retrieved and of the gold pages
``images.parquet``   the pictures: ``uid, relpath, image``; a picture belongs to a question and a path
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.errors import UserError
from saccade.plain_files import check_plain
from saccade.tasks.datasets.dataset import Problem, RowReading
from saccade.tasks.datasets.documents import NOT_ANSWERABLE, UNANSWERABLE, by_pages, evidence_sources
from saccade.tasks.rows.answers import answer_text
from saccade.tasks.rows.fields import NumberedRow, Row, RowError, RowValue, listed, literal, mapping, optional_text
from saccade.tasks.rows.pages import RowScope
from saccade.tasks.rows.text_files import json_lines
from saccade.types import Page

PICTURES = "images.parquet"
_IMAGES_KEY = "top3_image_paths"
_RETRIEVED = (_IMAGES_KEY, "retrieved_image_paths")
_ID_KEYS = ("uid", "qa_id", "id")


def retrieved_rows(path: Path) -> Iterator[NumberedRow]:
    """The rows of the file, each with the pictures of its retrieved pages as ``images``, in their order.

    UserError without the file of pictures beside it.
    """
    pictures = _RetrievedPictures(path.parent / PICTURES)
    for numbered in json_lines(path):
        if isinstance(numbered.row, RowError):
            yield numbered
            continue
        try:
            found = pictures.of(optional_text(numbered.row, *_ID_KEYS) or "", _paths(numbered.row, *_RETRIEVED))
            yield NumberedRow(numbered.number, {**numbered.row, "images": found})
        except RowError as error:
            yield NumberedRow(numbered.number, error)


def read_lang2act(row: Row) -> Sequence[RowReading]:
    """``uid`` (or ``qa_id, id``), ``question`` (or ``query``), ``answer``, retrieved pages, ``gt_image_paths``.

    A page is known by its path: a document of one page. ``query_type`` and ``evidence_sources`` may stand in
    ``meta_info``. Buckets as in the release's own evaluation: by gold pages, hops of ViDoSeek's types, sources.
    """
    about = row.get("meta_info")
    meta = mapping(about, "meta_info") if about is not None else {}
    question, answer = optional_text(row, "question", "query"), answer_text(row.get("answer"), "answer")
    if not question:
        raise RowError("question", "is missing or empty")
    gold = _pages(_paths(row, "gt_image_paths") or _paths(meta, "gt_image_paths"))
    is_answerable = answer != NOT_ANSWERABLE
    sources = row.get("evidence_sources") if row.get("evidence_sources") is not None else meta.get("evidence_sources")
    hops = _hops(optional_text(row, "query_type") or optional_text(meta, "query_type") or "")
    by_gold = [by_pages(gold)] if gold else []
    return [
        Problem(
            id=optional_text(row, *_ID_KEYS),
            question=question,
            answer=answer,
            kind="text",
            images=tuple(listed(row.get("images"), "images")),
            images_key="images",
            scope=RowScope(
                corpus="lang2act",
                gold_pages=() if not is_answerable else gold or None,
                shown_pages=_pages(_paths(row, *_RETRIEVED)),
            ),
            buckets=(*by_gold, *hops, *evidence_sources(sources)) if is_answerable else (UNANSWERABLE,),
        )
    ]


class _RetrievedPictures:
    """Pictures of a parquet file by question and path; a group of rows is held at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: tuple[int, list[RowValue]] = (-1, [])
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        try:
            self._file = pq.ParquetFile(check_plain(path))
            for group in range(self._file.num_row_groups):
                names = self._file.read_row_group(group, columns=["uid", "relpath"]).to_pydict()
                for place, key in enumerate(zip(names["uid"], names["relpath"], strict=True)):
                    self._places[str(key[0]), str(key[1])] = group, place
        except (pa.ArrowException, OSError, KeyError) as error:
            raise UserError(f"{path}: the pictures of these questions cannot be read ({error})") from error

    def of(self, uid: str, paths: Sequence[str]) -> list[RowValue]:
        return [self._picture(uid, path) for path in paths]

    def _picture(self, uid: str, path: str) -> RowValue:
        if (uid, path) not in self._places:
            raise RowError(_IMAGES_KEY, f"{path[:80]!r} of the question {uid[:40]!r} is not in {self._path.name}")
        group, place = self._places[uid, path]
        if self._held[0] != group:
            self._held = group, self._file.read_row_group(group, columns=["image"])["image"].to_pylist()
        return self._held[1][place]


def _paths(row: Row, *keys: str) -> list[str]:
    for key in keys:
        if row.get(key):
            paths = listed(literal(row[key], key) if str(row[key]).startswith("[") else row[key], key)
            return [str(path) for path in paths]
    return []


def _pages(paths: Sequence[str]) -> tuple[Page, ...]:
    return tuple(Page(document=path, number=1) for path in dict.fromkeys(paths))


def _hops(query_type: str) -> list[str]:
    kinds = ("single", "multi")
    return [f"{kind}-hop" for kind in kinds if kind in query_type.casefold()][:1]
