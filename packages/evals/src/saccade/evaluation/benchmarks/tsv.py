"""VLMEvalKit's TSV as a stream: rows without their pictures, and where in the file each picture lies.

A field of a picture is base64, the text of a Python list of base64, or the index of another row, earlier or later,
whose pictures it shares. Files reach gigabytes: no picture is held, and the file is read once, with its MD5.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from saccade.errors import UserError
from saccade.plain_files import open_plain

MAX_REFERENCE_CHARACTERS = 64
"""A picture field of so many characters or fewer names another row."""
MAX_RECORD_BYTES = 256 << 20
"""A row of more is refused before it is held: the largest of published files have a document's pages, 100 MB or so."""
IMAGE_COLUMN = "image"
_READ_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class FileSpan:
    """Base64 text in a file."""

    start: int
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TsvRow:
    """A row of the file."""

    line: int
    """1-based line of the file on which the row begins."""
    fields: Mapping[str, str]
    """Columns that are not empty, but for ``image``."""
    spans: tuple[FileSpan, ...]
    """Its pictures; empty where it has none, or names another row."""
    same_as: str = ""
    """The index of the row whose pictures it shares."""


class TsvFile:
    """The rows of a TSV; ``md5`` is that of the whole file once all rows were read."""

    def __init__(self, path: Path, *, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self.path = path
        self._max_record_bytes = max_record_bytes
        self._digest = hashlib.md5(usedforsecurity=False)
        self.header: tuple[str, ...] = ()

    @property
    def md5(self) -> str:
        return self._digest.hexdigest()

    def rows(self) -> Iterator[TsvRow]:
        """One after another; ``UserError`` names line and column of what is wrong."""
        try:
            with open_plain(self.path, buffer_bytes=_READ_BYTES) as file:
                yield from self._rows(file)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror})") from error

    def _rows(self, file: BinaryIO) -> Iterator[TsvRow]:
        records = _Records(file, self._digest.update, self.path, self._max_record_bytes)
        first = next(records, None)
        if first is None:
            raise UserError(f"{self.path}: the file is empty")
        self.header = tuple(_text(first, *span) for span in first.fields)
        twice = {name for name in self.header if self.header.count(name) > 1}
        if "index" not in self.header or twice:
            raise UserError(
                f"{self.path}: the first line must name each column once, index among them, between tabs; it says "
                f"{', '.join(self.header)[:200]}"
            )
        for record in records:
            if record.raw.strip():
                yield self._row(record)

    def _row(self, record: "_Record") -> TsvRow:
        if len(record.fields) != len(self.header):
            raise UserError(
                f"{self.path}, line {record.line}: {len(record.fields)} columns where the first line names "
                f"{len(self.header)}; the file is cut off or damaged"
            )
        fields: dict[str, str] = {}
        spans: tuple[FileSpan, ...] = ()
        same_as = ""
        for name, (start, end) in zip(self.header, record.fields):
            if name == IMAGE_COLUMN:
                if end - start <= MAX_REFERENCE_CHARACTERS:
                    same_as = _text(record, start, end)
                else:
                    spans = _spans(record, start, end, self.path)
            elif text := _text(record, start, end, self.path, name):
                fields[name] = text
        return TsvRow(line=record.line, fields=fields, spans=spans, same_as=same_as)


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    offset: int
    raw: bytes
    fields: tuple[tuple[int, int], ...]


class _Records:
    """Records of a TSV with quoted fields as the csv module writes them; a quoted field may hold line ends."""

    def __init__(self, file: BinaryIO, seen: Callable[[bytes], None], path: Path, most_bytes: int) -> None:
        self._file = file
        self._seen = seen
        self._path = path
        self._most_bytes = most_bytes
        self._offset = 0
        self._line = 1

    def __iter__(self) -> "_Records":
        return self

    def __next__(self) -> _Record:
        raw: bytes | bytearray = self._next_line(0)
        if not raw:
            raise StopIteration
        lines = 1
        fields: list[tuple[int, int]] = []
        place = 0
        while True:
            if raw[place : place + 1] == b'"':
                end = place + 1
                while (closing := _closing(raw, end)) < 0:
                    more = self._next_line(len(raw))
                    if not more:
                        raise UserError(
                            f"{self._path}, line {self._line}: a quoted field of column {len(fields) + 1} never ends"
                        )
                    lines += 1
                    # Neither copied nor searched again for each line: a field may have very many.
                    raw, end = raw if isinstance(raw, bytearray) else bytearray(raw), len(raw)
                    raw += more
                end = closing
                fields.append((place + 1, end))
                place = end + 1
                stop = raw.find(b"\t", place)
            else:
                stop = raw.find(b"\t", place)
                fields.append((place, stop if stop >= 0 else _end_of_line(raw)))
            if stop < 0:
                break
            place = stop + 1
        record = _Record(self._line, self._offset, bytes(raw), tuple(fields))
        self._line += lines
        self._offset += len(raw)
        return record

    def _next_line(self, held: int) -> bytes:
        """The next line, nothing at the file's end; UserError where its record grows too large."""
        most = self._most_bytes - held
        line = self._file.readline(most + 1)
        if len(line) > most:
            raise UserError(
                f"{self._path}, line {self._line}: the row has more than {self._most_bytes:,} bytes, more than any "
                "row of a published file"
            )
        self._seen(line)
        return line


def _closing(raw: bytes | bytearray, place: int) -> int:
    """Where the quote that ends the field stands; -1 where it is not in these lines. Two quotes are one in the text."""
    while (place := raw.find(b'"', place)) >= 0:
        if raw[place + 1 : place + 2] != b'"':
            return place
        place += 2
    return -1


def _end_of_line(raw: bytes | bytearray) -> int:
    return len(raw) - (2 if raw.endswith(b"\r\n") else 1 if raw.endswith(b"\n") else 0)


def _text(record: _Record, start: int, end: int, path: Path | None = None, name: str = "") -> str:
    try:
        text = record.raw[start:end].decode("utf-8-sig" if record.offset == 0 else "utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}, line {record.line}, column {name!r}: is no UTF-8 text ({error.reason})") from error
    quoted = start > 0 and record.raw[start - 1 : start] == b'"'
    return text.replace('""', '"') if quoted else text


def _spans(record: _Record, start: int, end: int, path: Path) -> tuple[FileSpan, ...]:
    """One span, or those of the items of a list such as ``['..', '..']``, in a quoted field also ``[""..""]``."""
    if record.raw[start : start + 1] != b"[":
        return (FileSpan(record.offset + start, end - start),)
    spans: list[FileSpan] = []
    place = start + 1
    while True:
        opening = next((at for at in range(place, min(place + 4, end)) if record.raw[at] in b"'\""), -1)
        mark = record.raw[opening : opening + (2 if record.raw[opening : opening + 2] == b'""' else 1)]
        closing = record.raw.find(mark, opening + len(mark), end) if opening >= 0 else -1
        if closing < 0:
            if spans and record.raw[place:end].strip() == b"]":
                return tuple(spans)
            raise UserError(f"{path}, line {record.line}, column 'image': the list of pictures is damaged")
        spans.append(FileSpan(record.offset + opening + len(mark), closing - opening - len(mark)))
        place = closing + len(mark)
