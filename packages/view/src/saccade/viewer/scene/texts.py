"""A turn's text cut into its parts: thought, call, answer, code and the tags around them."""

import re
from collections.abc import Iterator

from saccade.viewer.scene.parts import PartKind, TextPart, utf16

MAX_TEXT = 60_000
"""Characters of one text on a page; the record has the rest."""

_KINDS: dict[str, PartKind] = {
    "think": "thought",
    "thinking": "thought",
    "reasoning": "thought",
    "tool_call": "call",
    "tool": "call",
    "description": "thought",
    "rethink": "thought",
    "answer": "answer",
    "code": "code",
    "python": "code",
}
_THINK = re.compile(r"</?think>")
_BOUNDS = ("<think>", "</think>")
_TAG = re.compile(r"<(/?)(" + "|".join(_KINDS) + r")>|```(?:python|py)\s*\n|```", re.IGNORECASE)


def parts_of(text: str) -> tuple[TextPart, ...]:
    """Parts that together are the whole text, with offsets in UTF-16 code units."""
    parts: list[TextPart] = []
    at = 0
    for start, end, kind in _pieces(text):
        length = utf16(text[start:end])
        if length:
            parts.append(TextPart(start=at, end=at + length, kind=kind))
            at += length
    return tuple(parts)


def _pieces(text: str) -> Iterator[tuple[int, int, PartKind]]:
    place = 0
    think = _THINK.search(text)
    # A thought that the chat template opened has no first tag in the replies of servers and in files of others.
    is_thought = think is not None and think[0] == "</think>"
    kind: PartKind = "thought" if is_thought else "text"
    for match in _TAG.finditer(text):
        is_think = match[0] in _BOUNDS
        if is_thought and not is_think:
            # Words of the thought, which quotes an answer perhaps.
            continue
        is_thought = is_think and not match[1]
        yield place, match.start(), kind
        yield match.start(), match.end(), "tag"
        place = match.end()
        name = match[2]
        if name is None:
            kind = "code" if len(match[0]) > 3 else "text" if kind == "code" else kind
        else:
            kind = "text" if match[1] else _KINDS[name.lower()]
    yield place, len(text), kind


def cut(text: str) -> tuple[str, int]:
    """The text as far as a page shows it, and how many characters it leaves out."""
    return text[:MAX_TEXT], max(0, len(text) - MAX_TEXT)
