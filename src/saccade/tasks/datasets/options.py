"""Options written one after another, each behind its letter: on lines, over several lines, or on one."""

import re

from saccade.tasks.readers.answers import MAX_CHOICES, choice_texts
from saccade.tasks.readers.fields import short
from saccade.tasks.readers.rows import RowError, RowValue

_FIRST = re.compile(r"\s*(\(?)A([).:])\s*")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def lettered_options(text: str, key: str) -> tuple[str, ...]:
    """The options of ``(A) 25 (B) 30``, ``A. 25`` and ``B. 30`` on lines, or ``A. 25; B. 30``.

    All are marked as the first is, in the alphabet's order. ``RowError`` names the key where they are not.
    """
    first = _FIRST.match(text)
    if first is None:
        raise RowError(key, f"the options {short(text)} do not begin with (A), A. or A:")
    opening, closing = re.escape(first[1]), re.escape(first[2])
    marks = [(0, first.end())]
    for letter in _LETTERS[1:MAX_CHOICES]:
        mark = re.compile(rf"(?:\s|;)\s*{opening}{letter}{closing}\s*").search(text, marks[-1][1] - 1)
        if mark is None:
            break
        marks.append((mark.start(), mark.end()))
    ends = [start for start, _ in marks[1:]] + [len(text)]
    texts: list[RowValue] = [text[begin:end].strip(" ;\n\t") for (_, begin), end in zip(marks, ends, strict=True)]
    return choice_texts(texts)


def without_letters(options: list[str]) -> list[str]:
    """A list's options without the letters before them, where every one has its own."""
    bare = [re.match(rf"\s*\(?{letter}[).:]\s*(\S.*)", option, re.DOTALL) for letter, option in zip(_LETTERS, options)]
    return [match[1].strip() for match in bare if match] if bare and all(bare) else options
