"""Questions on a table: each kind with an answer worked out by hand, and errors that name what there is."""

import pytest

from saccade.errors import ToolError
from saccade.readers.charts.chart import Chart, Series
from saccade.readers.charts.questions import answer, trend_of

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
        ("count below 9", "1"),
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
        ("value of sugar", "'sugar' is neither a known word nor in the chart.*tea, milk"),
        ("difference between tea", "no form that is understood"),
        ("value of 'mlk'", "did you mean milk"),
        ("count above many", "no form that is understood"),
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


SALES = Chart(
    kind="bar",
    title="Sales by country",
    arrangement="grouped",
    categories=("2010", "2011", "2012", "2013"),
    series=(
        Series(name="Peru", values=(4.0, 8.0, 6.0, 2.0), colour=(31, 90, 200)),
        Series(name="Chile", values=(5.0, 3.0, 9.0, 1.0), colour=(214, 39, 40)),
    ),
)
SHARES = Chart(
    kind="pie",
    categories=("Rent", "Food", "Fun"),
    series=(Series(name="share", values=(50.0, 30.0, 20.0), colours=((214, 39, 40), (31, 90, 200), (44, 160, 44))),),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which year has the smallest total?", "2013"),
        ("What is the ratio of the sales of Peru in 2011 to that in 2010?", None),
        ("What is the ratio of Peru in 2010 to Peru in 2011?", "0.5"),
        ("How many times as large as 2010 is 2011 for Peru?", None),
        ("How many categories are there?", "4"),
        ("How many series are there?", "2"),
        ("What is the smallest value of the blue bars?", "2"),
        ("Is the sum of Peru and Chile in 2010 greater than the sum of Peru and Chile in 2011?", "no"),
        ("Is the total of Peru more than the total of Chile?", "yes"),
        ("Which country has the highest average?", "Peru"),
        ("In how many years was Peru higher than Chile?", "2"),
        ("Which year has the largest difference between Peru and Chile?", "2011"),
        ("In 2012, which is larger: Peru or Chile?", "Chile"),
        ("How much did Peru increase from 2010 to 2011?", "4"),
        ("What color is Chile?", "red"),
        ("What is Peru plus Chile in 2010?", "9"),
        ("What is the sum of Peru, excluding 2010?", None),
        ("Which year has the highest value?", "2012"),
        ("Which year has the second highest value?", None),
        ("What is the difference between 2010 and 2011?", None),
        ("What is the average of Peru per person?", None),
        ("Is Peru in 2010 greater than 2011?", None),
        ("Which city has the highest average?", "Peru"),
        ("Which month has the smallest total?", None),
        ("How many values are not above 5.5?", None),
        ("What is the sum of Peru and 2010?", None),
        ("How many years was Peru above 3 and Chile above 3?", None),
    ],
)
def test_each_word_is_understood_or_the_question_is_refused(question: str, expected: str | None):
    try:
        found: str | None = answer(SALES, question).answer
    except ToolError:
        found = None
    assert found == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is the sum of Food and Fun greater than 49?", "yes"),
        ("What percentage does the blue slice represent?", "30"),
        ("List the categories in ascending order.", "Fun, Food, Rent"),
        ("Which slice is the second largest?", "Food"),
        ("Is Rent the largest slice?", "yes"),
        ("What is the ratio of Rent to the sum of Food and Fun?", "1"),
    ],
)
def test_a_question_on_a_pie_has_its_answer(question: str, expected: str):
    assert answer(SHARES, question).answer == expected


def test_values_that_a_drawing_cannot_tell_apart_are_not_compared():
    drawn = Chart(kind="bar", categories=("a", "b"), series=(Series(name="v", values=(100.0, 100.1)),))
    with pytest.raises(ToolError, match="too near to each other"):
        answer(drawn, "Which is larger, a or b?")
    written = Chart(kind="table", categories=drawn.categories, series=drawn.series)
    assert answer(written, "Which is larger, a or b?").answer == "b"


def test_a_chart_that_was_not_read_surely_is_asked_nothing():
    doubtful = Chart(
        kind="bar", categories=("a",), series=(Series(name="v", values=(1.0,)),), confidence=0.5, doubts=("two axes",)
    )
    with pytest.raises(ToolError, match="two axes"):
        answer(doubtful, "value of a")
