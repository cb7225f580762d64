import math

import pytest

from saccade.quantities import Quantity, parse_integer, parse_quantity, quantities_agree
from saccade.rewards.answers.expressions import evaluate


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("7", 7.0, ""),
        (" -1,234.5 ", -1234.5, ""),
        ("−3", -3.0, ""),
        ("+.5", 0.5, ""),
        ("5.", 5.0, ""),
        ("1e3", 1000.0, ""),
        ("45%", 45.0, "%"),
        ("45 percent", 45.0, "%"),
        ("$1,200", 1200.0, "$"),
        ("-$5", -5.0, "$"),
        ("3.2 million", 3.2e6, ""),
        ("3.2M", 3.2e6, ""),
        ("3 m", 3.0, "m"),
        ("$4 billion", 4e9, "$"),
        ("2 thousand dollars", 2000.0, "$"),
        ("60°", 60.0, "°"),
        ("60 Degrees", 60.0, "°"),
        ("12cm", 12.0, "cm"),
    ],
)
def test_a_whole_text_that_is_a_number_is_read(text: str, value: float, unit: str) -> None:
    assert parse_quantity(text) == Quantity(pytest.approx(value), unit)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ".", "-", "nan", "inf", "-Infinity", "1e999", "1,23", "12,3456", "1.234,5", "1 234", "3 or 4",
        "about 5", "5 apples", "5 million apples", "1.2.3", "--1", "٣", "²", "0x10", "1_000", "9" * 400,
        "1" + "0" * 70,
        "5 %%", "four",
    ],
)  # fmt: skip
def test_anything_else_is_no_number(text: str) -> None:
    assert parse_quantity(text) is None


def test_integers_may_be_words_up_to_twenty() -> None:
    read = [parse_integer(text) for text in ("Three", "twenty.", "3", "3.0", "3 px", "3.5", "many", "")]
    assert read == [3, 20, 3, 3, 3, None, None, None]


def test_units_must_agree_where_both_are_given() -> None:
    assert quantities_agree(Quantity(60, "°"), Quantity(60), 0.0)
    assert quantities_agree(Quantity(60), Quantity(60, "°"), 0.0)
    assert not quantities_agree(Quantity(60, "cm"), Quantity(60, "°"), 0.0)


def test_percent_against_a_bare_number_is_hundredths_or_the_axis_unit() -> None:
    forty_five = Quantity(45, "%")
    assert quantities_agree(forty_five, Quantity(45), 0.0)
    assert quantities_agree(forty_five, Quantity(0.45), 0.0)
    assert quantities_agree(Quantity(45), forty_five, 0.0)
    assert quantities_agree(Quantity(0.45), forty_five, 0.0)
    assert not quantities_agree(Quantity(4500), forty_five, 0.0)
    assert not quantities_agree(Quantity(0.45, "%"), forty_five, 0.0)


def test_zero_is_met_by_zero_alone() -> None:
    assert quantities_agree(Quantity(0), Quantity(0), 0.05)
    assert not quantities_agree(Quantity(1e-9), Quantity(0), 0.05)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3/4", 0.75),
        (r"\frac{3}{4}", 0.75),
        (r"-\dfrac{\sqrt{3}}{2}", -math.sqrt(3) / 2),
        (r"1\frac{1}{2}", 1.5),
        ("1 1/2", 1.5),
        ("-1 1/2", -1.5),
        ("2π", 2 * math.pi),
        (r"$\frac{\pi}{6}$", math.pi / 6),
        ("pi/6", math.pi / 6),
        ("2(3+1)", 8.0),
        ("2√3", 2 * math.sqrt(3)),
        ("sqrt(2)*3", 3 * math.sqrt(2)),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("3²", 9.0),
        ("1,234+1", 1235.0),
        ("x = 5", 5.0),
        (r"\boxed{\frac{1}{2}}", 0.5),
        (r"\left(1+2\right)\times 3", 9.0),
        ("7 - -2", 9.0),
        ("1/2*4", 2.0),
    ],
)
def test_expressions_have_their_value(text: str, value: float) -> None:
    assert evaluate(text) == Quantity(pytest.approx(value))


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        (r"60^\circ", 60, "°"),
        ("60°", 60, "°"),
        (r"12\text{ cm}", 12, "cm"),
        ("12 cm^2", 12, "cm^2"),
        ("12 cm²", 12, "cm^2"),
        ("5 min", 5, "min"),
        ("2π cm", 2 * math.pi, "cm"),
        (r"50\%", 50, "%"),
    ],
)
def test_expressions_carry_their_unit(text: str, value: float, unit: str) -> None:
    assert evaluate(text) == Quantity(pytest.approx(value), unit)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "+", "()", "(1", "1)", "2 3", "1//2", "1/0", r"\frac{1}{0}", "0^-1", "sqrt(-1)", "(-8)^(1/3)",
        "9**9**9", "9^9^9^9", "2^65", "10^40", "1e999", "nan", "inf", "__import__('os')", "x+1", "٣+٤", "(" * 200,
        "(" * 30 + "1" + ")" * 30, "-" * 200 + "1", "sqrt " * 40 + "2", "1" * 300, "1+" * 2000 + "1",
        "frac", "sqrt", "^2", "1..2", "{1)", "3!",
    ],
)  # fmt: skip
def test_what_is_no_expression_or_leaves_the_bounds_has_no_value(text: str) -> None:
    assert evaluate(text) is None
