"""Does a text talk to its judge instead of talking about the image?

It does when it has a tag of a judge, copies the judge's instructions, announces its own judgement, demands a good one,
or orders the judge to leave the rules, in any of the languages of ``addressing_phrases``. Case, white space,
letters set apart, marks of emphasis, unseen characters and look-alikes of letters do not hide it.
"""

import re
import unicodedata
from collections.abc import Iterable

from saccade.rewards.judges.addressing_phrases import ANNOUNCED, DEMANDED, OVERRULED
from saccade.rewards.judges.quotation import visible

RUN_WORDS = 8
"""So many words in a row are no chance."""

MAX_LINE_CHARS = 2000
"""Longer lines are looked through in pieces, so that every search takes a time in proportion to the text."""
_OVERLAP = 200

_TAG = re.compile(r"<\s?/?\s?(?:judge|verdict|score|rating|evaluation|grader)\b")
_ANNOUNCED = re.compile("|".join(ANNOUNCED))
_ALWAYS = re.compile("|".join((*DEMANDED, *OVERRULED)))
_ASKS_FOR_ONE = re.compile(r"\b(?:score|rating|grade|verdict|judge?ment|evaluation|consistency|reward)")
_WORD = re.compile(r"[^\W_]+")
_EMPHASIS = str.maketrans("", "", "*_`“”„«»")
_SET_APART = re.compile(r"(?<!\w)(?:\w[ .\-]){3,}\w(?!\w)")
_LOOKALIKES = str.maketrans("асеорхуіјѕԁɡαορντι", "aceopxyijsdgaopvti")
_MIXED = re.compile(r"[^\W\d_]+")

Runs = frozenset[tuple[str, ...]]


def runs_of(instructions: Iterable[str]) -> Runs:
    """What gives away a copy of a judge's instructions: each ``RUN_WORDS`` words in a row of a line.

    A line of fewer words only as a whole.
    """
    lines = [tuple(_words(line)) for line in instructions]
    return frozenset(
        words[at : at + RUN_WORDS] for words in lines for at in range(max(1, len(words) - RUN_WORDS + 1)) if words
    )


def addresses_judge(text: str, instructions: Runs, *, question: str = "") -> bool:
    """Whether the text talks to its judge. A question that asks for a score excuses that one is told."""
    lines = _folded(text)
    whole = " ".join(lines)
    if _TAG.search(whole):
        return True
    excused = bool(_ASKS_FOR_ONE.search(" ".join(_folded(question))))
    for piece in (piece for line in (*lines, whole) for piece in _pieces(line)):
        if _ALWAYS.search(piece) or (not excused and _ANNOUNCED.search(piece)):
            return True
    words = _words(whole)
    lengths = {len(run) for run in instructions}
    return any(
        tuple(words[at : at + length]) in instructions for length in lengths for at in range(len(words) - length + 1)
    )


def _folded(text: str) -> list[str]:
    """The lines in one form of each letter, without what only decorates them."""
    plain = unicodedata.normalize("NFKC", visible(text)).casefold().translate(_EMPHASIS)
    lines = (" ".join(line.split()) for line in plain.splitlines())
    return [_MIXED.sub(_in_one_script, _SET_APART.sub(_joined, line)) for line in lines if line]


def _joined(letters: re.Match[str]) -> str:
    together = re.sub(r"[ .\-]", "", letters[0])
    return together if together.isalpha() else letters[0]


def _in_one_script(word: re.Match[str]) -> str:
    """A word of Latin and other letters in Latin ones alone; a word of one script as it is."""
    return word[0].translate(_LOOKALIKES) if re.search("[a-z]", word[0]) else word[0]


def _pieces(line: str) -> Iterable[str]:
    return (line[at : at + MAX_LINE_CHARS] for at in range(0, max(1, len(line)), MAX_LINE_CHARS - _OVERLAP))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
