"""Rows of text files, read one at a time: JSON lines, CSV, and JSON with its rows in a list, under a key or by id.

Each of them may be packed with gzip.
"""

import csv
import gzip
import json
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TextIO, cast

from saccade.errors import UserError
from saccade.plain_files import MAX_WHOLE_BYTES, check_plain, open_plain, open_plain_text, plain_lines, plain_text
from saccade.tasks.rows.fields import NumberedRow, Row, RowError
from saccade.tasks.rows.json_reader import READ_CHARACTERS, JsonReader, refuse_constant

RowsOfFile = Callable[[Path], Iterator[NumberedRow]]

MAX_CELL_CHARACTERS = 1 << 28

ROW_KEYS = ("data", "train", "rows", "examples", "instances", "questions", "test", "validation", "val", "dev")
"""Under them an object that is a whole file holds its rows."""

logger = logging.getLogger(__name__)

ID_KEY = "pid"
"""Under it a row that was found by its id has the id."""


def kind_of_file(path: Path) -> str:
    """The ending of a file's name that says how it is read, without ``.gz``."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def open_text_rows(path: Path) -> Iterator[NumberedRow]:
    """Rows of a file of one of ``TEXT_KINDS``; ``UserError`` when it cannot be opened or unpacked."""
    try:
        open_plain(path).close()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    return _unpacked(path, _READERS[kind_of_file(path)](path))


def _unpacked(path: Path, rows: Iterator[NumberedRow]) -> Iterator[NumberedRow]:
    try:
        yield from rows
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be unpacked ({error})") from error


def _open_text(path: Path, *, newline: str | None = None) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(check_plain(path), "rt", encoding="utf-8-sig", newline=newline)
    return open_plain_text(path, encoding="utf-8-sig", newline=newline)


def _opened_bytes(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(check_plain(path))) if path.suffix.lower() == ".gz" else open_plain(path)


def json_lines(path: Path) -> Iterator[NumberedRow]:
    """One JSON object per line; empty lines are passed over but counted."""
    with _opened_bytes(path) as file:
        for number, line in enumerate(plain_lines(file), start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield NumberedRow(number, _object_in(line))


def json_array(path: Path) -> Iterator[NumberedRow]:
    """The objects of one JSON array, or objects that simply follow each other; held one at a time.

    An object that holds its rows under a key, as ``{"data": […]}`` or ``{"train": […]}``, is those rows. After a syntax
    error nothing more can be read: the last row given is the error.
    """
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    number, rest = 0, ""
    with _open_text(path) as file:
        while True:
            number += 1
            try:
                rest = _skip_separators(rest, file, is_start=number == 1)
                if not rest:
                    return
                value, rest = _decode_next(decoder, rest, file)
            except (ValueError, RecursionError) as error:
                yield NumberedRow(number, _broken_json(error))
                return
            lists = _lists_of_rows(value) if number == 1 else {}
            if lists:
                yield from _rows_in(lists, path)
            else:
                yield NumberedRow(number, _as_row(value))


def _lists_of_rows(value: object) -> dict[str, list[object]]:
    """The lists of rows under the usual keys of a file's object."""
    fields = value if isinstance(value, dict) else {}
    found = {key: fields[key] for key in ROW_KEYS if isinstance(fields.get(key), list) and fields[key]}
    return {key: rows for key, rows in found.items() if all(isinstance(row, dict) for row in rows)}


def _rows_in(lists: Mapping[str, list[object]], path: Path) -> Iterator[NumberedRow]:
    """Those of the only list, or of ``train``."""
    key = "train" if "train" in lists else next(iter(lists))
    others = [name for name in lists if name != key]
    if others and key != "train":
        yield NumberedRow(1, RowError("", f"has rows under {', '.join(lists)}; give a file with one of these lists"))
        return
    if others:
        logger.warning("%s: rows under %r are read, and those under %s are not", path, key, ", ".join(others))
    for number, row in enumerate(lists[key], start=1):
        yield NumberedRow(number, _as_row(row))


def comma_separated(path: Path, delimiter: str = "") -> Iterator[NumberedRow]:
    """Rows of a CSV file whose first line names the columns; numbered by line, empty cells left out.

    Without a ``delimiter`` it is the comma, or the semicolon where the first line has no comma: spreadsheets write that
    where the comma is the decimal point.
    """
    # A cell may hold a picture.
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    with _open_text(path, newline="") as file:
        lines = plain_lines(file)
        reader = csv.DictReader(lines, delimiter=delimiter or ",")
        try:
            if not delimiter and (first := next(lines, "")):
                is_semicolon = ";" in first and "," not in first
                again = chain([first], lines)
                reader = csv.DictReader(again, delimiter=";" if is_semicolon else ",")
            for cells in reader:
                if None in cells:
                    yield NumberedRow(reader.line_num, RowError("", "has more cells than the first line has columns"))
                else:
                    yield NumberedRow(reader.line_num, {key: cell for key, cell in cells.items() if cell})
        except (csv.Error, UnicodeDecodeError) as error:
            why = f"is not CSV ({error}); nothing after it can be read"
            yield NumberedRow(reader.line_num + 1, RowError("", why))


def rows_under(key: str) -> RowsOfFile:
    """The objects of the list under a key of the file's object, or of the file's own list.

    What stands beside the list is passed over.
    """

    def rows(path: Path) -> Iterator[NumberedRow]:
        with _open_text(path) as file:
            reader = JsonReader(file)
            number = 0
            try:
                if _goes_to_list(reader, key):
                    for value in reader.items():
                        number += 1
                        yield NumberedRow(number, _as_row(value))
                    return
            except (ValueError, RecursionError) as error:
                yield NumberedRow(number + 1, _broken_json(error))
                return
            yield NumberedRow(1, RowError(key, "is missing in the file, or no list"))

    return rows


def rows_by_id(path: Path) -> Iterator[NumberedRow]:
    """The values of an object whose keys are ids, each with its id as ``pid``."""
    with _open_text(path) as file:
        reader = JsonReader(file)
        number = 0
        try:
            for name in reader.names():
                number += 1
                row = _as_row(reader.value())
                yield NumberedRow(number, row if isinstance(row, RowError) else {ID_KEY: name, **row})
        except (ValueError, RecursionError) as error:
            yield NumberedRow(number + 1, _broken_json(error))


def one_row(path: Path) -> Iterator[NumberedRow]:
    """The file's object, with the name of the file's folder as ``pid``."""
    try:
        row = _as_row(json.loads(plain_text(path, "utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:
        row = _broken_json(error)
    yield NumberedRow(1, row if isinstance(row, RowError) else {ID_KEY: path.parent.name, **row})


def _object_in(line: bytes) -> Row | RowError:
    try:
        return _as_row(json.loads(line.decode(), parse_constant=refuse_constant))
    except (ValueError, RecursionError) as error:
        return RowError("", f"is not JSON ({error})")


def _as_row(value: object) -> Row | RowError:
    if isinstance(value, dict):
        return cast(Row, value)
    return RowError("", f"is not an object with keys but {type(value).__name__}")


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


def _goes_to_list(reader: JsonReader, key: str) -> bool:
    """Whether the reader now stands at the list under the key, or at the file's own."""
    if reader.peek() == "[":
        return True
    for name in reader.names():
        if name == key and reader.peek() == "[":
            return True
        reader.value()
    return False


def _broken_json(error: Exception) -> RowError:
    return RowError("", f"is not JSON ({error}); nothing after it can be read")


_READERS: Mapping[str, RowsOfFile] = {
    ".jsonl": json_lines,
    ".json": json_array,
    ".csv": comma_separated,
    ".tsv": partial(comma_separated, delimiter="\t"),
}
TEXT_KINDS = tuple(_READERS)
