"""``.eval`` files of inspect: a zip of samples with messages, scores, and attachments in place of pictures."""

import json
import math
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.runs.position import Position
from saccade.runs.segments import RecordPlace, Rows
from saccade.types import Attempt, Json
from saccade.viewer.store.foreign_lines import Fields, as_number, foreign_row
from saccade.viewer.store.formats import Indexed, RecordFormat
from saccade.viewer.store.message_reading import messages_from
from saccade.viewer.store.messages import Told, attempt_of
from saccade.viewer.store.shelf import Shelf

MAX_SAMPLE_BYTES = 128 << 20
MAX_TOTAL_BYTES = 16 << 30
"""Of all samples as the directory says, which is more than a log that anyone looks at."""
MAX_SAMPLES = 200_000
_ATTACHMENT = "attachment://"
_HEADERS = ("header.json", "_journal/start.json")
_SCORES: Mapping[str, bool] = {"C": True, "I": False, "P": False, "N": False}
"""inspect's correct, incorrect, partial and no answer."""
_ZSTANDARD = 93
"""The compression's number in a zip."""
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_BROKEN = (
    pa.ArrowException,
    struct.error,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    RecursionError,
    NotImplementedError,
    EOFError,
    KeyError,
)


def _names(file: zipfile.ZipFile) -> list[str]:
    names = [one.filename for one in file.infolist() if one.filename.startswith("samples/")]
    return sorted(name for name in names if name.endswith(".json"))[:MAX_SAMPLES]


def _sample(file: zipfile.ZipFile, name: str) -> Fields:
    """ValueError for one that is too large or no object."""
    size = file.getinfo(name).file_size
    if size > MAX_SAMPLE_BYTES:
        raise ValueError(f"{name[:100]} has more than {MAX_SAMPLE_BYTES >> 20} MiB")
    # What the directory of the zip says of a size need not be so.
    with _member(file, file.getinfo(name)) as member:
        raw = member.read(size + 1)
    if len(raw) > size:
        raise ValueError(f"{name[:100]} has more than the {size} bytes that it says")
    value = json.loads(raw)
    if not isinstance(value, dict):
        raise ValueError(f"{name[:100]} holds no JSON object")
    return value


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _member(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> AbstractContextManager[_Readable]:
    """A member as a stream, also one packed with Zstandard, as inspect does and Python's zipfile cannot read."""
    if info.compress_type != _ZSTANDARD:
        return file.open(info)
    if file.fp is None or info.compress_size > MAX_SAMPLE_BYTES:
        raise ValueError(f"{info.filename[:100]} cannot be unpacked")
    file.fp.seek(info.header_offset)
    header = file.fp.read(_LOCAL_HEADER.size)
    *_, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    file.fp.seek(name_bytes + extra_bytes, 1)
    packed = file.fp.read(info.compress_size)
    stream: AbstractContextManager[_Readable] = pa.CompressedInputStream(pa.BufferReader(packed), "zstd")
    return stream


def _index(path: Path, pictures: Path, limit_s: float = math.inf) -> Indexed:
    until_s = time.monotonic() + limit_s
    rows: Rows = []
    notes: list[str] = []
    shelf = Shelf(folder=pictures, root=path.parent, is_quick=True)
    try:
        with open_plain(path) as opened, zipfile.ZipFile(opened) as file:
            left = MAX_TOTAL_BYTES
            for number, name in enumerate(_names(file)):
                left -= file.getinfo(name).file_size
                if left < 0:
                    notes.append(f"{path.name}: nothing after {MAX_TOTAL_BYTES >> 30} GiB of samples is read")
                    break
                shelf.begin()
                try:
                    attempt = _attempt(_sample(file, name), shelf)
                except _BROKEN as error:
                    notes.append(f"{path.name}: {name[:100]}: {str(error)[:200]}; the sample is left out")
                    continue
                place = RecordPlace(offset=number, length=1, head=1, task_offset=number, task_length=1)
                rows.append((place, replace(foreign_row(attempt), sample=attempt.trajectory.sample)))
                if time.monotonic() > until_s:
                    break
            stage = _task_name(file) or path.stem[:80]
    except _BROKEN as error:
        raise UserError(f"{path.name} is no log of inspect that can be read: {str(error)[:200]}") from error
    return Indexed(rows=rows, position=Position(stage=stage, step=0), notes=(*shelf.notes(path.name), *notes))


def _task_name(file: zipfile.ZipFile) -> str:
    for name in _HEADERS:
        if name in file.namelist():
            told = _sample(file, name).get("eval")
            if isinstance(told, Mapping) and isinstance(told.get("task"), str):
                return str(told["task"])[:200]
    return ""


def _open(path: Path, place: RecordPlace, pictures: Path) -> Attempt:
    try:
        with open_plain(path) as opened, zipfile.ZipFile(opened) as file:
            names = _names(file)
            if not 0 <= place.offset < len(names):
                raise UserError(f"{path.name} has no sample {place.offset}")
            return _attempt(_sample(file, names[place.offset]), Shelf(folder=pictures, root=path.parent))
    except _BROKEN as error:
        raise UserError(f"{path.name}: the sample cannot be read: {str(error)[:200]}") from error


def _attempt(sample: Fields, shelf: Shelf) -> Attempt:
    attachments = sample.get("attachments")
    messages = messages_from(_with_attachments(sample.get("messages"), attachments, 0), shelf)
    if not messages:
        messages = messages_from(sample.get("input"), shelf)
    scores = sample.get("scores")
    values = {name: one.get("value") for name, one in _pairs(scores) if isinstance(one, Mapping)}
    numbers = {name: number for name, value in values.items() if (number := _number(value)) is not None}
    right = next((said for value in values.values() if (said := _is_right(value)) is not None), None)
    error, target = sample.get("error"), sample.get("target")
    told = Told(
        task=str(sample.get("id", ""))[:400],
        family="inspect",
        expected=", ".join(map(str, target)) if isinstance(target, list) else str(target or ""),
        sample=int(epoch) - 1 if isinstance(epoch := sample.get("epoch"), int) and 0 < epoch < 1 << 30 else 0,
        rewards=numbers,
        total=sum(numbers.values()) if numbers else None,
        is_right=right,
        status="failed" if error else "token_limit" if sample.get("limit") else "answered",
        failure=str(error.get("message", ""))[:2000] if isinstance(error, Mapping) else "",
    )
    return attempt_of(messages, told)


def _pairs(value: Json) -> Iterator[tuple[str, Json]]:
    yield from value.items() if isinstance(value, Mapping) else ()


def _number(value: Json) -> float | None:
    if isinstance(value, str):
        return float(_SCORES[value]) if value in _SCORES else None
    return as_number(value)


def _is_right(value: Json) -> bool | None:
    if isinstance(value, str):
        return _SCORES.get(value)
    number = as_number(value)
    return None if number not in (0.0, 1.0) else number == 1.0


def _with_attachments(value: Json, attachments: Json, depth: int) -> Json:
    """The value with what stands in the attachments in its place."""
    if depth > 40:
        return value
    if isinstance(value, str) and value.startswith(_ATTACHMENT) and isinstance(attachments, Mapping):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, Mapping):
        return {name: _with_attachments(one, attachments, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_attachments(one, attachments, depth + 1) for one in value]
    return value


INSPECT = RecordFormat(name="inspect", index=_index, open=_open, first=_index)


def is_inspect(path: Path) -> bool:
    """By what the zip holds: the log of a run that goes on has no samples yet."""
    try:
        with open_plain(path) as opened, zipfile.ZipFile(opened) as file:
            names = file.namelist()
    except _BROKEN:
        return False
    return any(name.startswith("samples/") or name in _HEADERS for name in names)
