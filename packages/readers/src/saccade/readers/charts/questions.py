"""Questions on a chart's table, in the forms that are understood; a number comes back with how it was found.

    value of X [in SERIES]          difference between X and Y [in S]     ratio of X to Y [in S]
    sum | total [of X, Y] [in S]    average | mean | median [of X, Y]     highest | lowest [in S]
    second highest                  count [above | below N] [in S]        range, trend, share of X
    which is higher | lower, X or Y which X has the largest total         is X more than Y

Every word of a question is accounted for: it is a name of the chart, a number, or a word of the vocabulary in one of
``FORMS``. A question in another form, with another word, or with two readings that differ, is refused.
"""

from collections.abc import Iterator

from saccade.errors import ToolError
from saccade.readers.charts.asking import name_forms as names
from saccade.readers.charts.asking import number_forms as numbers
from saccade.readers.charts.asking.matching import Tokens, is_one, matches
from saccade.readers.charts.asking.meaning import Found
from saccade.readers.charts.asking.number_forms import Form
from saccade.readers.charts.asking.phrases import PHRASES, selections
from saccade.readers.charts.asking.replies import trend_of
from saccade.readers.charts.asking.words import HOW, known_names_text, tokens_of
from saccade.readers.charts.chart import Chart

FORMS: tuple[tuple[str, Form], ...] = (
    # Numbers.
    ("TELL? WHAT? number", numbers.number),
    ("HOWMUCH|HOWHIGH IS number", numbers.number),
    ("HOWMUCH|HOWHIGH DOES number HAS", numbers.number),
    ("WHATIF VALUE DOES number HAS", numbers.number),
    ("WHATIF SHARE IS number", numbers.percent),
    ("HOWMANY SHARE IS number", numbers.percent),
    # Extremes.
    ("superlative selection?", names.bare_extreme),
    ("TELL? WHAT superlative noun selection?", names.extreme),
    ("superlative noun selection?", names.extreme),
    ("TELL? WHAT? noun OF superlative measure? selection?", names.extreme),
    ("TELL? WHAT? noun HAS superlative measure? selection?", names.extreme),
    ("WHICH|WHATIF noun HAS|IS superlative measure? selection?", names.extreme),
    ("WHICH|WHATIF noun S measure IS superlative selection?", names.extreme),
    ("WHICH noun measure IS superlative selection?", names.extreme),
    ("WHO|WHICH HAS|IS superlative measure? selection?", names.extreme),
    ("WHICH|WHATIF noun selection? HAS|IS superlative measure?", names.extreme),
    ("OF WHICH|WHATIF noun IS measure? selection? superlative", names.extreme),
    ("OF WHICH|WHATIF noun DOES selection HAS superlative measure?", names.extreme),
    ("OF WHICH|WHATIF noun DOES superlative measure? selection? HAPPEN", names.extreme),
    ("OF WHICH|WHATIF noun IS superlative measure? selection? HAPPEN", names.extreme),
    ("OF WHICH|WHATIF noun selection IS superlative measure?", names.extreme),
    ("WHICH|WHATIF noun IS superlative OF measure? selection?", names.extreme),
    ("OF? WHICH|WHATIF noun IS|HAS superlative DIFFERENCE BETWEEN|OF? selection", names.extreme_difference),
    ("OF WHICH|WHATIF noun IS DIFFERENCE BETWEEN|OF? selection superlative", names.extreme_difference),
    # Differences, ratios, shares, changes.
    ("TELL? WHAT? DIFFERENCE BETWEEN|OF? number AND|TO number", numbers.difference),
    ("TELL? WHAT? DIFFERENCE FROM number TO number", numbers.difference),
    ("TELL? WHAT? DIFFERENCE selection BETWEEN number AND number", numbers.difference_within),
    ("TELL? WHAT? number MINUS number", numbers.excess(True)),
    ("HOWMUCH|HOWMANY MORE VALUE? IS|HAS|DOES? number HAS? THAN number", numbers.excess(True)),
    ("HOWMUCH|HOWMANY LESS VALUE? IS|HAS|DOES? number HAS? THAN number", numbers.excess(False)),
    ("HOWMUCH IS|DOES? number MORE THAN number", numbers.excess(True)),
    ("HOWMUCH IS|DOES? number LESS THAN number", numbers.excess(False)),
    ("HOWMUCH DOES number ABOVE number", numbers.excess(True)),
    ("TELL? WHAT? RATIO BETWEEN|OF? number TO|AND number", numbers.ratio),
    ("TELL? WHAT? number DIVIDED number", numbers.ratio),
    ("HOWMANY TIMES MORE IS? number THAN|AS number", numbers.ratio),
    ("HOWMANY TIMES IS? number MORE THAN number", numbers.ratio),
    ("HOWMANY TIMES AS SIZED IS number AS number", numbers.ratio),
    ("HOWMANY TIMES IS number AS SIZED AS number", numbers.ratio),
    ("number IS HOWMANY TIMES number", numbers.ratio),
    ("HOWMANY TIMES AS SIZED AS number IS number", numbers.turned_ratio),
    ("TELL? WHAT? SHARE|OFTOTAL OF? number", numbers.share),
    ("TELL? WHAT? number SHARE OFTOTAL?", numbers.share),
    ("WHATIF SHARE OFTOTAL IS|DOES number MAKEUP?", numbers.share),
    ("WHATIF SHARE IS|DOES number MAKEUP OFTOTAL?", numbers.share),
    ("WHATIF SHARE OFTOTAL MAKEUP number", numbers.share),
    ("WHATIF SHARE DOES number MAKEUP OFTOTAL", numbers.share),
    ("WHATIF SHARE OF number IS number", numbers.turned_percent_of),
    ("TELL? WHAT? number AS SHARE OF number", numbers.percent_of),
    ("TELL? WHAT? CHANGE FROM number TO number", numbers.change(None)),
    ("TELL? WHAT? CHANGE selection FROM number TO number", numbers.series_change(None, percent=True)),
    ("TELL? WHAT? GROWTH FROM number TO number", numbers.change(True)),
    ("TELL? WHAT? GROWTH selection FROM number TO number", numbers.series_change(True, percent=True)),
    ("TELL? WHAT? DROP FROM number TO number", numbers.change(False)),
    ("TELL? WHAT? DROP selection FROM number TO number", numbers.series_change(False, percent=True)),
    ("BY WHATIF SHARE IS number MORE THAN number", numbers.excess_percent(True)),
    ("BY WHATIF SHARE IS number LESS THAN number", numbers.excess_percent(False)),
    ("BY WHATIF SHARE DOES selection? VALUE? RISE FROM number TO number", numbers.series_change(True, percent=True)),
    ("BY WHATIF SHARE DOES selection? VALUE? FALL FROM number TO number", numbers.series_change(False, percent=True)),
    ("HOWMUCH DOES selection? VALUE? RISE FROM number TO number", numbers.series_change(True, percent=False)),
    ("HOWMUCH DOES selection? VALUE? FALL FROM number TO number", numbers.series_change(False, percent=False)),
    ("TELL? WHAT? RISE FROM number TO number", numbers.span(True)),
    ("TELL? WHAT? FALL FROM number TO number", numbers.span(False)),
    # Comparisons.
    ("WHICH noun? IS|HAS MORE measure? selection? COMMA? choices", names.greater(True)),
    ("WHICH noun? IS|HAS LESS measure? selection? COMMA? choices", names.greater(False)),
    ("IS choices MORE selection?", names.greater(True)),
    ("IS choices LESS selection?", names.greater(False)),
    ("choices COMMA? WHICH IS|HAS MORE measure? selection?", names.greater(True)),
    ("choices COMMA? WHICH IS|HAS LESS measure? selection?", names.greater(False)),
    ("WHICH choices IS|HAS MORE measure? selection?", names.greater(True)),
    ("WHICH choices IS|HAS LESS measure? selection?", names.greater(False)),
    ("WHICH noun? IS|HAS superlative measure? selection? COMMA? choices", names.greatest),
    ("WHICH choices IS|HAS superlative measure? selection?", names.greatest),
    ("IS|DOES number HAS? VALUE? relation limit", numbers.is_true()),
    ("number IS|HAS relation limit", numbers.is_true()),
    ("DOES thing HAS MORE measure THAN thing", numbers.is_more_of("above")),
    ("DOES thing HAS LESS measure THAN thing", numbers.is_more_of("below")),
    ("DOES number ABOVE limit", numbers.is_true("above")),
    ("IS number AND number EQUAL", numbers.is_true("equal")),
    ("IS number superlative measure?", names.is_extreme),
    ("IS number superlative noun", names.is_extreme),
    ("IS number noun OF|HAS superlative measure?", names.is_extreme),
    ("DOES number HAS superlative measure?", names.is_extreme),
    # Counts.
    ("HOWMANY noun IS|HAS? THERE?", names.things(counts=True)),
    ("HOWMANY noun DOES HAS", names.things(counts=True)),
    ("TELL? WHAT? COUNT noun THERE?", names.things(counts=True)),
    ("HOWMANY VALUE IS? THERE? selection?", names.values),
    ("HOWMANY noun IS|HAS? measure? relation limit selection?", names.count()),
    ("HOWMANY noun selection IS|HAS? measure? relation limit", names.count()),
    ("HOWMANY noun HAS selection relation limit", names.count()),
    ("OF HOWMANY noun IS|DOES thing VALUE? relation thing", names.count_pairs(lists=False)),
    ("HOWMANY noun HAS MORE thing THAN thing", names.count_pairs("above", lists=False)),
    ("HOWMANY noun HAS LESS thing THAN thing", names.count_pairs("below", lists=False)),
    ("OF WHICH|WHATIF noun IS|DOES thing VALUE? relation thing", names.count_pairs(lists=True)),
    ("HOWMANY OF? VALUE selection? IS? relation limit selection?", names.count()),
    ("OF HOWMANY noun IS selection VALUE? relation limit", names.count()),
    ("OF HOWMANY noun IS VALUE|MEASURE? selection? relation limit", names.count()),
    ("OF HOWMANY noun DOES selection HAS? VALUE? relation limit", names.count()),
    ("TELL? WHAT? COUNT noun? IS|HAS? OF? VALUE? relation limit selection?", names.count()),
    ("TELL? WHAT? COUNT VALUE relation limit selection?", names.count()),
    ("HOWMANY noun IS|HAS VALUE? BETWEEN limit AND limit selection?", names.count(between=True)),
    ("HOWMANY VALUE IS? BETWEEN limit AND limit selection?", names.count(between=True)),
    ("WHICH|WHATIF noun IS|HAS VALUE? relation limit selection?", names.count(lists=True)),
    ("WHICH|WHATIF noun HAS selection relation limit", names.count(lists=True)),
    # Orders and lists.
    ("LIST noun? OF|BY? VALUE? OF? ASCENDING ORDERED? OF|BY? VALUE? selection?", names.order(False)),
    ("LIST noun? OF|BY? VALUE? OF? DESCENDING ORDERED? OF|BY? VALUE? selection?", names.order(True)),
    ("LIST noun? BY? VALUE? FROM superlative TO MIN|MAX VALUE? selection?", names.order()),
    ("WHAT? superlative n noun VALUE? selection?", names.order()),
    ("WHICH|WHAT|TELL? n superlative noun selection?", names.order()),
    ("WHICH n noun HAS|IS superlative VALUE? selection?", names.order()),
    ("LIST|TELL|WHAT noun", names.things(counts=False)),
    # Trends and colours.
    ("TELL? WHAT? TREND selection? OVERTIME?", numbers.trend),
    ("IS selection RISING OR FALLING OVERTIME?", numbers.trend),
    ("IS selection FALLING OR RISING OVERTIME?", numbers.trend),
    ("DOES selection RISE OR FALL OVERTIME?", numbers.trend),
    ("WHATIF COLOUR IS|HAS thing", numbers.colour),
    ("WHAT COLOUR OF? thing", numbers.colour),
    ("WHICH|WHATIF COLOUR MAKEUP|HAS thing", numbers.colour),
    ("WHICH noun IS SHOWN OF? thing", names.name),
    ("WHICH noun HAS COLOUR thing", names.name),
    ("WHATIF DOES thing MAKEUP", names.name),
)


__all__ = ["Found", "answer", "trend_of"]

MAX_QUESTION_CHARS = 400


def answer(chart: Chart, question: str) -> Found:
    """The answer by the chart's table. ``ToolError`` teaches what can be asked and which names there are."""
    if len(question) > MAX_QUESTION_CHARS:
        raise ToolError(f"the question has more than {MAX_QUESTION_CHARS} characters; ask a shorter one")
    if chart.kind == "scatter":
        raise ToolError("questions on scatter charts are not understood; use analyze_chart or chart_to_table")
    if not chart.is_sure:
        raise ToolError(f"the chart was not read surely enough to answer: {'; '.join(chart.doubts)}")
    found: list[Found] = []
    refusals: list[str] = []
    for tokens in _orders(tokens_of(chart, question)):
        for pattern, form in FORMS:
            for bound in matches(pattern, tokens, PHRASES):
                try:
                    found.append(form(bound, chart)(chart))
                except ToolError as error:
                    refusals.append(str(error))
    if len({(one.answer, one.value) for one in found}) > 1:
        answers = "; or ".join(dict.fromkeys(f"{one.steps[-1]}" for one in found))
        raise ToolError(f"the question can be read in several ways ({answers}); {HOW}")
    if found:
        return found[0]
    if refusals:
        raise ToolError(f"{refusals[0]}. {known_names_text(chart)}")
    raise ToolError(f"the question is in no form that is understood; {HOW}. {known_names_text(chart)}")


def _orders(tokens: Tokens) -> Iterator[Tokens]:
    """The question as it stands, and with what is said ahead of it put behind: "In 2020, which ..."."""
    yield tokens
    commas = [place for place, token in enumerate(tokens) if is_one(token, "COMMA")]
    if commas and is_one(tokens[0], "OF|ACROSS"):
        ahead, rest = tokens[: commas[0]], tokens[commas[0] + 1 :]
        if any(end == len(ahead) for _, end in selections(ahead, 0)):
            yield rest + ahead
