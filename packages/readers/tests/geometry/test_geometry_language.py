from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.readers.geometry.figure import figure_of
from saccade.readers.geometry.language import (
    MAX_DEPTH,
    MAX_STATEMENTS,
    parse_equations,
    parse_expression,
    parse_statements,
)
from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation, call, number, written

X = Name("x")


def error_of(text: str) -> str:
    with pytest.raises(LanguageError) as caught:
        figure_of(parse_statements(text, "logic_forms"), "logic_forms")
    return str(caught.value)


def test_a_statement_is_a_tree_of_calls() -> None:
    assert parse_statements("Equals(LengthOf(Line(A,B)),5)") == (
        call("Equals", call("LengthOf", call("Line", "A", "B")), number(5)),
    )


def test_statements_may_be_separated_by_anything_that_lists_are_written_with() -> None:
    both = (call("Find", "x"), call("Line", "A", "B"))
    for text in ("Find(x)Line(A,B)", "Find(x)\nLine(A, B)", "Find(x); Line(A,B).", '["Find(x)", "Line(A,B)"]'):
        assert parse_statements(text) == both


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("10x", "10*x"),
        ("2(x+1)", "2*(x+1)"),
        ("x(x+1)", "x*(x+1)"),
        ("x**2", "x^2"),
        ("x²", "x^2"),
        (r"\frac{x+1}{2}", "(x+1)/2"),
        (r"2\sqrt{3}", "2*sqrt(3)"),
        ("√3", "sqrt(3)"),
        ("40°", "40"),
        (r"40^\circ", "40"),
        (r"2\pi", "2*pi"),
        ("2π", "2*pi"),
        ("x − 1", "x-1"),
        ("2×3", "2*3"),
        ("--x", "x"),
        ("1.50", "1.5"),
        ("2e3", "2000"),
    ],
)
def test_common_spellings_mean_the_same(text: str, same: str) -> None:
    assert parse_expression(text) == parse_expression(same)


def test_powers_bind_to_the_right_and_before_signs() -> None:
    assert parse_expression("-x^2") == Operation("-", (Operation("^", (X, number(2))),))
    assert parse_expression("2^3^x") == Operation("^", (number(2), Operation("^", (number(3), X))))


def test_a_chain_of_divisions_is_one_fraction() -> None:
    assert parse_expression("x/2*3/4") == Operation(
        "/", (Operation("*", (X, number(3))), Operation("*", (number(2), number(4))))
    )


def test_numbers_are_exact() -> None:
    assert parse_expression("0.1") == Number(Fraction(1, 10))


expressions = st.recursive(
    st.one_of(
        st.integers(-50, 50).map(number),
        st.fractions(min_value=0, max_value=9, max_denominator=8).map(number),
        st.sampled_from(["x", "y", "z1"]).map(Name),
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+*"), st.lists(inner, min_size=2, max_size=3)).map(
            lambda one: Operation("+" if one[0] == "+" else "*", tuple(one[1]))
        ),
        st.tuples(inner, inner).map(lambda one: Operation("/", one)),
        inner.map(lambda one: Operation("-", (one,))),
        st.tuples(inner, st.integers(0, 3).map(number)).map(lambda one: Operation("^", one)),
        inner.map(lambda one: call("SqrtOf", one)),
    ),
    max_leaves=8,
)


def value(node: Node) -> float | None:
    """With fixed values for the names; None where there is none."""
    match node:
        case Number(exact):
            return float(exact)
        case Name(text):
            return {"x": 1.25, "y": -0.7, "z1": 3.1}[text]
        case Call(_, (inner,)):
            root = value(inner)
            return None if root is None or root < 0 else root**0.5
        case Operation(sign, args):
            parts = [value(arg) for arg in args]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            try:
                return _combined(sign, known)
            except (ZeroDivisionError, OverflowError):
                return None
    return None


def _combined(sign: str, parts: list[float]) -> float:
    if sign == "-":
        return -parts[0]
    if sign == "/":
        return parts[0] / parts[1]
    if sign == "^":
        return float(parts[0] ** parts[1])
    total = parts[0]
    for part in parts[1:]:
        total = total + part if sign == "+" else total * part
    return total


@given(expressions)
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read_with_the_same_value(node: Node) -> None:
    text = written(node)
    again = parse_expression(text)
    before, after = value(node), value(again)
    if before is not None and after is not None and abs(before) < 1e12:
        assert abs(before - after) <= 1e-9 * (1 + abs(before)), text
    assert written(parse_expression(written(again))) == written(again)


@given(st.text(alphabet="ABx()+*/^.,;${}\\[]\"' \n\x00é∠2fracsqrt", max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_is_statements_or_an_error_of_the_language(text: str) -> None:
    message = "read"
    try:
        parse_statements(text)
    except LanguageError as error:
        message = str(error)
    assert 0 < len(message) < 400


def test_errors_say_where_what_was_found_and_what_was_expected() -> None:
    assert error_of("Equals(LengthOf(Line(A,B),5) Find(x)") == (
        'logic_forms, character 30, near "ine(A,B),5) Find(x)": found "Find", expected "," or ")"'
    )
    assert error_of("Find(x") == 'logic_forms, character 7, near "Find(x": found the end, expected "," or ")"'
    assert error_of("Find(\x00)").startswith("logic_forms, character 6")
    assert "expected a statement such as" in error_of("x+1")


def test_misspelt_words_are_answered_with_the_nearest_one() -> None:
    assert error_of("Equals(LenghtOf(Line(A,B)),5)") == (
        "logic_forms, character 8: there is no word LenghtOf; did you mean LengthOf?"
    )


def test_wrong_arguments_are_answered_with_right_ones() -> None:
    assert error_of("Perpendicular(Line(A,B))") == (
        "logic_forms, character 1: Perpendicular has 1 arguments, expected 2: "
        "a line such as Line(A,B), a line such as Line(A,B)"
    )
    assert "expected a circle such as Circle(O)" in error_of("PointLiesOnCircle(A,Line(A,B))")
    assert "names a point twice" in error_of("Triangle(A,A,B)")
    assert "is a value, no statement" in error_of("LengthOf(Line(A,B))")
    assert "a division by zero" in error_of("Equals(x,5/0)")
    assert "the exponent 1000" in error_of("Equals(x^1000,2)")


def test_nesting_length_and_size_are_bounded() -> None:
    assert f"at most {MAX_DEPTH} levels" in error_of("Find(" + "(" * 5000 + "x")
    assert f"at most {MAX_DEPTH} levels" in error_of("Find(x" + "^x" * 5000 + ")")
    assert "too large" in error_of("Find(" + "9" * 5000 + ")")
    assert "too large" in error_of("Find(1e999)")
    assert f"more than {MAX_STATEMENTS} statements" in error_of("Find(x)" * (MAX_STATEMENTS + 1))
    assert "names 101 points; at most 26" in error_of(" ".join(f"Line(P{i},P{i + 1})" for i in range(100)))
    assert "characters; at most" in error_of("x" * 30_000)


def test_a_long_sum_is_no_deep_term() -> None:
    node = parse_expression("+".join(["x"] * 5000))
    assert isinstance(node, Operation)
    assert len(node.args) == 5000


def test_equations_end_with_their_line() -> None:
    assert parse_equations("x+y=5\nx-y=1") == (
        call("Equals", parse_expression("x+y"), number(5)),
        call("Equals", parse_expression("x-y"), number(1)),
    )


def test_an_angle_by_its_vertex_is_found_where_only_one_is_meant() -> None:
    figure = figure_of(parse_statements("Triangle(A,B,C) Equals(MeasureOf(Angle(B)),40) Find(Angle(B))"))
    assert figure.goals == (call("MeasureOf", call("Angle", "A", "B", "C")),)
    assert "could be 2 angles; write it with three points" in error_of("Triangle(A,B,C) Triangle(A,B,D) Find(Angle(A))")


def test_a_dollar_stands_for_the_only_shape_of_its_kind() -> None:
    figure = figure_of(parse_statements("Triangle(A,B,C) Find(AreaOf(Triangle($)))"))
    assert figure.goals == (call("AreaOf", call("Triangle", "A", "B", "C")),)
    assert "Circle($) could be 0 shapes" in error_of("Tangent(Line(A,B),Circle($))")


def test_shapes_in_passing_are_taken_at_their_word() -> None:
    figure = figure_of(parse_statements("Find(PerimeterOf(Rhombus(A,B,C,D)))"))
    assert figure.given == (call("Rhombus", "A", "B", "C", "D"),)


def test_an_arc_needs_a_circle() -> None:
    assert "is on no circle" in error_of("Equals(MeasureOf(Arc(A,B)),40)")
