"""A text as tokens among which repetition is looked for: words, signs of scripts without spaces, and whole pieces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["word", "sign", "number", "piece"]

MAX_PIECE_CHARS = 400
"""A longer stretch is not read as one piece: a list without end is a loop."""

SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
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
