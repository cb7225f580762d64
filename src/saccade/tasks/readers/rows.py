"""Rows as files hold them: JSON lines, JSON arrays and CSV, one at a time, each with its number."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO, cast

from saccade.errors import UserError

RowValue = None | bool | int | float | str | bytes | Sequence["RowValue"] | Mapping[str, "RowValue"]
Row = Mapping[str, RowValue]

READ_CHARACTERS = 1 << 16


class RowError(Exception):
    """One row cannot be used: ``key`` says where in it, empty for the whole row, and ``why`` says what is wrong."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key
        self.why = why


@dataclass(frozen=True, slots=True)
class NumberedRow:
    """A row, or why there is none, with its 1-based number: the line of a text file, else the row."""

    number: int
    row: Row | RowError


def json_lines(path: Path) -> Iterator[NumberedRow]:
    """One JSON object per line; empty lines are passed over but counted."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
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
    with path.open(encoding="utf-8-sig") as file:
        while True:
            number += 1
            try:
                rest = _skip_separators(rest, file, is_start=number == 1)
                if not rest:
                    return
                value, rest = _decode_next(decoder, rest, file)
            except (ValueError, RecursionError) as error:
                yield NumberedRow(number, RowError("", f"is not JSON ({error}); nothing after it can be read"))
                return
            yield NumberedRow(number, _as_row(value))


def comma_separated(path: Path) -> Iterator[NumberedRow]:
    """Rows of a CSV file whose first line names the columns; numbered by line, empty cells left out."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="")
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
            if not more:
                raise
            rest += more
        else:
            return value, rest[end:]


def open_text_rows(path: Path) -> Iterator[NumberedRow]:
    """Rows of a ``.jsonl``, ``.json`` or ``.csv`` file; ``UserError`` when it cannot be opened."""
    read = {".jsonl": json_lines, ".json": json_array, ".csv": comma_separated}[path.suffix.lower()]
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    return read(path)
