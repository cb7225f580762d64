"""A question as tokens: names of the chart, numbers and words of the vocabulary; any other word is refused."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from saccade.errors import ToolError, nearest
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.colours import colour_name

SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        # Superlatives, comparatives and relations.
        "MAX": "highest|largest|greatest|biggest|tallest|longest|maximum|maximal|max|most|peak|top",
        "MIN": "lowest|smallest|least|shortest|minimum|minimal|min|fewest|tiniest",
        "MORE": "more|higher|larger|greater|bigger|taller|longer",
        "LESS": "less|lower|smaller|fewer|shorter",
        "SIZED": "large|high|big|tall|great|much|many|long",
        "ABOVE": "above|over|exceeding|exceed|exceeds|exceeded",
        "BELOW": "below|under|beneath",
        "ATLEAST": "at least|no less than|not less than|no fewer than",
        "ATMOST": "at most|no more than|not more than|no higher than",
        "EQUAL": "equal|equals|the same as|same as|exactly",
        "THAN": "than",
        # What is worked out.
        "SUM": "sum|total|sum total|overall total|grand total|combined value|combined total",
        "TOGETHER": "together|combined|altogether|in total|added up|add up|added together|in sum|add together",
        "MEAN": "average|mean|average value|mean value|arithmetic mean",
        "ONAVERAGE": "on average",
        "MEDIAN": "median|median value",
        "RANGE": "range",
        "DIFFERENCE": "difference|differences|gap|absolute difference|difference in value|difference in values",
        "MINUS": "minus",
        "RATIO": "ratio",
        "TIMES": "times",
        "DIVIDED": "divided by",
        "TWICE": "twice|double",
        "HALF": "half",
        "SHARE": "share|percentage|proportion|fraction|percentage share|percent share|percent",
        "OFTOTAL": "of the total|of total|of the whole|of the sum|of the pie|of the grand total|of everything",
        "CHANGE": "percentage change|percent change|relative change|percentage growth|percent growth|growth rate",
        "GROWTH": "percentage increase|percent increase",
        "DROP": "percentage decrease|percent decrease|percentage drop|percentage decline",
        "RISE": "increase|grow|rise|increased|grew|rose",
        "FALL": "decrease|fall|drop|decline|decreased|fell|dropped|declined",
        "TREND": "trend|overall trend|general trend",
        "RISING": "rising|increasing|growing",
        "FALLING": "falling|decreasing|declining",
        "OVERTIME": "over time|over the years|over the period|with time",
        "COUNT": "count|number of|the number of|total number of",
        # What is asked for.
        "WHAT": "what 's|what is|what was|what are|what were|what's|what will be",
        "WHATIF": "what",
        "TELL": "tell me|give me|give|find|calculate|compute|determine|name|state|report|identify|work out|say",
        "WHICH": "which|which one|whose",
        "WHO": "who",
        "WHEN": "when",
        "HOWMANY": "how many",
        "HOWMUCH": "how much|by how much",
        "HOWHIGH": "how high|how large|how big|how tall|how great|how long",
        "LIST": "list|sort|rank|order|arrange|put",
        "ASCENDING": "ascending|increasing order of|ascending order of",
        "DESCENDING": "descending|decreasing order of|descending order of",
        "ORDERED": "order|in order|sorted|ranked|ordered",
        # Verbs.
        "IS": "is|are|was|were|be|being|lie|lies",
        "HAS": "has|have|had|shows|show|showed|reaches|reach|reached|records|record|recorded|takes|with|having",
        "DOES": "does|do|did",
        "HAPPEN": "occur|occurs|occurred|happen|observed|found|occurring",
        "MAKEUP": "make up|makes up|stand for|stands for|take up|take|made up|account for|accounts for|accounted for"
        "|represent|represents|constitute",
        "THERE": "are there|there are|is there|are shown|are displayed|are plotted|are in|are drawn|are listed|there",
        # Small words.
        "OF": "of|for|in|on|at|during|within",
        "BY": "by",
        "S": "'s",
        "AND": "and",
        "PLUS": "plus",
        "BOTH": "both",
        "OR": "or",
        "TO": "to",
        "FROM": "from",
        "AS": "as",
        "BETWEEN": "between|among",
        "ACROSS": "across|through|throughout",
        "ALL": "all|every|each|all the|all of|the whole|entire",
        "IT": "that|those|the one|it",
        "COMMA": ",",
        # Nouns.
        "VALUE": "value|values|amount|amounts|figure|figures|level|reading|height|size|data value"
        "|data values|numeric value",
        "CATEGORY": "category|categories|x-axis label|x-axis labels|x-axis category|x-axis categories|label|labels",
        "SERIES": "series|data series|legend entry|legend entries|legend label|legend labels|variable|variables",
        "MARK": "bar|bars|slice|slices|sector|sectors|segment|segments|point|points|column|columns|wedge|data point"
        "|data points|wedges|dot|dots",
        "LINE": "line|lines|curve|curves",
        "YEAR": "year|years",
        "MONTH": "month|months",
        "DAY": "day|days",
        "THING": "item|items|group|groups|entry|entries|thing|things|option|options|country|countries|city|cities"
        "|product|products|company|companies|region|regions|state|states|brand|brands|person|people|team|teams|sport|sports"
        "|department|departments|fruit|fruits|age group|age groups|type|types|kind|kinds|source|sources|sector",
        "COLOUR": "colour|color|colours|colors",
        "SHOWN": "shown in|drawn in|coloured|colored|painted|represented by|shown by|filled with",
        "MEASURE": "",
    }
)
"""Words and phrases by symbol, between bars. A word that is not here, no name, no number and no noun of the chart's own
title makes a question one that is not understood."""

NOISE = (
    "the|a|an|please|is it true that|true that|different|distinct|approximately|this|given|shown"
    "|depicted|respective|me|then|exact"
    "|in the chart|in this chart|of the chart|on the chart|in the graph|in this graph|of the graph|on the graph"
    "|in the figure|in the plot|in this plot|of the plot|in the diagram|in the picture|in the image|in the bar chart"
    "|in the line chart|in the pie chart|in the pie|of the pie|in the bar graph|in the line graph|in the given chart"
    "|according to the chart|according to the graph|based on the chart|based on the graph|from the chart"
    "|in the legend|on the x-axis|the chart|the graph|this chart|in the table|on the y-axis|chart|graph|pie chart"
    "|in the stacked bar chart|in the grouped bar chart"
)
"""Words that may be left out without another meaning."""

NUMBER_NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINALS = ("first", "second", "third", "fourth", "fifth")


def phrases() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The symbols of each phrase, by its words; none for noise."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {tuple(phrase.split()): () for phrase in NOISE.split("|")}
    for symbol, listed in SYMBOLS.items():
        for phrase in filter(None, listed.split("|")):
            words = tuple(phrase.split())
            found[words] = (*found.get(words, ()), symbol)
    return found


PHRASES: Mapping[tuple[str, ...], tuple[str, ...]] = MappingProxyType(phrases())
LONGEST = max(map(len, PHRASES))


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
        token, length = _token_at(pieces, place, chart)
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
    for colour, token in _things_by_colour(chart).items():
        if (colour,) not in taken:
            for noun in ("", "bar", "bars", "line", "slice", "segment", "one", "sector", "series"):
                yield _Name(_split(f"{colour} {noun}"), token)
    # The nouns of the title before its first preposition, and of the value axis, say what is measured.
    for text in (chart.title, chart.y_axis.label, chart.x_axis.label if chart.is_horizontal else ""):
        if (words := _split(_TITLE_END.split(_plain(text))[0])) and not any(word in _SINGLE for word in words):
            yield _Name(words, QuestionToken(" ".join(words), symbols=frozenset({"MEASURE"})))


_SINGLE = {words[0] for words in PHRASES if len(words) == 1}


def _things_by_colour(chart: Chart) -> dict[str, QuestionToken]:
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


def _token_at(pieces: list[str], place: int, chart: Chart) -> tuple[QuestionToken | None, int]:
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
    raise ToolError(f"{said!r} is neither a known word nor in the chart; {HOW}. {known_names_text(chart, said)}")


def known_names_text(chart: Chart, meant: str = "") -> str:
    """The names that a question on a chart may use, and the one nearest to a name that was not found."""
    categories = f"The categories are {', '.join(chart.categories[:24])}"
    series = f"; the series are {', '.join(one.name for one in chart.series[:12])}" if len(chart.series) > 1 else ""
    suggestion = nearest(meant, [*chart.categories, *(one.name for one in chart.series)]) if meant else None
    return f"{categories}{series}" + (f"; did you mean {suggestion}?" if suggestion else "")
