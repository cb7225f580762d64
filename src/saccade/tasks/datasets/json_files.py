"""Rows of JSON files that are no plain list: under a key, by id, or one object for a file; big files piece by piece."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, cast

from saccade.tasks.datasets.dataset import RowsOfFile
from saccade.tasks.readers.rows import READ_CHARACTERS, NumberedRow, Row, RowError, open_text_rows

ID_KEY = "pid"
"""Under it a row that was found by its id has the id."""


def plain_rows(path: Path) -> Iterator[NumberedRow]:
    """A list of objects, JSON lines or CSV."""
    return open_text_rows(path)


def rows_under(key: str) -> RowsOfFile:
    """The objects of the list under a key of the file's object, or of the file's own list.

    What stands beside the list is passed over.
    """

    def rows(path: Path) -> Iterator[NumberedRow]:
        with path.open(encoding="utf-8-sig") as file:
            reader = _JsonReader(file)
            number = 0
            try:
                if _goes_to_list(reader, key):
                    for value in reader.items():
                        number += 1
                        yield NumberedRow(number, _object(value))
                    return
            except (ValueError, RecursionError) as error:
                yield NumberedRow(number + 1, _broken(error))
                return
            yield NumberedRow(1, RowError(key, "is missing in the file, or no list"))

    return rows


def rows_by_id(path: Path) -> Iterator[NumberedRow]:
    """The values of an object whose keys are ids, each with its id as ``pid``."""
    with path.open(encoding="utf-8-sig") as file:
        reader = _JsonReader(file)
        number = 0
        try:
            for name in reader.names():
                number += 1
                row = _object(reader.value())
                yield NumberedRow(number, row if isinstance(row, RowError) else {ID_KEY: name, **row})
        except (ValueError, RecursionError) as error:
            yield NumberedRow(number + 1, _broken(error))


def one_row(path: Path) -> Iterator[NumberedRow]:
    """The file's object, with the name of the file's folder as ``pid``."""
    try:
        row = _object(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:
        row = _broken(error)
    yield NumberedRow(1, row if isinstance(row, RowError) else {ID_KEY: path.parent.name, **row})


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
                if not more:
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


def _object(value: object) -> Row | RowError:
    if isinstance(value, dict):
        return cast(Row, value)
    return RowError("", f"is not an object with keys but {type(value).__name__}")


def _broken(error: Exception) -> RowError:
    return RowError("", f"is not JSON ({error}); nothing after it can be read")


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")
