"""Formats of files of records: how a file becomes rows of the index, and a row its trajectory again."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.runs.position import Position
from saccade.runs.segments import MAX_LINE_BYTES, RecordPlace, Rows
from saccade.runs.task_json import task_from_json
from saccade.runs.trajectory_json import trajectory_from_json
from saccade.types import Attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class Indexed:
    """The rows of a file."""

    rows: Rows
    position: Position
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordFormat:
    """One kind of file."""

    name: str
    index: Callable[[Path, Path], Indexed]
    """Of a file, with a folder for pictures that it holds. Raises UserError for a file that is none of its kind."""
    open: Callable[[Path, RecordPlace, Path], Attempt]
    """Raises UserError for a record that cannot be read."""
    first: Callable[[Path, Path, float], Indexed] | None = None
    """As ``index``, ended after so many seconds: what is shown of a large file while the rest is read."""
    words: str = ""
    """What is said of a trajectory without pictures: that files of this kind are stripped of them, say."""


def _index_records(path: Path, _pictures: Path) -> Indexed:
    # Only where an index is missing: with one, the first list needs neither pictures nor rules of answers.
    from saccade.evaluation.index_rows import scanned_rows
    from saccade.runs.record_lines import RecordScan

    scan = RecordScan(path=path)
    rows = scanned_rows(scan)
    return Indexed(rows=rows, position=Position(stage=scan.stage, step=scan.step), notes=tuple(scan.notes))


def _open_record(path: Path, place: RecordPlace, _pictures: Path) -> Attempt:
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            task = json.loads(_piece(file.fileno(), place.task_offset, place.task_length, size))
            line = json.loads(_piece(file.fileno(), place.offset, place.length, size))
        fields = Fields(line)
        trajectory = trajectory_from_json(line)
        advantages = fields.numbers("advantages") if fields.has("advantages") else None
        attempt = Attempt(task=task_from_json(task), trajectory=trajectory, advantages=advantages)
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError, BrokenRecordError) as error:
        raise UserError(f"{path.name}: the record at byte {place.offset} is damaged: {str(error)[:300]}") from error
    if attempt.task.id != trajectory.task_id:
        raise UserError(f"{path.name}: the record at byte {place.offset} is one of another task than the index says")
    return attempt


def _piece(descriptor: int, offset: int, length: int, size: int) -> bytes:
    """Bytes of a file, which a forged index could ask for in any number."""
    if not (offset >= 0 and 0 < length <= MAX_LINE_BYTES and offset + length <= size):
        raise ValueError(f"no record stands at {offset}, {length} bytes long, in a file of {size}")
    return os.pread(descriptor, length, offset)


RECORDS = RecordFormat(name="records", index=_index_records, open=_open_record)
