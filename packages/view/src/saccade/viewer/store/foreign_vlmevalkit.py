"""VLMEvalKit's predictions, ``MODEL_DATASET.xlsx``, ``.tsv`` or ``.json``, before and after a judge has read them.

Its checkpoints (``*.pkl``) are pickles, which can run code: they are never opened, and a note says so.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from saccade.errors import UserError
from saccade.plain_files import open_plain, open_plain_text
from saccade.runs.position import Position
from saccade.runs.segments import RecordPlace, Rows
from saccade.types import Attempt
from saccade.viewer.store.foreign_lines import Fields, LineKind, as_number, foreign_row, list_pictures, text_of
from saccade.viewer.store.formats import Indexed, RecordFormat
from saccade.viewer.store.message_reading import ForeignMessage, completion_from, messages_from
from saccade.viewer.store.messages import Told, attempt_of
from saccade.viewer.store.shelf import Shelf
from saccade.viewer.store.xlsx_rows import BROKEN, MAX_ROWS, xlsx_header, xlsx_rows

MAX_CELL = 64 << 20
_FAILED = "Failed to obtain answer via API."
_NEEDED = frozenset({"index", "question", "prediction"})
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SCORES = ("hit", "score", "acc", "accuracy")
_PICTURES = ("image", "image_path")
_WORDS = "VLMEvalKit leaves pictures out of its predictions, or names them by paths outside of the file's folder."


def _name(path: Path) -> str:
    return path.stem[:80]


def _is_prediction(value: Fields) -> bool:
    return set(value) >= _NEEDED


def _attempt(value: Fields, shelf: Shelf, _number: int) -> Attempt:
    asked = text_of(value.get("question"))
    choices = [f"{letter}. {value[letter]}" for letter in _LETTERS if value.get(letter) not in (None, "")]
    listed = next((list_pictures(value[name]) for name in _PICTURES if value.get(name)), [])
    prompt = messages_from("\n".join([asked, *choices]), shelf, listed)
    reply = text_of(value.get("prediction"))
    is_failed = _FAILED in reply
    scores = {name: one for name in _SCORES if (one := _number_of(value.get(name))) is not None}
    hit = scores.get("hit")
    log = text_of(value.get("log"))
    told = Told(
        task=text_of(value.get("index"))[:400],
        family=text_of(value.get("category"))[:100] or "vlmevalkit",
        question=prompt[0].text,
        expected=text_of(value.get("answer")),
        rewards=scores,
        is_right=None if is_failed or hit not in (0.0, 1.0) else hit == 1.0,
        status="failed" if is_failed else "answered",
        failure=reply[:1000] if is_failed else "",
    )
    judged = [ForeignMessage(role="judge", text=log)] if log else []
    return attempt_of([*prompt, *completion_from(reply, shelf), *judged], told)


def _number_of(value: object) -> float | None:
    """A number, also as the text of a cell."""
    if isinstance(value, str):
        try:
            return as_number(float(value))
        except ValueError:
            return None
    return as_number(value) if isinstance(value, int | float) else None


def _rows(path: Path) -> Iterator[Mapping[str, str]]:
    if path.suffix == ".xlsx":
        yield from xlsx_rows(path)
        return
    # Cells hold whole pictures in some sets. The limit is one of the process.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    with open_plain_text(path, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", strict=True):
            yield {name: text for name, text in row.items() if isinstance(name, str) and text}


@lru_cache(maxsize=1)
def _kept_rows(path: Path, _size: int, _changed_ns: int) -> tuple[Mapping[str, str], ...]:
    return tuple(_rows(path))


def _index(path: Path, pictures: Path) -> Indexed:
    shelf = Shelf(folder=pictures, root=path.parent, is_quick=True)
    rows: Rows = []
    notes: list[str] = []
    samples: dict[str, int] = {}
    if not is_vlmevalkit(path):
        raise UserError(f"{path.name} is no table of VLMEvalKit: it has no columns index, question and prediction")
    try:
        for number, row in enumerate(_rows(path)):
            if number >= MAX_ROWS:
                raise ValueError(f"more than {MAX_ROWS:,} rows")
            shelf.begin()
            place = RecordPlace(offset=number, length=1, head=1, task_offset=number, task_length=1)
            attempt = _attempt(row, shelf, 0)
            # A question that stands there several times has several samples.
            sample = samples[attempt.task.id] = samples.get(attempt.task.id, -1) + 1
            rows.append((place, replace(foreign_row(attempt), sample=sample)))
    except (*BROKEN, csv.Error) as error:
        if not rows:
            raise UserError(f"{path.name} is no table of VLMEvalKit that can be read: {str(error)[:200]}") from error
        notes.append(f"{path.name}: nothing after row {len(rows)} is read: {str(error)[:200]}")
    if pickles := sorted(one.name for one in path.parent.glob("*.pkl")):
        names = ", ".join(pickles[:3])[:200]
        notes.append(f"{path.name}: {len(pickles)} *.pkl beside it not opened, since a pickle can run code: {names}")
    position = Position(stage=_name(path), step=0)
    return Indexed(rows=rows, position=position, notes=(*shelf.notes(path.name), *notes))


def _open(path: Path, place: RecordPlace, pictures: Path) -> Attempt:
    try:
        told = path.stat()
        row = _kept_rows(path, told.st_size, told.st_mtime_ns)[place.offset]
        return _attempt(row, Shelf(folder=pictures, root=path.parent), 0)
    except (*BROKEN, csv.Error) as error:
        raise UserError(f"{path.name}: row {place.offset} cannot be read: {str(error)[:200]}") from error


VLMEVALKIT_TABLE = RecordFormat(name="vlmevalkit", index=_index, open=_open, words=_WORDS)
VLMEVALKIT_LIST = LineKind(name="vlmevalkit", stage=_name, is_one=_is_prediction, to_attempt=_attempt, words=_WORDS)


def is_vlmevalkit(path: Path) -> bool:
    """By the header of the table."""
    if path.suffix not in (".xlsx", ".tsv"):
        return False
    try:
        with open_plain(path) as file:
            head = file.readline(1 << 20)
        if path.suffix == ".tsv":
            return {name.strip(' "\r\n') for name in head.decode("utf-8", "replace").split("\t")} >= _NEEDED
        return xlsx_header(path) >= _NEEDED
    except BROKEN:
        return False
