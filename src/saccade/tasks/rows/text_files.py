"""Rows of text files, read one at a time: JSON lines, CSV, and JSON with its rows in a list, under a key or by id."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TextIO, cast

from saccade.errors import UserError
from saccade.plain_files import MAX_WHOLE_BYTES, open_plain, open_plain_text, plain_lines, plain_text
from saccade.tasks.rows.fields import NumberedRow, Row, RowError

RowsOfFile = Callable[[Path], Iterator[NumberedRow]]

READ_CHARACTERS = 1 << 16

ID_KEY = "pid"
"""Under it a row that was found by its id has the id."""


def open_text_rows(path: Path) -> Iterator[NumberedRow]:
    """Rows of a ``.jsonl``, ``.json`` or ``.csv`` file; ``UserError`` when it cannot be opened."""
    read = {".jsonl": json_lines, ".json": json_array, ".csv": comma_separated}[path.suffix.lower()]
    try:
        open_plain(path).close()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    return read(path)


def json_lines(path: Path) -> Iterator[NumberedRow]:
    """One JSON object per line; empty lines are passed over but counted."""
    with open_plain(path) as file:
        for number, line in enumerate(plain_lines(file), start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield NumberedRow(number, _object_in(line))


def json_array(path: Path) -> Iterator[NumberedRow]:
    """The objects of one JSON array, or objects that simply follow each other; held one at a time.

    After a syntax error nothing more can be read: the last row given is the error.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    number, rest = 0, ""
    with open_plain_text(path, encoding="utf-8-sig") as file:
        while True:
            number += 1
            try:
                rest = _skip_separators(rest, file, is_start=number == 1)
                if not rest:
                    return
                value, rest = _decode_next(decoder, rest, file)
            except (ValueError, RecursionError) as error:
                yield NumberedRow(number, _broken(error))
                return
            yield NumberedRow(number, _as_row(value))


def comma_separated(path: Path, delimiter: str = ",") -> Iterator[NumberedRow]:
    """Rows of a CSV file whose first line names the columns; numbered by line, empty cells left out."""
    with open_plain_text(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(plain_lines(file), restkey="", delimiter=delimiter)
        while True:
            try:
                cells = next(reader, None)
            except (csv.Error, UnicodeDecodeError) as error:
                why = f"is not CSV ({error}); nothing after it can be read"
                yield NumberedRow(reader.line_num + 1, RowError("", why))
                return
            if cells is None:
                return
            if "" in cells:
                yield NumberedRow(reader.line_num, RowError("", "has more cells than the first line has columns"))
            else:
                yield NumberedRow(reader.line_num, {key: cell for key, cell in cells.items() if cell})


def rows_under(key: str) -> RowsOfFile:
    """The objects of the list under a key of the file's object, or of the file's own list.

    What stands beside the list is passed over.
    """

    def rows(path: Path) -> Iterator[NumberedRow]:
        with open_plain_text(path, encoding="utf-8-sig") as file:
            reader = _JsonReader(file)
            number = 0
            try:
                if _goes_to_list(reader, key):
                    for value in reader.items():
                        number += 1
                        yield NumberedRow(number, _as_row(value))
                    return
            except (ValueError, RecursionError) as error:
                yield NumberedRow(number + 1, _broken(error))
                return
            yield NumberedRow(1, RowError(key, "is missing in the file, or no list"))

    return rows


def rows_by_id(path: Path) -> Iterator[NumberedRow]:
    """The values of an object whose keys are ids, each with its id as ``pid``."""
    with open_plain_text(path, encoding="utf-8-sig") as file:
        reader = _JsonReader(file)
        number = 0
        try:
            for name in reader.names():
                number += 1
                row = _as_row(reader.value())
                yield NumberedRow(number, row if isinstance(row, RowError) else {ID_KEY: name, **row})
        except (ValueError, RecursionError) as error:
            yield NumberedRow(number + 1, _broken(error))


def one_row(path: Path) -> Iterator[NumberedRow]:
    """The file's object, with the name of the file's folder as ``pid``."""
    try:
        row = _as_row(json.loads(plain_text(path, "utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:
        row = _broken(error)
    yield NumberedRow(1, row if isinstance(row, RowError) else {ID_KEY: path.parent.name, **row})


def _object_in(line: bytes) -> Row | RowError:
    try:
        return _as_row(json.loads(line.decode(), parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        return RowError("", f"is not JSON ({error})")


def _as_row(value: object) -> Row | RowError:
    if isinstance(value, dict):
        return cast(Row, value)
    return RowError("", f"is not an object with keys but {type(value).__name__}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _skip_separators(rest: str, file: TextIO, *, is_start: bool) -> str:
    """Text from the next value on; empty at the end of the array or file."""
    while True:
        rest = rest.lstrip("[, \t\r\n" if is_start else ", \t\r\n")
        if rest:
            return "" if rest[0] == "]" else rest
        rest = file.read(READ_CHARACTERS)
        if not rest:
            return ""


def _decode_next(decoder: json.JSONDecoder, rest: str, file: TextIO) -> tuple[object, str]:
    """The value at the start of ``rest`` and what follows it; reads on while the value is cut off."""
    while True:
        try:
            value, end = decoder.raw_decode(rest)
        except json.JSONDecodeError:
            # At least doubled, so that a long value is not decoded again and again.
            more = file.read(max(READ_CHARACTERS, len(rest)))
            if not more or len(rest) > MAX_WHOLE_BYTES:
                raise
            rest += more
        else:
            return value, rest[end:]


class _JsonReader:
    """One walk over a JSON text that need not fit into memory; ``ValueError`` where it is no JSON."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._rest = ""
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant)

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            self._rest = self._rest.lstrip(" \t\r\n")
            if self._rest:
                return self._rest[0]
            self._rest = self._file.read(READ_CHARACTERS)
            if not self._rest:
                return ""

    def value(self) -> object:
        """The value that comes next, whole."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._rest)
            except json.JSONDecodeError:
                # At least doubled, so that a long value is not decoded again and again.
                more = self._file.read(max(READ_CHARACTERS, len(self._rest)))
                if not more or len(self._rest) > MAX_WHOLE_BYTES:
                    raise
                self._rest += more
                continue
            if end < len(self._rest) or not (more := self._file.read(READ_CHARACTERS)):
                self._rest = self._rest[end:]
                return value
            # A number at the end of what was read may go on.
            self._rest += more

    def names(self) -> Iterator[str]:
        """The keys of the object that comes next; the caller takes each value before the next key."""
        self._take("{")
        while self.peek() != "}":
            name = self.value()
            if not isinstance(name, str):
                raise ValueError(f"{name!r} is no key")
            self._take(":")
            yield name
            if self.peek() != "}":
                self._take(",")
        self._take("}")

    def items(self) -> Iterator[object]:
        """The values of the list that comes next."""
        self._take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self._take(",")
        self._take("]")

    def _take(self, wanted: str) -> None:
        found = self.peek()
        if found != wanted:
            raise ValueError(f"{wanted!r} should stand where {found or 'the end'!r} is")
        self._rest = self._rest[1:]


def _goes_to_list(reader: _JsonReader, key: str) -> bool:
    """Whether the reader now stands at the list under the key, or at the file's own."""
    if reader.peek() == "[":
        return True
    for name in reader.names():
        if name == key and reader.peek() == "[":
            return True
        reader.value()
    return False


def _broken(error: Exception) -> RowError:
    return RowError("", f"is not JSON ({error}); nothing after it can be read")
