"""Text of strangers on a terminal: control characters are shown, and never obeyed.

Runs, checkpoints and files come from anywhere, and commands print their names and titles. A terminal takes escape
sequences among them for its own: it clears the screen, changes its title, or shows a line that was never printed.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""All control characters but tabs and line ends, and what turns the direction of a line or ends it."""


def printable(text: str) -> str:
    """The text with what a terminal obeys spelled out: ``\\x1b``, ``\\u202e``."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


class _Shown:
    """A stream that prints what is written as ``printable`` spells it; all else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def shown_on(stream: TextIO) -> TextIO:
    """The stream, on which control characters are shown."""
    return cast("TextIO", _Shown(stream))


@contextmanager
def shown_output() -> Iterator[None]:
    """Inside, standard output shows control characters. Standard error does not: progress draws its bars there."""
    before = sys.stdout
    sys.stdout = shown_on(before)
    try:
        yield
    finally:
        sys.stdout = before
