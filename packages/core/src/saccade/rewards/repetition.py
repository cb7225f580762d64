"""Repetition in a text: loops of characters, words, phrases, sentences and near-copies, in any script.

What is laid out rather than said is read in whole pieces: a table's row, a list of numbers in brackets, a JSON object
and a number are one token each, and repeat only when they are the same. So tables, coordinates and calls with many
digits are no repetition, and a loop over one of them is, only later than a loop over words. Scripts without spaces
(Chinese, Japanese, Thai and their like) are read sign by sign. The time is linear in the text.

==========  ===========================================================================================================
rule        what it finds
==========  ===========================================================================================================
characters  one character in a row; a word glued to itself without spaces; blank lines and drawn lines without end
words       one word or piece in a row
phrases     several in a circle
sentences   longer circles, however long; and a sentence that comes again and again with others in between
copies      a circle in which single words or numbers change: "1. I look again. 2. I look again."
==========  ===========================================================================================================
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal, get_args

from saccade.characters import SPACELESS
from saccade.errors import UserError
from saccade.rewards.periodic_runs import (
    PUNCTUATION,
    PeriodicRun,
    TextToken,
    long_runs,
    short_runs,
    tokens_of,
)

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
    """Loops of one character; and the length of text glued to itself, which must also repeat as often as ``words``."""
    digits: Thresholds = (500, 1000, 2000)
    """Loops of digits inside one number, which may be long and still be right."""
    drawn: Thresholds = (250, 500, 1000)
    """Loops of characters that lines are drawn with, such as ``-`` and ``=``, and of white space."""
    words: Thresholds = (10, 20, 50)
    phrases: Thresholds = (5, 10, 20)
    """Loops of 2 to ``max_phrase_words`` words."""
    sentences: Thresholds = (5, 10, 20)
    """Loops of more words."""
    pieces: Thresholds = (20, 40, 100)
    """Loops of equal rows, lists, objects and numbers, alone or several in a circle."""
    copies: Thresholds = (20, 40, 80)
    """Loops of near-copies in a row, and of one sentence anywhere in the text."""
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
    """The repeated unit, at most 60 characters of it."""


NO_REPETITION = Repetition()
DEFAULT_LIMITS = RepetitionLimits()

_SENTENCE_END = re.compile(r"[。！？।؟]+|[.!?]+(?=\s|$)|\n")
_MIN_SENTENCE_WORDS = 5
_DRAWN = re.compile(r"[-=._*#~+|─━═—…·•\s]+")
"""Signs that lines are drawn with, and white space."""
_GLUED = re.compile(rf"[^\s\d{SPACELESS}{PUNCTUATION}]+|\d+|[\s{PUNCTUATION}]+")
_UNSEEN = {"Cf", "Cc"}
_NUMBER = "#"
_NEAR_GRAM = 2
_WORDS_OF_A_COPY = 4
"""A near-copy of fewer words counts for less than one."""
_TELLING_COPIES = 3
"""So many near-copies that each tell something else count for one,"""
_FEW_OF = 10
"""where more than one of so many tokens tells it."""


def repetition(text: str, limits: RepetitionLimits = DEFAULT_LIMITS) -> Repetition:
    """The worst repetition of a text."""
    seen = "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in _UNSEEN)
    tokens = tokens_of(seen)
    return worst(
        [
            _of_characters(seen, limits),
            *_of_tokens(tokens, limits),
            _of_sentences(seen, limits),
            _of_copies(tokens, limits),
        ]
    )


def worst(found: Iterable[Repetition]) -> Repetition:
    """The one of the highest level, the first of equal ones; none of nothing."""
    return max(found, key=lambda one: LEVELS.index(one.level), default=NO_REPETITION)


def _level(count: float, thresholds: Thresholds) -> Level:
    return LEVELS[sum(count >= threshold for threshold in thresholds)]


def _repetition(rule: Rule, count: int, unit: str, level: Level) -> Repetition:
    return NO_REPETITION if level == "none" else Repetition(level=level, rule=rule, count=count, unit=unit[:60])


def _of_characters(text: str, limits: RepetitionLimits) -> Repetition:
    """One character in a row, and short circles inside of a stretch without a border between words."""
    shortest = limits.characters[0]
    found = [NO_REPETITION]
    for letter, run in groupby(text):
        length = sum(1 for _ in run)
        if length >= shortest:
            found.append(_repetition("characters", length, letter, _level(length, _by_length(letter, limits))))
    for stretch in _GLUED.finditer(text):
        if len(stretch[0]) >= shortest:
            found += (_glued_repetition(stretch[0], run, limits) for run in _any_runs(stretch[0]) if run.period > 1)
    return worst(found)


def _any_runs(text: str) -> Iterator[PeriodicRun]:
    for period in range(1, 5):
        yield from short_runs(text, period)
    yield from long_runs(text, gram=4)


def _glued_repetition(stretch: str, run: PeriodicRun, limits: RepetitionLimits) -> Repetition:
    unit = stretch[run.start : run.start + run.period]
    # "hahaha" is a word: it takes many repeats and some length to be a loop.
    levels = _level(run.length, _by_length(unit, limits)), _level(run.repeats, limits.words)
    level = min(levels, key=LEVELS.index)
    return _repetition("characters", run.repeats, unit, level)


def _by_length(unit: str, limits: RepetitionLimits) -> Thresholds:
    if _DRAWN.fullmatch(unit):
        return limits.drawn
    return limits.digits if unit.isdigit() else limits.characters


def _of_tokens(tokens: Sequence[TextToken], limits: RepetitionLimits) -> Iterator[Repetition]:
    """Circles of words and pieces that repeat exactly: one walk for each length of a phrase, one for longer ones."""
    numbers: dict[TextToken, int] = {}
    # Numbers are compared sooner than tokens.
    numbered = [numbers.setdefault(token, len(numbers)) for token in tokens]
    for period in range(1, min(limits.max_phrase_words, len(tokens) // 2) + 1):
        for run in short_runs(numbered, period):
            yield _circle(tokens, run, limits)
    for run in long_runs(numbered, gram=4):
        if run.period > limits.max_phrase_words:
            yield _circle(tokens, run, limits)


def _circle(tokens: Sequence[TextToken], run: PeriodicRun, limits: RepetitionLimits) -> Repetition:
    unit = tokens[run.start : run.start + run.period]
    # A word again and again is also a phrase of two: that is the rule of words.
    if run.period > 1 and len(set(unit)) == 1:
        return NO_REPETITION
    rule: Rule = "words" if run.period == 1 else "phrases" if run.period <= limits.max_phrase_words else "sentences"
    by_rule = {"words": limits.words, "phrases": limits.phrases, "sentences": limits.sentences}
    wanted = limits.pieces if _is_laid_out(unit) else by_rule[rule]
    if run.repeats < wanted[0]:
        return NO_REPETITION
    return _repetition(rule, run.repeats, " ".join(token.text for token in unit), _level(run.repeats, wanted))


def _is_laid_out(unit: Sequence[TextToken]) -> bool:
    """Pieces and numbers, perhaps with letters between them, as in 3x3x3 and in 2e9."""
    return any(token.is_laid_out for token in unit) and all(
        token.is_laid_out or (token.kind == "word" and len(token.text) == 1) for token in unit
    )


def _of_sentences(text: str, limits: RepetitionLimits) -> Repetition:
    """A sentence that is said again and again, whatever is said in between."""
    said = (" ".join(part.split()).casefold() for part in _SENTENCE_END.split(text))
    counts = Counter(
        one
        for one in said
        # What is laid out in lines, or too short to say much, is the tokens' business.
        if one[:1].isalpha() and one.count(" ") + 1 >= _MIN_SENTENCE_WORDS
    )
    if not counts:
        return NO_REPETITION
    sentence, count = counts.most_common(1)[0]
    return _repetition("sentences", count, sentence, _level(count, limits.copies))


def _of_copies(tokens: Sequence[TextToken], limits: RepetitionLimits) -> Repetition:
    masked = [_NUMBER if token.kind == "number" else token.text for token in tokens]
    found = (_copied_repetition(tokens, run, limits) for run in long_runs(masked, gram=_NEAR_GRAM, forgiving=True))
    return worst(found)


def _copied_repetition(tokens: Sequence[TextToken], run: PeriodicRun, limits: RepetitionLimits) -> Repetition:
    """A near-copy counts for one if it has words enough, and for less if what changes tells something."""
    unit = tokens[run.start : run.start + run.period]
    if run.repeats < limits.copies[0]:
        return NO_REPETITION
    words = sum({"word": 1.0, "sign": 0.5}.get(token.kind, 0.0) for token in unit)
    count = run.repeats * min(1.0, words / _WORDS_OF_A_COPY)
    end = run.start + run.period * run.repeats
    columns = [tokens[run.start + place : end : run.period] for place in range(run.period)]
    changing = [column for column in columns if len({token.text for token in column}) > 1]
    if _tell(changing) and len(changing) * _FEW_OF > run.period:
        count /= _TELLING_COPIES
    return _repetition("copies", int(count), " ".join(token.text for token in unit), _level(count, limits.copies))


def _tell(changing: Sequence[Sequence[TextToken]]) -> bool:
    """Whether what changes from copy to copy is news: more than counters, and more than a few things in turn."""
    told = list(zip(*(column for column in changing if not _is_counter(column))))
    return len(set(told)) > max(1, len(told) // 4)


def _is_counter(column: Sequence[TextToken]) -> bool:
    numbers = [int(token.text) for token in column if token.text.isdecimal() and len(token.text) < 10]
    return len(numbers) == len(column) and len({later - earlier for earlier, later in pairwise(numbers)}) == 1
