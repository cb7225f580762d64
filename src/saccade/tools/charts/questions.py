"""Questions on a chart's table, in a small bounded grammar; a number comes back with how it was found.

    value of X [in SERIES]          difference between X and Y [in S]     ratio of X to Y [in S]
    sum | total [of X, Y] [in S]    average | mean | median [of X, Y]     highest | lowest [in S]
    second highest                  count [above | below N] [in S]        range, trend, share of X
    which is higher | lower, X or Y [in S]

Case, question words and punctuation do not matter. Names are those of the table; the longest that fits is meant.
"""

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from saccade.errors import ToolError
from saccade.tools.arguments import nearest
from saccade.tools.charts.chart import Chart, Series
from saccade.tools.charts.linearised import written
from saccade.tools.charts.table import Cell, cells_of

MAX_QUESTION_CHARS = 400

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?(?![\w.])")
_HOW = (
    "ask for one of: value of X, difference between X and Y, ratio of X to Y, sum, average, median, highest, lowest, "
    "second highest, which is higher X or Y, count above N, count below N, range, trend, share of X; add a series' name"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """An answer, its number if it is one, and the steps that led to it."""

    answer: str
    value: float | None
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Question:
    words: str
    """In lower case, without the names that were found in it."""
    chart: Chart
    series: tuple[Series, ...]
    """Those that are named, or all."""
    names: tuple[str, ...]
    """The categories that are named, in the order of the question."""

    @property
    def cells(self) -> list[Cell]:
        """The cells that are asked for."""
        cells = [cell for cell in cells_of(self.chart) if cell.series in self.series]
        return [cell for cell in cells if cell.category in self.names] if self.names else cells


def answer(chart: Chart, question: str) -> Found:
    """The answer by the chart's table. ``ToolError`` teaches what can be asked and which names there are."""
    if len(question) > MAX_QUESTION_CHARS:
        raise ToolError(f"the question has more than {MAX_QUESTION_CHARS} characters; ask a shorter one")
    if chart.kind == "scatter":
        raise ToolError("questions on scatter charts are not understood; use analyze_chart or chart_to_table")
    asked = _parsed(chart, question)
    for pattern, method in _METHODS:
        if re.search(pattern, asked.words):
            return method(asked)
    if asked.names:
        return _value(asked)
    raise ToolError(f"the question is not understood; {_HOW}. {_known(chart)}")


def _parsed(chart: Chart, question: str) -> _Question:
    words = f" {' '.join(re.sub(r'[?!;:,()]', ' ', question).casefold().split())} "
    series, words = _taken(words, [series.name for series in chart.series] if len(chart.series) > 1 else [])
    names, words = _taken(words, list(chart.categories))
    quoted = [said.strip() for said in re.findall(r"[\"']([^\"']{1,60})[\"']", words) if said.strip()]
    if quoted:
        raise ToolError(f"there is no {quoted[0]!r} in the chart; {_known(chart, quoted[0])}")
    chosen = tuple(one for one in chart.series if one.name in series) or chart.series
    return _Question(words=words, chart=chart, series=chosen, names=tuple(names))


def _taken(words: str, names: Sequence[str]) -> tuple[list[str], str]:
    """The names that occur as whole words, in their order, and the words without them; longer names first."""
    found: list[tuple[int, str]] = []
    for name in sorted(set(names), key=len, reverse=True):
        said = " ".join(name.casefold().split())
        if not said:
            continue
        match = re.search(rf"(?<![\w]){re.escape(said)}(?:'s)?(?![\w])", words)
        if match:
            found.append((match.start(), name))
            words = words[: match.start()] + "\0" * (match.end() - match.start()) + words[match.end() :]
    return [name for _, name in sorted(found)], words.replace("\0", " ")


def _value(asked: _Question) -> Found:
    cells = asked.cells
    _need(asked, len(asked.names) >= 1, "name the category whose value is asked for")
    if len(cells) == 1:
        return _number(cells[0].value, f"{cells[0].told}")
    return Found(answer="; ".join(cell.told for cell in cells), value=None, steps=tuple(cell.told for cell in cells))


def _pair(asked: _Question) -> tuple[Cell, Cell]:
    """The two cells of a comparison: two categories of one series, or one category of two series."""
    cells = asked.cells
    if len(asked.names) == 2:
        first, second = (
            [cell for cell in cells if cell.category == name and cell.series == asked.series[0]] for name in asked.names
        )
        _need(asked, len(asked.series) == 1, "name the series in which the two are compared")
        _need(asked, bool(first and second), "one of the two values is not known")
        return first[0], second[0]
    _need(asked, len(asked.series) == 2 and len(asked.names) == 1 and len(cells) == 2, "name two categories to compare")
    return cells[0], cells[1]


def _difference(asked: _Question) -> Found:
    one, other = _pair(asked)
    value = abs(one.value - other.value)
    return _number(value, one.told, other.told, f"|{written(one.value)} - {written(other.value)}| = {written(value)}")


def _ratio(asked: _Question) -> Found:
    one, other = _pair(asked)
    _need(asked, other.value != 0, f"{other.name} is zero, so there is no ratio")
    value = one.value / other.value
    return _number(value, one.told, other.told, f"{written(one.value)} / {written(other.value)} = {written(value)}")


def _share(asked: _Question) -> Found:
    cells = asked.cells
    _need(asked, len(asked.names) == 1 and len(cells) == 1, "name one category and, of several series, the series")
    column = [cell.value for cell in cells_of(asked.chart) if cell.series == cells[0].series]
    total = sum(column)
    _need(asked, total != 0, "the values add up to zero, so there are no shares")
    value = 100 * cells[0].value / total
    return _number(value, cells[0].told, f"total = {written(total)}", f"share = {written(value)} %")


def _aggregate(name: str, function: Callable[[list[float]], float]) -> Callable[[_Question], Found]:
    def method(asked: _Question) -> Found:
        cells = _some(asked)
        value = function([cell.value for cell in cells])
        return _number(value, f"{name} of {', '.join(written(cell.value) for cell in cells)} = {written(value)}")

    return method


def _extreme(place: int, *, is_highest: bool) -> Callable[[_Question], Found]:
    def method(asked: _Question) -> Found:
        cells = sorted(_some(asked), key=lambda cell: cell.value, reverse=is_highest)
        _need(asked, len(cells) > place, "there are too few values")
        cell = cells[place]
        word = "highest" if is_highest else "lowest"
        order = "second " if place else ""
        return Found(answer=_which(asked, cell), value=cell.value, steps=(f"{order}{word}: {cell.told}",))

    return method


def _which(asked: _Question, cell: Cell) -> str:
    """What tells the cell from the others that were asked for."""
    if len(asked.series) == 1:
        return cell.category
    return cell.series.name if len(asked.names) == 1 else cell.name


def _comparison(asked: _Question) -> Found:
    one, other = _pair(asked)
    is_lower = re.search(r"\b(?:lower|smaller|less|shorter|fewer)\b", asked.words)
    _need(asked, one.value != other.value, f"{one.name} and {other.name} are equal")
    cell = (min if is_lower else max)(one, other, key=lambda cell: cell.value)
    return Found(answer=_which(asked, cell), value=cell.value, steps=(one.told, other.told))


def _count(asked: _Question) -> Found:
    above = re.search(r"above|over|more than|greater than|higher than|exceed", asked.words)
    below = re.search(r"below|under|less than|lower than|fewer than|smaller than", asked.words)
    cells = _some(asked)
    if not above and not below:
        return _number(float(len(cells)), f"{len(cells)} values")
    numbers = _NUMBER.findall(asked.words)
    _need(asked, len(numbers) == 1, "write one number after above or below")
    limit = float(numbers[0])
    counted = [cell for cell in cells if (cell.value > limit if above else cell.value < limit)]
    word = "above" if above else "below"
    return _number(
        float(len(counted)), f"{word} {written(limit)}: {', '.join(cell.told for cell in counted) or 'none'}"
    )


def _range(asked: _Question) -> Found:
    values = [cell.value for cell in _some(asked)]
    value = max(values) - min(values)
    return _number(value, f"{written(max(values))} - {written(min(values))} = {written(value)}")


def _trend(asked: _Question) -> Found:
    _need(asked, len(asked.series) == 1, "name the series whose trend is asked for")
    values = [cell.value for cell in _some(asked)]
    word = trend_of(values)
    return Found(answer=word, value=None, steps=(f"from {written(values[0])} to {written(values[-1])}: {word}",))


def trend_of(values: Sequence[float]) -> str:
    """``rising``, ``falling``, ``steady`` or ``mixed``, by whether every step goes one way, or nearly the whole way."""
    steps = [after - before for before, after in pairwise(values)]
    way = sum(abs(step) for step in steps)
    if not steps or way <= 0.02 * max(abs(value) for value in values):
        return "steady"
    if abs(values[-1] - values[0]) < 0.6 * way:
        return "mixed"
    return "rising" if values[-1] > values[0] else "falling"


_METHODS: tuple[tuple[str, Callable[[_Question], Found]], ...] = (
    (r"\bhow many percent\b", _value),
    (r"\bwhich\b.*\b(?:higher|larger|greater|bigger|taller|lower|smaller|shorter)\b", _comparison),
    (r"\b(?:how many|count|number of)\b", _count),
    (r"\b(?:difference|differ|how much (?:more|less|higher|lower|larger|smaller))\b", _difference),
    (r"\b(?:ratio|times as|divided by)\b", _ratio),
    (r"\b(?:share|percentage|proportion|fraction)\b", _share),
    (r"\bmedian\b", _aggregate("median", statistics.median)),
    (r"\b(?:average|mean)\b", _aggregate("mean", statistics.fmean)),
    (r"\b(?:sum|total|altogether|combined)\b", _aggregate("sum", sum)),
    (r"\brange\b", _range),
    (r"\b(?:trend|rise|rising|fall|falling|increase|increasing|decrease|decreasing)\b", _trend),
    (r"\bsecond[- ](?:highest|largest|most|biggest|tallest|maximum)\b", _extreme(1, is_highest=True)),
    (r"\bsecond[- ](?:lowest|smallest|least|shortest|minimum)\b", _extreme(1, is_highest=False)),
    (r"\b(?:highest|largest|most|maximum|max|biggest|tallest|greatest|peak)\b", _extreme(0, is_highest=True)),
    (r"\b(?:lowest|smallest|least|minimum|min|shortest|fewest)\b", _extreme(0, is_highest=False)),
    (r"\b(?:value|how high|how much|what is)\b", _value),
)


def _some(asked: _Question) -> list[Cell]:
    cells = asked.cells
    _need(asked, bool(cells), "no value of these names is known")
    return cells


def _number(value: float, *steps: str) -> Found:
    return Found(answer=written(value), value=value, steps=steps)


def _need(asked: _Question, holds: bool, what: str) -> None:
    if not holds:
        raise ToolError(f"{what}. {_known(asked.chart)}")


def _known(chart: Chart, meant: str = "") -> str:
    categories = f"The categories are {', '.join(chart.categories[:24])}"
    series = f"; the series are {', '.join(one.name for one in chart.series[:12])}" if len(chart.series) > 1 else ""
    suggestion = nearest(meant, [*chart.categories, *(one.name for one in chart.series)]) if meant else None
    return f"{categories}{series}" + (f"; did you mean {suggestion}?" if suggestion else "")
