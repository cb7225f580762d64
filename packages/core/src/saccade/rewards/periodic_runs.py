"""Tokens of a text and the periodic runs in any sequence: what ``repetition`` looks for loops in.

Tokens are words, signs of scripts without spaces, and whole pieces such as a table's row.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.characters import SPACELESS

TokenKind = Literal["word", "sign", "number", "piece"]

MAX_PIECE_CHARS = 400
"""A longer stretch is not read as one piece: a list without end is a loop."""

PUNCTUATION = r"!-/:-@\[-`{-~\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_NUMBER = r"\d+(?:[.,:/]\d+)*"
_TOKEN = re.compile(
    rf"(?P<piece>^[ \t]*\|[^\n]{{0,{MAX_PIECE_CHARS}}}\|[ \t]*$"  # a table's row
    rf"|[\[(](?!\d{{1,9}}[\])])[-+\d\s.,;%]{{1,{MAX_PIECE_CHARS}}}[\])])"  # numbers in brackets
    r"|(?P<tag></?[A-Za-z_]{1,40}>)"
    r"|[\[(](?P<counter>\d{1,9})[\])]"
    rf"|(?P<number>{_NUMBER})"
    rf"|(?P<sign>[{SPACELESS}])|(?P<word>[^\s\d{SPACELESS}{PUNCTUATION}]+)",
    re.MULTILINE,
)
_KINDS: Mapping[str, TokenKind] = {
    "piece": "piece",
    "tag": "piece",
    "counter": "number",
    "number": "number",
    "sign": "sign",
    "word": "word",
}
_BRACE = re.compile(r"[{}]")


@dataclass(frozen=True, slots=True)
class TextToken:
    text: str
    kind: TokenKind

    @property
    def is_laid_out(self) -> bool:
        return self.kind in ("number", "piece")


def tokens_of(text: str) -> list[TextToken]:
    """The tokens in order; white space and case inside of them are no matter."""
    found: list[TextToken] = []
    at = 0
    for start, end in _objects(text):
        found += _between(text, at, start)
        found.append(_token(text[start:end], "piece"))
        at = end
    return found + _between(text, at, len(text))


def _between(text: str, start: int, end: int) -> list[TextToken]:
    return [
        _token(match[kind], _KINDS[kind])
        for match in _TOKEN.finditer(text, start, end)
        if (kind := match.lastgroup) is not None
    ]


def _token(text: str, kind: TokenKind) -> TextToken:
    return TextToken(" ".join(text.split()).casefold(), kind)


def _objects(text: str) -> list[tuple[int, int]]:
    """The outermost stretches between braces that belong together, none longer than a piece."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened and match.end() - (start := opened.pop()) <= MAX_PIECE_CHARS:
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, match.end()))
    return found


_WORK = 8
"""So many comparisons for each place of a sequence are enough for every text but those made to need more."""


@dataclass(frozen=True, slots=True)
class PeriodicRun:
    """``length`` places from ``start`` on, of which each but the first ``period`` is as the one a period before."""

    start: int
    period: int
    length: int

    @property
    def repeats(self) -> int:
        return self.length // self.period


def short_runs(sequence: Sequence[Hashable], period: int) -> Iterator[PeriodicRun]:
    """All runs of this period, in one walk."""
    length = 0
    for index in range(period, len(sequence) + 1):
        if index < len(sequence) and sequence[index] == sequence[index - period]:
            length += 1
        else:
            if length >= period:
                yield PeriodicRun(index - length - period, period, length + period)
            length = 0


def long_runs(sequence: Sequence[Hashable], *, gram: int, forgiving: bool = False) -> Iterator[PeriodicRun]:
    """Runs of any period, in linear time, found where the same ``gram`` places in a row came before.

    A run whose every such row comes twice within its period is not found. A ``forgiving`` run may differ from one
    period to the next in single places, with ``gram`` equal ones between them.
    """
    last: dict[tuple[Hashable, ...], int] = {}
    known: dict[int, int] = {}
    work = _WORK * len(sequence)
    at = 0
    while at + gram <= len(sequence):
        row = tuple(sequence[at : at + gram])
        before = last.get(row)
        last[row] = at
        period = 0 if before is None else at - before
        # A copy that was followed to its end once is not followed again from its middle.
        if not period or known.get(period, 0) > at or work <= 0:
            at += 1
            continue
        end = _end(sequence, at + gram, period, gram if forgiving else None)
        known[period] = end
        work -= end - at
        if end - at < period:
            at += 1
            continue
        start = at
        while start > period and sequence[start - 1] == sequence[start - 1 - period]:
            start -= 1
        yield PeriodicRun(start - period, period, end - start + period)
        for place in range(max(at + 1, end - period - gram), end - gram):
            last[tuple(sequence[place : place + gram])] = place
        at = max(at + 1, end - gram)


def _end(sequence: Sequence[Hashable], at: int, period: int, forgiven_after: int | None) -> int:
    """The index at which the sequence stops repeating what came a period before."""
    equal = 0
    while at < len(sequence):
        if sequence[at] == sequence[at - period]:
            equal += 1
        elif (
            forgiven_after is not None
            and equal >= forgiven_after
            and _goes_on(sequence, at + 1, period, forgiven_after)
        ):
            equal = 0
        else:
            break
        at += 1
    return at


def _goes_on(sequence: Sequence[Hashable], at: int, period: int, count: int) -> bool:
    return at + count <= len(sequence) and all(
        sequence[place] == sequence[place - period] for place in range(at, at + count)
    )
