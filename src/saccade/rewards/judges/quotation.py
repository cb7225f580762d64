"""A model's text as material for a judge: it cannot leave its quotation.

Every line is marked, so no text can end its own quotation; brackets of tags are replaced, so none holds a role token,
an image's placeholder or a judge's tag; characters that nobody sees are taken out.
"""

import re
import unicodedata

MARK = "| "
"""Each line of a quotation begins with it."""

CUT = "(the rest is left out)"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_BRACKETS = str.maketrans({"<": "‹", ">": "›"})
_ROLE = re.compile(r"\[(/?[A-Z_]{2,20})\]")


def quoted(text: str, max_chars: int) -> str:
    """The text as marked lines, at most ``max_chars`` of it."""
    lines = [line for line in visible(text[:max_chars]).splitlines() if line.strip()]
    if len(text) > max_chars:
        lines.append(CUT)
    safe = _ROLE.sub(r"(\1)", "\n".join(lines).translate(_BRACKETS))
    return "\n".join(MARK + line for line in safe.splitlines())


def says_anything(text: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return any(letter.isalnum() for letter in text)


def visible(text: str) -> str:
    """The text without what nobody sees. White space stays white space, a line end a line end."""
    return "".join(
        letter
        if unicodedata.category(letter) not in _UNSEEN
        else "\n"
        if letter in "\n\r\x0b\x0c\x1c\x1d\x1e\x85"
        else " "
        if letter == "\t"
        else ""
        for letter in text
    )
