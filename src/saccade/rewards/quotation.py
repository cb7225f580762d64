"""A model's text as material for a judge: it cannot leave its quotation, and does not talk to the judge unseen.

Every line is marked, so no text can end its own quotation; brackets of tags are replaced, so none holds a role token,
an image's placeholder or a judge's tag; characters that nobody sees are taken out.
"""

import re
import unicodedata
from collections.abc import Iterable

MARK = "| "
"""Each line of a quotation begins with it."""

CUT = "(the rest is left out)"

RUN_WORDS = 8
"""So many words in a row are no chance."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_BRACKETS = str.maketrans({"<": "‹", ">": "›"})
_ROLE = re.compile(r"\[(/?[A-Z_]{2,20})\]")
_TO_JUDGE = re.compile(r"<\s?/?\s?judge|\bjudge?ment ?[:=]")
_WORD = re.compile(r"[^\W_]+")

Runs = frozenset[tuple[str, ...]]


def quoted(text: str, max_chars: int) -> str:
    """The text as marked lines, at most ``max_chars`` of it."""
    lines = [line for line in _visible(text[:max_chars]).splitlines() if line.strip()]
    if len(text) > max_chars:
        lines.append(CUT)
    safe = _ROLE.sub(r"(\1)", "\n".join(lines).translate(_BRACKETS))
    return "\n".join(MARK + line for line in safe.splitlines())


def runs_of(instructions: Iterable[str]) -> Runs:
    """What gives away a copy of a judge's instructions: each ``RUN_WORDS`` words in a row of a line.

    A line of fewer words only as a whole.
    """
    lines = [tuple(_words(line)) for line in instructions]
    return frozenset(
        words[at : at + RUN_WORDS] for words in lines for at in range(max(1, len(words) - RUN_WORDS + 1)) if words
    )


def addresses_judge(text: str, instructions: Runs) -> bool:
    """Whether the text has a judge's tag, announces a judgement, or copies a judge's instructions.

    Case, white space, punctuation, unseen characters and forms of the same letter do not hide it.
    """
    plain = " ".join(unicodedata.normalize("NFKC", _visible(text)).casefold().split())
    if _TO_JUDGE.search(plain):
        return True
    words = _words(plain)
    lengths = {len(run) for run in instructions}
    return any(
        tuple(words[at : at + length]) in instructions for length in lengths for at in range(len(words) - length + 1)
    )


def says_anything(text: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return any(letter.isalnum() for letter in text)


def _visible(text: str) -> str:
    """White space stays white space, a line end a line end."""
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


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
