"""JSON lines of other programs, or a JSON list of records: how a kind of them is known, indexed and opened again.

Each kind is a ``LineKind`` in a module of its own.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.index_rows import index_row
from saccade.plain_files import open_plain, plain_bytes
from saccade.runs.position import Position
from saccade.runs.record_lines import TokenCounts
from saccade.runs.segments import MAX_LINE_BYTES, IndexRow, RecordPlace, Rows
from saccade.types import Attempt, Json
from saccade.viewer.store.formats import Indexed, RecordFormat
from saccade.viewer.store.shelf import Shelf

Fields = Mapping[str, Json]
Records = Iterator[tuple[int, int, Fields | str]]
"""Offset, length and object of each record, or why it is none."""

MAX_LIST_BYTES = 256 << 20
"""Of a file that is one JSON list."""
MAX_OF_RECORD = 10_000
"""Trajectories of one record."""
_MAX_NOTES = 100
_FIRST_BYTES = 8 << 20
_SUFFIXES = frozenset({".jsonl", ".json", ".ndjson"})
_NO_TOKENS = TokenCounts(total=0, actions=0, entropy=None)


def foreign_row(attempt: Attempt) -> IndexRow:
    """Right is only what the file says: there is no rule for foreign answers."""
    score = attempt.trajectory.score
    return replace(index_row(attempt, _NO_TOKENS), is_right=None if score is None else score.is_right)


def records_in(path: Path) -> Records:
    """The records of a file of lines, or of one that is a JSON list."""
    with open_plain(path) as file:
        if file.read(64).lstrip()[:1] == b"[":
            yield from _listed(plain_bytes(path, MAX_LIST_BYTES))
            return
        file.seek(0)
        offset = 0
        while line := file.readline(MAX_LINE_BYTES):
            if not line.endswith(b"\n") and len(line) == MAX_LINE_BYTES:
                yield offset, len(line), f"a line of more than {MAX_LINE_BYTES >> 20} MiB, and nothing after it is read"
                return
            if line.strip():
                yield offset, len(line), object_of(line)
            offset += len(line)


def _listed(raw: bytes) -> Records:
    """The entries of a JSON list."""
    # A byte is a character here, so that places in the text are places in the file.
    text, decoder = raw.decode("latin-1"), json.JSONDecoder()
    place = text.index("[") + 1
    while True:
        while text[place : place + 1] in (" ", "\t", "\r", "\n", ","):
            place += 1
        if text[place : place + 1] in ("]", ""):
            return
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            yield place, 1, f"no JSON ({str(error)[:100]}), and nothing after it is read"
            return
        yield place, end - place, object_of(raw[place:end])
        place = end


def object_of(raw: bytes) -> Fields | str:
    """The JSON object that a record is, or why it is none."""
    if len(raw) > MAX_LINE_BYTES:
        return f"a record of more than {MAX_LINE_BYTES >> 20} MiB"
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return f"no JSON ({str(error)[:100]})"
    return value if isinstance(value, dict) else "no JSON object"


def one(_value: Fields) -> int:
    return 1


@dataclass(frozen=True, kw_only=True, slots=True)
class LineKind:
    """A kind of such files. All functions are of modules: an index may be made in another process."""

    name: str
    stage: str | Callable[[Path], str]
    """By the file's name, where it names a benchmark and no step."""
    is_one: Callable[[Fields], bool]
    """Whether a record is of this kind, by its keys and the first characters of its texts."""
    to_attempt: Callable[[Fields, Shelf, int], Attempt]
    """Of a record, where its pictures go, and a number below ``count``. ValueError for one that cannot be read."""
    count: Callable[[Fields], int] = one
    """Trajectories of a record."""
    records: Callable[[Path], Records] = records_in
    read: Callable[[bytes], Fields | str] = object_of
    words: str = ""

    @property
    def format(self) -> RecordFormat:
        return RecordFormat(name=self.name, index=self.index, open=self.open, first=self.index, words=self.words)

    def is_file(self, path: Path) -> bool:
        """By its first record."""
        first = first_record(path)
        return first is not None and self.is_one(first)

    def index(self, path: Path, pictures: Path, limit_s: float = math.inf) -> Indexed:
        """The rows of a file, as many as there are after ``limit_s``, with a note for every record that is left out."""
        until_s = time.monotonic() + limit_s
        shelf = Shelf(folder=pictures, root=path.parent, is_quick=True)
        rows: Rows = []
        notes: list[str] = []
        samples: dict[tuple[str, str], int] = {}
        step, left_out = 0, 0
        try:
            for number, (offset, length, value) in enumerate(self.records(path), start=1):
                found = value if isinstance(value, str) else self._attempts(value, shelf)
                if isinstance(found, str) or isinstance(value, str):
                    left_out += 1
                    if len(notes) < _MAX_NOTES:
                        notes.append(f"{path.name}:{number}: {found}; the record is left out")
                    continue
                step = step_of(value) or step
                for place, attempt in enumerate(found):
                    key = (attempt.task.id, attempt.trajectory.stream)
                    samples[key] = samples.get(key, -1) + 1
                    rows.append((_place(offset, length, place), replace(foreign_row(attempt), sample=samples[key])))
                if time.monotonic() > until_s:
                    break
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from error
        if left_out:
            notes.insert(0, f"{path.name}: {left_out} of {number} records are left out")
        if isinstance(self.stage, str):
            digits = "".join(filter(str.isdigit, path.stem))[:8]
            position = Position(stage=self.stage, step=step or int(digits or 0))
        else:
            position = Position(stage=self.stage(path), step=step)
        return Indexed(rows=rows, position=position, notes=(*shelf.notes(path.name), *notes))

    def _attempts(self, value: Fields, shelf: Shelf) -> list[Attempt] | str:
        if not self.is_one(value):
            return f"no record of {self.name}"
        attempts = []
        try:
            for number in range(min(self.count(value), MAX_OF_RECORD)):
                shelf.begin()
                attempts.append(self.to_attempt(value, shelf, number))
        except (ValueError, RecursionError) as error:
            return str(error)[:300]
        return attempts

    def open(self, path: Path, place: RecordPlace, pictures: Path) -> Attempt:
        """One trajectory of such a file. UserError where there is none."""
        try:
            with open_plain(path) as file:
                size, end = os.fstat(file.fileno()).st_size, place.offset + place.length
                if not (place.offset >= 0 and 0 < place.length <= MAX_LINE_BYTES and end <= size):
                    raise UserError(f"{path.name}: no record stands at byte {place.offset}")
                value = self.read(os.pread(file.fileno(), place.length, place.offset))
        except OSError as error:
            raise UserError(f"{path.name} cannot be read: {error.strerror}") from error
        number = 0 if place.task_length == place.length else place.task_offset
        if isinstance(value, str):
            raise UserError(f"{path.name}: the record at byte {place.offset} is damaged: {value}")
        try:
            if not 0 <= number < self.count(value):
                raise ValueError(f"it has no trajectory {number}")
            return self.to_attempt(value, Shelf(folder=pictures, root=path.parent), number)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path.name}: the record at byte {place.offset}: {str(error)[:300]}") from error


def _place(offset: int, length: int, number: int) -> RecordPlace:
    """Of further trajectories of a record the task's offset is their number, and its length that of no record."""
    if number:
        return RecordPlace(offset=offset, length=length, head=length, task_offset=number, task_length=1)
    return RecordPlace(offset=offset, length=length, head=length, task_offset=offset, task_length=length)


def step_of(value: Fields) -> int:
    """The step that a record names, or the run of it (prime-rl's ``run.work.step``); 0 where there is none."""
    run = value.get("run")
    work = run.get("work") if isinstance(run, Mapping) else None
    told = value.get("step", work.get("step") if isinstance(work, Mapping) else None)
    return told if isinstance(told, int) and 0 <= told < 1 << 27 else 0


def first_record(path: Path) -> Fields | None:
    """The first record of a file with its lists and texts cut short; None where it is no JSON object."""
    try:
        told = path.stat()
        return _first_record(path, told.st_size, told.st_mtime_ns) if path.suffix in _SUFFIXES else None
    except OSError:
        return None


@lru_cache(maxsize=512)
def _first_record(path: Path, _size: int, _changed_ns: int) -> Fields | None:
    with open_plain(path) as file:
        raw = file.readline(_FIRST_BYTES)
        if raw.lstrip()[:1] == b"[":
            raw += file.read(_FIRST_BYTES)
            value = next((value for _, _, value in _listed(raw)), "")
        else:
            value = object_of(raw)
    return None if isinstance(value, str) else {name: _shortened(one, 0) for name, one in value.items()}


def _shortened(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return value[:200]
    if depth > 3:
        return None
    if isinstance(value, Mapping):
        return {name: _shortened(one, depth + 1) for name, one in list(value.items())[:100]}
    return [_shortened(one, depth + 1) for one in value[:3]] if isinstance(value, list | tuple) else value


def as_number(value: Json) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:
        return None


def numbers_of(value: Json) -> dict[str, float]:
    """The entries of a mapping that are numbers: rewards by name."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {str(name)[:100]: number for name, one in pairs if (number := as_number(one)) is not None}


def list_pictures(value: Json) -> list[Json]:
    """The pictures of a field that holds one or several."""
    return value if isinstance(value, list) else [] if value is None else [value]


def digest(text: str) -> str:
    """Identity of a question that has no id: its words."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def text_of(value: Json) -> str:
    """A value as a text: the first of several texts, JSON of what is none."""
    if isinstance(value, list) and value and isinstance(value[0], str):
        return str(value[0])
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, default=str)[:20_000] if value else ""
    return "" if value is None else str(value)
