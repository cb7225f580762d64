"""Questions on a table: each kind with an answer worked out by hand, and errors that name what there is."""

import pytest

from saccade.errors import ToolError
from saccade.tools.charts.chart import Chart, Series
from saccade.tools.charts.questions import answer, trend_of

GOODS = Chart(
    kind="bar",
    categories=("tea", "milk", "rice", "green tea"),
    series=(Series(name="value", values=(10.0, 40.0, 25.0, 5.0)),),
)
YEARS = Chart(
    kind="line",
    categories=("Mon", "Tue", "Wed"),
    series=(Series(name="red", values=(1.0, 4.0, 2.0)), Series(name="blue", values=(3.0, 3.0, None))),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("value of milk", "40"),
        ("What is the value of TEA?", "10"),
        ("How high is the bar of green tea?", "5"),
        ("How many percent is rice?", "25"),
        ("difference between milk and tea", "30"),
        ("How much higher is rice than tea?", "15"),
        ("ratio of milk to tea", "4"),
        ("sum", "80"),
        ("total of tea and rice", "35"),
        ("What is the average?", "20"),
        ("median", "17.5"),
        ("range", "35"),
        ("share of milk", "50"),
        ("Which bar is the tallest?", "milk"),
        ("lowest", "green tea"),
        ("second highest", "rice"),
        ("second-lowest", "tea"),
        ("Which is larger, tea or rice?", "rice"),
        ("which is lower: tea or rice", "tea"),
        ("How many bars have a value above 9.5?", "3"),
        ("count below 10", "1"),
        ("how many values are there?", "4"),
    ],
)
def test_a_question_on_one_series_has_its_answer(question: str, expected: str):
    assert answer(GOODS, question).answer == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("value of the red line on Tue", "4"),
        ("On which day is the red line highest?", "Tue"),
        ("Which line is higher on Mon: red or blue?", "blue"),
        ("difference between Tue and Mon in red", "3"),
        ("difference between red and blue on Tue", "1"),
        ("average of blue", "3"),
        ("value of Tue", "Tue in red = 4; Tue in blue = 3"),
        ("highest", "Tue in red"),
        ("trend of red", "mixed"),
    ],
)
def test_a_question_on_several_series_has_its_answer(question: str, expected: str):
    assert answer(YEARS, question).answer == expected


def test_the_steps_tell_how_the_answer_was_found():
    assert answer(GOODS, "difference between milk and tea").steps == ("milk = 40", "tea = 10", "|40 - 10| = 30")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("sing a song", "ask for one of"),
        ("", "ask for one of"),
        ("value of sugar", "name the category.*tea, milk"),
        ("difference between tea", "name two categories"),
        ("value of 'mlk'", "did you mean milk"),
        ("count above many", "one number"),
        ("x" * 500, "more than 400 characters"),
    ],
)
def test_a_question_that_cannot_be_answered_teaches_what_can(question: str, message: str):
    with pytest.raises(ToolError, match=message):
        answer(GOODS, question)


def test_a_value_that_is_not_known_is_not_made_up():
    with pytest.raises(ToolError, match="no value of these names is known"):
        answer(YEARS, "highest of blue on Wed")


def test_a_ratio_to_zero_is_refused():
    chart = Chart(kind="bar", categories=("a", "b"), series=(Series(name="v", values=(1.0, 0.0)),))
    with pytest.raises(ToolError, match="zero"):
        answer(chart, "ratio of a to b")


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1, 2, 3), "rising"), ((3, 2, 1), "falling"), ((5, 5, 5), "steady"), ((1, 9, 1), "mixed"), ((4,), "steady")],
)
def test_a_trend_is_named_by_how_straight_the_way_is(values: tuple[float, ...], expected: str):
    assert trend_of(values) == expected
