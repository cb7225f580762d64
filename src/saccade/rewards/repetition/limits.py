"""From how many repeats on a text is how bad, and what was found in one."""

from dataclasses import dataclass
from typing import Literal, get_args

from saccade.errors import UserError

Level = Literal["none", "moderate", "severe", "extreme"]
Rule = Literal["characters", "words", "phrases", "sentences", "copies"]

LEVELS: tuple[Level, ...] = get_args(Level)
RULES: tuple[Rule, ...] = get_args(Rule)

Thresholds = tuple[int, int, int]
"""From how many repeats on something is moderate, severe, extreme."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RepetitionLimits:
    """From how many repeats in a row on a text is moderate, severe, extreme. The paper gives no numbers; these are
    ours."""

    characters: Thresholds = (50, 100, 200)
    """Of one character; and the length of what is glued to itself, which must also repeat as often as ``words``."""
    digits: Thresholds = (500, 1000, 2000)
    """Of digits inside one number, which may be long and still be right."""
    drawn: Thresholds = (250, 500, 1000)
    """Of characters that lines are drawn with, such as ``-`` and ``=``, and of white space."""
    words: Thresholds = (10, 20, 50)
    phrases: Thresholds = (5, 10, 20)
    """Of 2 to ``max_phrase_words`` words."""
    sentences: Thresholds = (5, 10, 20)
    """Of longer circles."""
    pieces: Thresholds = (20, 40, 100)
    """Of equal rows, lists, objects and numbers, alone or several in a circle."""
    copies: Thresholds = (20, 40, 80)
    """Of near-copies in a row, and of one sentence anywhere in the text."""
    max_phrase_words: int = 20

    def __post_init__(self) -> None:
        for name in ("characters", "digits", "drawn", "words", "phrases", "sentences", "pieces", "copies"):
            moderate, severe, extreme = getattr(self, name)
            if not 2 <= moderate <= severe <= extreme:
                raise UserError(f"{name}={(moderate, severe, extreme)} must rise from 2 or more, as (10, 20, 50) does")
        if self.max_phrase_words < 2:
            raise UserError(f"max_phrase_words={self.max_phrase_words} must be 2 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetition:
    """The worst that was found in a text; of equal ones the first rule's."""

    level: Level = "none"
    rule: Rule | None = None
    count: int = 0
    """Repeats."""
    unit: str = ""
    """What repeats, at most 60 characters of it."""


NO_REPETITION = Repetition()
DEFAULT_LIMITS = RepetitionLimits()
