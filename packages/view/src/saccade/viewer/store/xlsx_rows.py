"""Rows of the first sheet of an ``.xlsx`` file that a stranger may have written, as texts, within bounds."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from saccade.plain_files import open_plain

MAX_UNPACKED_BYTES = 128 << 20
"""Of each part of the file, whatever its directory says of the size."""
MAX_ROWS, MAX_COLUMNS = 1_000_000, 1000
_PIECE = 1 << 16
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET, _STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
BROKEN = (OSError, ParseError, ValueError, KeyError, IndexError, EOFError, NotImplementedError, zipfile.BadZipFile)
"""What a damaged file raises."""


def xlsx_rows(path: Path, max_bytes: int = MAX_UNPACKED_BYTES) -> Iterator[Mapping[str, str]]:
    """Each row below the header, by the header's names; empty cells are left out. One of ``BROKEN`` for a bad file."""
    rows = _rows(path, max_bytes)
    header = next(rows, {})
    for cells in rows:
        yield {header[column]: text for column, text in cells.items() if column in header}


def xlsx_header(path: Path) -> set[str]:
    """The names of the columns. One of ``BROKEN`` for a bad file."""
    return set(next(_rows(path, MAX_UNPACKED_BYTES), {}).values())


def _rows(path: Path, max_bytes: int) -> Iterator[dict[int, str]]:
    with open_plain(path) as opened, zipfile.ZipFile(opened) as file:
        strings_are = _STRINGS if _STRINGS in file.namelist() else _SHEET
        with file.open(_SHEET) as sheet, file.open(strings_are) as member:
            strings = _Strings(map(_text, _elements(member, "si", max_bytes)))
            for number, row in enumerate(_elements(sheet, "row", max_bytes)):
                if number > MAX_ROWS:
                    raise ValueError(f"more than {MAX_ROWS:,} rows")
                yield dict(_cells(row, strings))


class _Strings:
    """The shared strings, read as far as cells ask for them: writers number them as they come."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts, self._read = texts, list[str]()

    def __getitem__(self, place: int) -> str:
        while place >= len(self._read):
            text = next(self._texts, None)
            if text is None:
                raise ValueError(f"a cell names string {place} of {len(self._read)}")
            self._read.append(text)
        return self._read[max(0, place)]


def _elements(member: IO[bytes], name: str, max_bytes: int) -> Iterator[Element]:
    """Each whole element of this name; each is emptied when the next one is asked for."""
    parser: XMLPullParser[Element] = XMLPullParser(["start", "end"])
    read, count, root = 0, 0, None
    while piece := member.read(_PIECE):
        if b"<!DOCTYPE" in piece:
            raise ValueError("it defines entities, as no table does")
        read += len(piece)
        if read > max_bytes:
            raise ValueError(f"a part of more than {max_bytes >> 20} MiB")
        parser.feed(piece)
        for told in parser.read_events():
            event, element = told[0], told[-1]
            if not isinstance(element, Element):
                continue
            if root is None:
                root = element
            if event == "end" and element.tag == _SPACE + name:
                yield element
                element.clear()
                count += 1
                if not count % 1000:
                    # What stays of elements that have gone by.
                    for parent in (*root, root):
                        if len(parent) > 500:
                            parent.clear()
    parser.close()


def _cells(row: Element, strings: _Strings) -> Iterator[tuple[int, str]]:
    for place, cell in enumerate(row):
        column = _column(cell.get("r", "")) or place + 1
        if column > MAX_COLUMNS:
            raise ValueError(f"more than {MAX_COLUMNS} columns")
        value = cell.find(f"{_SPACE}v")
        if cell.get("t") == "inlineStr":
            yield column, _text(cell)
        elif value is not None and value.text:
            yield column, strings[int(value.text)] if cell.get("t") == "s" else value.text


def _column(reference: str) -> int:
    """1 for ``A7``, 27 for ``AA7``; 0 for what names none."""
    number = 0
    for letter in reference[:3]:
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _text(element: Element) -> str:
    """The text of a string, of its runs where they differ in their looks."""
    return "".join(one.text or "" for one in element.iter(f"{_SPACE}t"))
