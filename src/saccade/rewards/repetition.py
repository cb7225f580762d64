"""Does a text go round in circles? Runs of one character, word, phrase or sentence, in any script, in linear time.

What is laid out rather than said is read in whole pieces: a table's row, a list of numbers in brackets, a flat JSON
object and a number are one token each, and repeat only when they are the same. So tables, coordinates and calls with
many digits are no repetition, and a loop over one of them is, only later than a loop over words. Scripts without
spaces (Chinese, Japanese, Thai and their like) are read sign by sign.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

from saccade.errors import UserError

Level = Literal["none", "moderate", "severe", "extreme"]
Rule = Literal["characters", "words", "phrases", "sentences"]

LEVELS: tuple[Level, ...] = get_args(Level)
RULES: tuple[Rule, ...] = get_args(Rule)

Thresholds = tuple[int, int, int]
"""From how many repeats on something is moderate, severe, extreme."""

MAX_PIECE_CHARS = 400
"""What is longer is not read as one piece: a list without end is a loop."""

_SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_PUNCTUATION = r"!-/:-@\[-`{-~\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_NUMBER = r"\d+(?:[.,:/]\d+)*"
_PIECE = (
    rf"^[ \t]*\|[^\n]{{0,{MAX_PIECE_CHARS}}}\|[ \t]*$"  # a table's row
    rf"|\{{[^{{}}\n]{{0,{MAX_PIECE_CHARS}}}\}}"  # a flat object
    rf"|[\[(][-+\d\s.,;%]{{1,{MAX_PIECE_CHARS}}}[\])]"  # numbers in brackets
    rf"|{_NUMBER}"
)
_TOKEN = re.compile(
    rf"(?P<piece>{_PIECE})|(?P<sign>[{_SPACELESS}])|(?P<word>[^\s\d{_SPACELESS}{_PUNCTUATION}]+)", re.MULTILINE
)
_SENTENCE_END = re.compile(r"[。！？।؟]+|[.!?]+(?=\s|$)|\n")
_MIN_SENTENCE_CHARS = 20
_RULE_SIGNS = frozenset("-=._*#~+|─━═—…·•")
"""Signs that lines are drawn with."""
_UNSEEN = {"Cf", "Cc"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RepetitionLimits:
    """From how many repeats in a row on a text is moderate, severe, extreme. The paper gives no numbers; these are
    ours."""

    characters: Thresholds = (50, 100, 200)
    drawn: Thresholds = (250, 500, 1000)
    """Of characters that lines are drawn with, such as ``-`` and ``=``."""
    words: Thresholds = (10, 20, 50)
    phrases: Thresholds = (5, 10, 20)
    """Of 2 to ``max_phrase_words`` words."""
    sentences: Thresholds = (5, 10, 20)
    """Of one to ``max_cycle`` sentences of 20 characters or more."""
    pieces: Thresholds = (20, 40, 100)
    """Of equal rows, lists, objects and numbers, alone or several in a circle."""
    max_phrase_words: int = 20
    max_cycle: int = 8

    def __post_init__(self) -> None:
        for name in ("characters", "drawn", "words", "phrases", "sentences", "pieces"):
            moderate, severe, extreme = getattr(self, name)
            if not 2 <= moderate <= severe <= extreme:
                raise UserError(f"{name}={(moderate, severe, extreme)} must rise from 2 or more, as (10, 20, 50) does")
        if self.max_phrase_words < 2 or self.max_cycle < 1:
            raise UserError(
                f"max_phrase_words={self.max_phrase_words} must be 2 or more, max_cycle={self.max_cycle} 1 or more"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetition:
    """The worst that was found in a text; of equal ones the first rule's."""

    level: Level = "none"
    rule: Rule | None = None
    count: int = 0
    """Repeats in a row."""
    unit: str = ""
    """What repeats, at most 60 characters of it."""


NO_REPETITION = Repetition()
DEFAULT_LIMITS = RepetitionLimits()


def repetition(text: str, limits: RepetitionLimits = DEFAULT_LIMITS) -> Repetition:
    """The worst repetition of a text."""
    seen = "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in _UNSEEN)
    tokens, are_pieces = _tokens(seen)
    return worst(
        [
            _of_characters(seen, limits),
            _in_circles(tokens, are_pieces, "words", 1, 1, limits.words, limits),
            _in_circles(tokens, are_pieces, "phrases", 2, limits.max_phrase_words, limits.phrases, limits),
            _of_sentences(seen, limits),
        ]
    )


def worst(found: Iterable[Repetition]) -> Repetition:
    """The one of the highest level, the first of equal ones; none of nothing."""
    return max(found, key=lambda one: LEVELS.index(one.level), default=NO_REPETITION)


def _level(count: int, thresholds: Thresholds) -> Level:
    return LEVELS[sum(count >= threshold for threshold in thresholds)]


def _found(rule: Rule, count: int, unit: str, thresholds: Thresholds) -> Repetition:
    level = _level(count, thresholds)
    return NO_REPETITION if level == "none" else Repetition(level=level, rule=rule, count=count, unit=unit[:60])


def _of_characters(text: str, limits: RepetitionLimits) -> Repetition:
    runs = ((letter, sum(1 for _ in run)) for letter, run in groupby(text) if not letter.isspace())
    return worst(
        _found("characters", length, letter, limits.drawn if letter in _RULE_SIGNS else limits.characters)
        for letter, length in runs
        if length >= limits.characters[0]
    )


def _tokens(text: str) -> tuple[list[str], list[bool]]:
    """Words, signs and pieces in order, and which are pieces."""
    tokens, are_pieces = [], []
    for match in _TOKEN.finditer(text):
        tokens.append(" ".join(match[0].split()).casefold())
        are_pieces.append(match["piece"] is not None)
    return tokens, are_pieces


def _of_sentences(text: str, limits: RepetitionLimits) -> Repetition:
    sentences = [" ".join(part.split()).casefold() for part in _SENTENCE_END.split(text)]
    said = [sentence for sentence in sentences if sentence]
    # Short ones, and what is laid out in lines, are the tokens' business first.
    are_pieces = [len(sentence) < _MIN_SENTENCE_CHARS or sentence[0] in "|{[(" for sentence in said]
    return _in_circles(said, are_pieces, "sentences", 1, limits.max_cycle, limits.sentences, limits)


def _in_circles(
    tokens: Sequence[str],
    are_pieces: Sequence[bool],
    rule: Rule,
    shortest: int,
    longest: int,
    thresholds: Thresholds,
    limits: RepetitionLimits,
) -> Repetition:
    """The worst circle of ``shortest`` to ``longest`` tokens; one walk over the tokens for each length."""
    found = [NO_REPETITION]
    for period in range(shortest, min(longest, len(tokens) // 2) + 1):
        for start, repeats in _runs(tokens, period):
            unit = tokens[start : start + period]
            # A word again and again is also a phrase of two: that is the rule of words.
            if period > 1 and rule == "phrases" and len(set(unit)) == 1:
                continue
            wanted = limits.pieces if all(are_pieces[start : start + period]) else thresholds
            if repeats >= wanted[0]:
                found.append(_found(rule, repeats, " ".join(unit), wanted))
    return worst(found)


def _runs(tokens: Sequence[str], period: int) -> Iterable[tuple[int, int]]:
    """Where the same ``period`` tokens come twice or more in a row: the first place, and how often."""
    length = 0
    for index in range(period, len(tokens) + 1):
        if index < len(tokens) and tokens[index] == tokens[index - period]:
            length += 1
        else:
            if length >= period:
                yield index - length - period, length // period + 1
            length = 0
