"""Questions on a chart's table, in the forms that are understood; a number comes back with how it was found.

    value of X [in SERIES]          difference between X and Y [in S]     ratio of X to Y [in S]
    sum | total [of X, Y] [in S]    average | mean | median [of X, Y]     highest | lowest [in S]
    second highest                  count [above | below N] [in S]        range, trend, share of X
    which is higher | lower, X or Y which X has the largest total         is X more than Y

Every word of a question is accounted for: it is a name of the chart, a number, or a word of the vocabulary in a form of
``asking.forms``. A question in another form, with another word, or with two readings that differ, is refused.
"""

from collections.abc import Iterator

from saccade.errors import ToolError
from saccade.readers.charts.asking.forms import FORMS
from saccade.readers.charts.asking.matching import Tokens, is_one, matches
from saccade.readers.charts.asking.meaning import Found
from saccade.readers.charts.asking.phrases import PHRASES, selections
from saccade.readers.charts.asking.replies import trend_of
from saccade.readers.charts.asking.words import HOW, known, tokens_of
from saccade.readers.charts.chart import Chart

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
        raise ToolError(f"{refusals[0]}. {known(chart)}")
    raise ToolError(f"the question is in no form that is understood; {HOW}. {known(chart)}")


def _orders(tokens: Tokens) -> Iterator[Tokens]:
    """The question as it stands, and with what is said ahead of it put behind: "In 2020, which ..."."""
    yield tokens
    commas = [place for place, token in enumerate(tokens) if is_one(token, "COMMA")]
    if commas and is_one(tokens[0], "OF|ACROSS"):
        ahead, rest = tokens[: commas[0]], tokens[commas[0] + 1 :]
        if any(end == len(ahead) for _, end in selections(ahead, 0)):
            yield rest + ahead
