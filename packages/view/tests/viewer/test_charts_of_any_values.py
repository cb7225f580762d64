"""Charts of values that a run may well have: constant, a rounding apart, empty, infinite, huge."""

import itertools
import math
import re

from hypothesis import given
from hypothesis import strategies as st

from saccade.viewer.charts import HEIGHT, WIDTH, Line, line_chart, ticks

ODD = (0.0, 5e-324, 2e-4, 2.0000000000000004e-4, 1.0, 1 + 1e-15, 1.7e308, -1.7e308, math.nan, math.inf, 1e-12)


def assert_is_drawn(values: tuple[float, ...]) -> None:
    svg = line_chart([Line(label="loss", points=tuple(enumerate(values, 1)))], title="loss")
    places = [float(place) for place in re.findall(r' c[xy]="([^"]*)"', svg)]
    assert all(0 <= place <= max(WIDTH, HEIGHT) for place in places)
    assert len(places) == 2 * sum(map(math.isfinite, values))


def test_odd_values_are_drawn() -> None:
    for count in range(4):
        for values in itertools.product(ODD, repeat=count):
            assert_is_drawn(values)


@given(st.lists(st.floats(), max_size=8))
def test_any_values_are_drawn(values: list[float]) -> None:
    assert_is_drawn(tuple(values))


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_there_are_a_few_ticks_whatever_lies_between(one: float, other: float) -> None:
    assert 2 <= len(ticks(min(one, other), max(one, other))) <= 12


def test_a_constant_rate_that_was_averaged_is_one_value() -> None:
    rates = [2e-4 * count / count for count in range(1, 3000)]
    assert len(set(rates)) > 1
    assert ticks(min(rates), max(rates))[0] < 2e-4 < ticks(min(rates), max(rates))[-1]
