"""Segments of the index as they are read: checked, since anyone may have written them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.plain_files import check_plain
from saccade.runs.position import Position
from saccade.runs.segments import MAX_TERMS, TERM_PREFIX, VERSION, Kind, RecordPlace, SegmentInfo
from saccade.types import Json

_MAX_SEGMENT_BYTES = 2 << 30
_MAGIC = b"ARROW1\0\0"
_NUMBERS = ("sample", "turns", "tokens", "action_tokens", "right", "reward", "advantage", "entropy", "task_key")
_CODED = ("family", "stream", "status", "reason", "tools", "errors")
_TEXTS = ("task", "question", "expected", "answer", "image")
_PLACES = ("offset", "length", "head", "task_offset", "task_length")
MAX_ROWS = 1 << 24
MAX_WORDS = 4096
"""Different words in one column of a segment."""


class BadSegmentError(Exception):
    """The file is no segment, or not one of this version."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedSegment:
    """The columns that lists are filtered by, in memory."""

    count: int
    info: SegmentInfo
    numbers: Mapping[str, NDArray[np.number]]
    terms: Mapping[str, NDArray[np.number]]
    """By ``term.NAME``; they are among ``numbers`` too."""
    coded: Mapping[str, tuple[tuple[str, ...], NDArray[np.number]]]
    """Words of a column, and the code of each row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowTexts:
    """What a list shows of a row beside its numbers."""

    task: str
    question: str
    expected: str
    answer: str | None
    image: str | None


def load_segment(path: Path) -> LoadedSegment:
    """Raises BadSegmentError, and OSError where there is none."""
    try:
        with pa.memory_map(str(check_plain(path))) as source:
            table, info = _open_segment(source)
            numbers = {name: _numbers(table.column(name)) for name in _NUMBERS}
            terms = {
                f"term.{name.removeprefix(TERM_PREFIX)}": _numbers(table.column(name))
                for name in [name for name in table.column_names if name.startswith(TERM_PREFIX)][:MAX_TERMS]
            }
            coded = {name: _codes(table.column(name)) for name in _CODED}
            return LoadedSegment(
                count=table.num_rows, info=info, numbers={**numbers, **terms}, terms=terms, coded=coded
            )
    except (pa.ArrowException, KeyError, ValueError, BrokenRecordError, RecursionError) as error:
        raise BadSegmentError(f"{path.name} is no index: {str(error)[:200]}") from error


class SegmentTexts:
    """Texts and places of the rows of one segment, read while it is open."""

    def __init__(self, path: Path) -> None:
        """Raises BadSegmentError and OSError."""
        try:
            with pa.memory_map(str(check_plain(path))) as source:
                self._table, _ = _open_segment(source)
        except (pa.ArrowException, KeyError, ValueError, BrokenRecordError, RecursionError) as error:
            raise BadSegmentError(f"{path.name} is no index: {str(error)[:200]}") from error

    def texts(self, row: int) -> RowTexts:
        task, question, expected, answer, image = (self._table.column(name)[row].as_py() for name in _TEXTS)
        return RowTexts(task=task or "", question=question or "", expected=expected or "", answer=answer, image=image)

    def place(self, row: int) -> RecordPlace:
        offset, length, head, task_offset, task_length = (
            int(self._table.column(name)[row].as_py()) for name in _PLACES
        )
        return RecordPlace(offset=offset, length=length, head=head, task_offset=task_offset, task_length=task_length)

    def places(self) -> list[RecordPlace]:
        columns = [self._table.column(name).to_pylist() for name in _PLACES]
        return [
            RecordPlace(offset=offset, length=length, head=head, task_offset=task_offset, task_length=task_length)
            for offset, length, head, task_offset, task_length in zip(*columns)
        ]


def _open_segment(source: pa.NativeFile) -> tuple[pa.Table, SegmentInfo]:
    if source.size() > _MAX_SEGMENT_BYTES:
        raise ValueError(f"{source.size()} bytes are too many")
    whole = source.read_buffer()
    if whole.slice(0, len(_MAGIC)).to_pybytes() != _MAGIC:
        raise ValueError("it is no Arrow file")
    # A file is a stream between its marks. The reader of files hands each to a thread, and waits for it: of hundreds of
    # segments on a busy machine that is most of the time.
    table = pa.ipc.open_stream(whole.slice(len(_MAGIC))).read_all()
    if table.num_rows > MAX_ROWS:
        raise ValueError(f"{table.num_rows} rows are too many")
    told: Json = json.loads((table.schema.metadata or {}).get(b"saccade", b"null"))
    fields = Fields(told)
    if fields.whole("version") != VERSION:
        raise ValueError("another version")
    for name, kind in [(name, pa.string()) for name in _TEXTS] + [(name, pa.int64()) for name in _PLACES]:
        if table.schema.field(name).type != kind:
            raise ValueError(f"{name} is no column of {kind}")
    # Offsets and sizes of the columns, which a forged file may have wrong.
    table.validate(full=True)
    position = Position(stage=fields.text("stage"), step=max(0, min(fields.whole("step"), (1 << 27) - 1)))
    kinds: tuple[Kind, ...] = get_args(Kind)
    kind = fields.option("kind", kinds)
    return table, SegmentInfo(
        position=position, kind=kind, fingerprint=fields.text("fingerprint"), notes=fields.texts("notes")
    )


def _numbers(column: pa.ChunkedArray) -> NDArray[np.number]:
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise ValueError(f"a column of {column.type} with {column.null_count} gaps is not one of numbers")
    return _copy_numbers(column)


def _codes(column: pa.ChunkedArray) -> tuple[tuple[str, ...], NDArray[np.number]]:
    coded = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(coded.type) or coded.null_count:
        raise ValueError("a column of words has no codes")
    words = [str(word) for word in coded.dictionary.to_pylist()]
    if len(words) > MAX_WORDS:
        raise ValueError(f"{len(words)} words in a column are too many")
    return tuple(words), _copy_numbers(pa.chunked_array([coded.indices])).astype(np.int32)


def _copy_numbers(column: pa.ChunkedArray) -> NDArray[np.number]:
    """The numbers of a column without gaps, by its memory: ``to_numpy`` loads pandas, where there is one."""
    kind = column.type.to_pandas_dtype()
    pieces = [
        np.frombuffer(one.buffers()[1], kind, len(one), one.offset * kind().itemsize)
        for one in column.chunks
        if len(one)
    ]
    return np.concatenate([np.zeros(0, kind), *pieces])
