"""A question as tokens: names of the chart, numbers and known words, or refused where anything is left over."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from saccade.errors import ToolError, nearest
from saccade.readers.charts.asking.vocabulary import LONGEST, NUMBER_NAMES, ORDINALS, PHRASES
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.colours import colour_name

_PIECES = re.compile(r"-?\d+(?:,\d{3})+(?:\.\d+)?|-?\d*\.?\d+|'s\b|[^\W\d_]+(?:[-/&.'](?!s\b)[^\W\d_]+)*|,|\S")
_NUMBER = re.compile(r"-?(?:\d+(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)")
_TITLE_END = re.compile(
    r"\b(?:by|per|in|of|for|from|over|and|vs|versus|between|among|since|at|on|with|to)\b|[&,:;(\-/]"
)

HOW = (
    "ask for one of: value of X, difference between X and Y, ratio of X to Y, sum, average, median, highest, lowest, "
    "second highest, which is higher X or Y, is X more than Y, count above N, count below N, range, trend, share of X; "
    "add a series' name"
)


@dataclass(frozen=True, slots=True)
class QuestionToken:
    """A part of the question: what it says, and all that it can stand for."""

    said: str
    symbols: frozenset[str] = frozenset()
    category: str | None = None
    series: Series | None = None
    number: float | None = None
    ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class _Name:
    words: tuple[str, ...]
    token: QuestionToken


def tokens_of(chart: Chart, question: str) -> tuple[QuestionToken, ...]:
    """The tokens in their order; ``ToolError`` names the first word that is neither known nor in the chart."""
    pieces = [piece for piece in _PIECES.findall(_plain(question)) if piece not in "?!.:;\"'()"]
    names = sorted(_names(chart), key=lambda name: -len(name.words))
    tokens: list[QuestionToken] = []
    place = 0
    while place < len(pieces):
        found = list(_fitting(names, pieces, place))
        if found:
            length = len(found[0].words)
            meant = {name.token for name in found if len(name.words) == length}
            if len(meant) > 1:
                said = " ".join(pieces[place : place + length])
                raise ToolError(f"{said!r} names several things in the chart, so the question is not clear")
            tokens.append(meant.pop())
            place += length
            continue
        token, length = _known(pieces, place, chart)
        if token is not None:
            tokens.append(token)
        place += length
    return tuple(tokens)


def _plain(text: str) -> str:
    text = text.casefold().replace("’", "'").replace("−", "-").replace("–", "-")
    return re.sub(r"\b(second|third|fourth|two|three|x)-(?=[a-z])", r"\1 ", text).replace("x axis", "x-axis")


def _split(text: str) -> tuple[str, ...]:
    return tuple(piece for piece in _PIECES.findall(_plain(text)) if piece not in "?!.:;\"'()")


def _fitting(names: list[_Name], pieces: list[str], place: int) -> Iterator[_Name]:
    for name in names:
        if tuple(pieces[place : place + len(name.words)]) == name.words:
            yield name


def _names(chart: Chart) -> Iterator[_Name]:
    """The chart's own names; colours too, where each stands for one thing."""
    named = list(chart.series) if len(chart.series) > 1 else []
    for series in named:
        yield _Name(_split(series.name), QuestionToken(series.name, series=series))
    for category in dict.fromkeys(chart.categories):
        yield _Name(_split(category), QuestionToken(category, category=category))
    taken = {_split(name) for name in (*chart.categories, *(series.name for series in named))}
    for colour, token in _coloured(chart).items():
        if (colour,) not in taken:
            for noun in ("", "bar", "bars", "line", "slice", "segment", "one", "sector", "series"):
                yield _Name(_split(f"{colour} {noun}"), token)
    # The nouns of the title before its first preposition, and of the value axis, say what is measured.
    for text in (chart.title, chart.y_axis.label, chart.x_axis.label if chart.is_horizontal else ""):
        if (words := _split(_TITLE_END.split(_plain(text))[0])) and not any(word in _SINGLE for word in words):
            yield _Name(words, QuestionToken(" ".join(words), symbols=frozenset({"MEASURE"})))


_SINGLE = {words[0] for words in PHRASES if len(words) == 1}


def _coloured(chart: Chart) -> dict[str, QuestionToken]:
    """Things by the name of their colour, where no other has it."""
    found: dict[str, list[QuestionToken]] = {}
    for series in chart.series:
        if len(chart.series) > 1 and series.colour is not None:
            found.setdefault(colour_name(series.colour), []).append(QuestionToken(series.name, series=series))
        if len(chart.series) == 1:
            for category, colour in zip(chart.categories, series.colours, strict=False):
                if colour is not None:
                    found.setdefault(colour_name(colour), []).append(QuestionToken(category, category=category))
    single = {name: tokens[0] for name, tokens in found.items() if len(tokens) == 1}
    for name in list(single):
        base = name.split()[-1]
        if base != name and sum(other.split()[-1] == base for other in found) == 1:
            single[base] = single[name]
    return single


def _known(pieces: list[str], place: int, chart: Chart) -> tuple[QuestionToken | None, int]:
    """The longest phrase of the vocabulary at a place, None for noise, and its length."""
    for length in range(min(LONGEST, len(pieces) - place), 0, -1):
        words = tuple(pieces[place : place + length])
        symbols = PHRASES.get(words)
        if symbols is not None:
            return (QuestionToken(" ".join(words), symbols=frozenset(symbols)) if symbols else None), length
    said = pieces[place]
    if said in NUMBER_NAMES:
        return QuestionToken(said, number=float(NUMBER_NAMES.index(said) + 1)), 1
    if said in ORDINALS:
        return QuestionToken(said, ordinal=ORDINALS.index(said)), 1
    if re.fullmatch(r"\d(?:st|nd|rd|th)", "".join(pieces[place : place + 2])):
        return QuestionToken(said, ordinal=int(said) - 1), 2
    if _NUMBER.fullmatch(said):
        return QuestionToken(said, number=float(said.replace(",", ""))), 1 + (pieces[place + 1 : place + 2] == ["%"])
    if said == "%":
        return QuestionToken(said, symbols=frozenset({"SHARE"})), 1
    raise ToolError(f"{said!r} is neither a known word nor in the chart; {HOW}. {known(chart, said)}")


def known(chart: Chart, meant: str = "") -> str:
    """What can be named in a question on a chart, with the name that is nearest to what was meant."""
    categories = f"The categories are {', '.join(chart.categories[:24])}"
    series = f"; the series are {', '.join(one.name for one in chart.series[:12])}" if len(chart.series) > 1 else ""
    suggestion = nearest(meant, [*chart.categories, *(one.name for one in chart.series)]) if meant else None
    return f"{categories}{series}" + (f"; did you mean {suggestion}?" if suggestion else "")
