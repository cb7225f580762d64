"""A JSON text walked through piece by piece, which need not fit into memory."""

import json
from collections.abc import Iterator
from typing import NoReturn, TextIO

from saccade.plain_files import MAX_WHOLE_BYTES

READ_CHARACTERS = 1 << 16


def refuse_constant(name: str) -> NoReturn:
    """For ``json``: NaN and infinities are no JSON."""
    raise ValueError(f"{name} is not a JSON value")


class JsonReader:
    """One walk over a JSON text that need not fit into memory; ``ValueError`` where it is no JSON."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._rest = ""
        self._decoder = json.JSONDecoder(parse_constant=refuse_constant)

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
