import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import ToolError
from saccade.testing.tool_check import check_tool
from saccade.tools.geometry_tools import (
    GEOMETRY_TOOLS,
    algebra,
    check_logic_forms,
    solve_cdl,
    solve_geometry,
    translate_geometry,
)
from saccade.tools.tool import check_names, find_tool
from saccade.types import Json

RIGHT = "Perpendicular(Line(A,C),Line(B,C)) Equals(LengthOf(Line(A,C)),3) Equals(LengthOf(Line(B,C)),4) "

GOOD_CALLS: dict[str, dict[str, Json]] = {
    "solve_geometry": {"logic_forms": RIGHT + "Find(Line(A,B))", "points": "A(0,0) B(30, 40.5), C(0,41)"},
    "solve_cdl": {
        "construction_cdl": "Shape(AB,BC,CA)",
        "text_cdl": "RightTriangle(ABC), Equal(LengthOfLine(AB),8), Equal(LengthOfLine(BC),6)",
        "goal_cdl": "Value(LengthOfLine(AC))",
    },
    "check_logic_forms": {"logic_forms": RIGHT},
    "translate_geometry": {"text": RIGHT, "to": "cdl"},
    "algebra": {"task": "solve", "equations": "2x + y = 5\nx - y = 1", "unknowns": "x, y"},
}


@pytest.mark.parametrize("name", list(GOOD_CALLS))
def test_every_tool_keeps_its_contract(name: str) -> None:
    check_tool(find_tool(name, GEOMETRY_TOOLS), [GOOD_CALLS[name]])


def test_the_tools_have_their_names() -> None:
    check_names(GEOMETRY_TOOLS)
    assert [tool.name for tool in GEOMETRY_TOOLS] == list(GOOD_CALLS)


def test_an_answer_is_text_for_the_model_and_data_for_programs() -> None:
    output = solve_geometry(RIGHT + "Find(LengthOf(Line(A,B)))")
    assert output.text.splitlines()[-1] == "LengthOf(Line(A,B)) = 5"
    assert output.text.splitlines()[0].startswith("1. Given")
    (answer,) = output.data["answers"]  # type: ignore[union-attr, misc]
    assert (answer["verdict"], answer["value"], answer["exact"]) == ("determined", 5.0, "5")  # type: ignore[index, call-overload]


def test_cdl_is_solved_for_lengths_and_for_angles() -> None:
    shape, right = "Shape(AB,BC,CA)", "RightTriangle(ABC), Equal(MeasureOfAngle(CAB),30), Equal(LengthOfLine(BC),6)"
    assert solve_cdl(shape, right, "Value(LengthOfLine(AC))").text.endswith("LengthOf(Line(A,C)) = 12")
    assert solve_cdl(shape, right, "Value(MeasureOfAngle(BCA))").text.endswith("MeasureOf(Angle(B,C,A)) = 60")


def test_what_is_open_is_said_to_be_open_with_the_values_found() -> None:
    text = solve_geometry("Equals(x^2-5x+6,0) Find(x)").text
    assert text.startswith("x: not determined.")
    assert "for example 2, 3." in text


def test_contradictions_are_told_with_the_statements_to_check() -> None:
    text = solve_geometry(RIGHT + "Equals(LengthOf(Line(A,B)),9) Find(x)").text
    assert text.startswith("no figure was found that fulfils all statements")
    assert "Equals(LengthOf(Line(A,B)),9)" in text


def test_a_value_without_derivation_says_so() -> None:
    sides = "Equals(Line(A,B),13) Equals(Line(B,C),14) Equals(Line(C,A),15) "
    text = solve_geometry(f"IsOrthocenterOf(H,Triangle(A,B,C)) {sides} Find(LengthOf(Line(A,H)))").text
    assert text == "(found numerically; no derivation by theorems was found)\nLengthOf(Line(A,H)) = 8.25"


def test_places_of_points_are_pixels_with_y_downwards() -> None:
    ambiguous = "PointLiesOnCircle(A,Circle(O)) PointLiesOnCircle(B,Circle(O)) PointLiesOnCircle(C,Circle(O)) "
    ambiguous += "Equals(Angle(A,O,B),80) Find(Angle(A,C,B))"
    assert "not determined" in solve_geometry(ambiguous).text
    places = "O(0,0) A(-64,77) B(64,77) C({},{})"
    assert solve_geometry(ambiguous, places.format(10, -99)).text.endswith("= 40")
    turned = "Counterclockwise(Polygon(A,B,C)) " + ambiguous
    assert solve_geometry(turned, places.format(10, -99)).text.endswith("= 40")


@pytest.mark.parametrize(
    "points", ["A", "A(1)", "A(1,2) A(3,4)", "Q(1,2)", "A(1e999,2)", "A(1,2)) B", "é(1,2)", "((((" * 900]
)
def test_wrong_places_are_errors_that_name_the_argument(points: str) -> None:
    with pytest.raises(ToolError, match=r"points|logic_forms names no point Q"):
        solve_geometry(RIGHT + "Find(Line(A,B))", points)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: solve_geometry(""), "logic_forms asks for nothing"),
        (lambda: solve_geometry("Find(x)" * 4), "logic_forms asks for 4 values"),
        (lambda: solve_geometry("Find(" * 800), "logic_forms, character"),
        (lambda: solve_geometry("∠ABC"), 'logic_forms, character 1, near "∠ABC": found "∠"'),
        (lambda: solve_cdl("", "", ""), "goal_cdl must be one goal"),
        (lambda: solve_cdl("", "", "Relation(x)"), "goal_cdl, character 1: CDL has no word Relation"),
        (lambda: solve_cdl("Shape(", "", "Value(x)"), "construction_cdl, character"),
        (lambda: solve_cdl("", "", "Value(x)", "Equal(1/0,x)"), "image_cdl, character 9: a division by zero"),
        (lambda: check_logic_forms("Triangle(A,B)"), "Triangle has 2 names, expected 3"),
        (lambda: translate_geometry("Equal(x)", "logic_forms"), "text, character 1"),
        (lambda: algebra("solve", ""), "equations holds 0 equations"),
        (lambda: algebra("solve", "x=1\n" * 9), "equations holds 9 equations"),
        (lambda: algebra("solve", "x=1", "x;y"), "unknowns must be names"),
        (lambda: algebra("evaluate", "__import__(os)"), "equations, character 1"),
        (lambda: algebra("evaluate", "().__class__"), "equations, character 2"),
        (lambda: algebra("evaluate", "foo(x)"), "equations: foo is no function of algebra"),
        (lambda: algebra("evaluate", "x=1"), "equations: an equation where an expression is needed"),
        (lambda: algebra("evaluate", "1/(3-3)"), "equations: a division by zero"),
        (lambda: algebra("evaluate", "2^999"), "equations: an exponent above 20"),
        (lambda: algebra("evaluate", "(((9^20)^20)^20)^20"), "equations: "),
    ],
)
def test_what_cannot_be_done_is_an_error_that_names_the_argument(call, expected: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ToolError) as caught:
        call()
    assert str(caught.value).startswith(expected) or expected in str(caught.value)


POOL = (
    "Triangle(A,B,C)", "Equals(LengthOf(Line(A,B)),5)", "Equals(LengthOf(Line(A,B)),x/(x-5))", "Square(A,B,C,D)",
    "Equals(MeasureOf(Angle(A,B,C)),180)", "Equals(MeasureOf(Angle(A,B,C)),0)", "Perpendicular(Line(A,B),Line(A,B))",
    "Parallel(Line(A,B),Line(B,C))", "PointLiesOnLine(A,Line(A,B))", "PointLiesOnLine(C,Line(A,B))",
    "PointLiesOnCircle(O,Circle(O))", "PointLiesOnCircle(A,Circle(O))", "IsDiameterOf(Line(A,B),Circle(O))",
    "Tangent(Line(A,B),Circle(O))", "Similar(Triangle(A,B,C),Triangle(A,B,C))", "Isosceles(Triangle(A,B,C))",
    "InscribedIn(Circle(O),Triangle(A,B,C))", "Equals(AreaOf(Circle(O)),-3)", "Equals(x,sqrt(x-9))", "Shape($)",
    "IsMedianOf(Line(A,B),Triangle(A,B,C))", "IsIncenterOf(A,Triangle(A,B,C))", "Equals(x^20,999999999)",
    "BisectsAngle(Line(C,D),Angle(A,B,C))", "IsMidpointOf(A,Line(A,B))", "Regular(Polygon(A,B,C,D,E))",
    "Congruent(Triangle(A,B,C),Triangle(B,C,D))", "Equals(TanOf(MeasureOf(Angle(A,B,C))),1/x)", "Kite(A,C,B,D)",
    "IsAltitudeOf(Line(A,D),Triangle(A,B,C))", "CircumscribedTo(Triangle(A,B,C),Circle(A))", "Line(m)",
    "IntersectAt(Line(A,B),Line(C,D),A)", "Equals(MeasureOf(Arc(A,B)),400)", "IsLegOf(Line(A,C),Triangle(A,B,C))",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(POOL), max_size=6),
    st.sampled_from(["x", "LengthOf(Line(A,C))", "AreaOf(Triangle(A,B,C))"]),
)
@settings(max_examples=10, deadline=None)
def test_any_mixture_of_statements_ends_in_a_result_or_an_error_of_the_policy(said: list[str], goal: str) -> None:
    try:
        output = solve_geometry(" ".join([*said, f"Find({goal})"]))
    except ToolError as error:
        message = str(error)
    else:
        message = output.text
    assert 0 < len(message) < 16_000


def test_checking_lists_what_was_understood() -> None:
    output = check_logic_forms("Equals(Line(A,B),2x) Find(x)")
    assert output.text == "Equals(LengthOf(Line(A,B)),2*x)\nFind(x)\npoints: A, B\nunknowns: x"
    assert output.data["unknowns"] == ["x"]


def test_problems_are_translated_both_ways() -> None:
    cdl = translate_geometry(RIGHT + "PointLiesOnLine(D,Line(A,B)) Secant(Line(A,B),Circle(O)) Find(x)", "cdl")
    assert cdl.text == (
        "construction_cdl: Collinear(ADB)\n"
        "text_cdl: PerpendicularBetweenLine(AC,BC), Equal(LengthOfLine(AC),3), Equal(LengthOfLine(BC),4)\n"
        "goal_cdl: Value(x)\n"
        "no words in CDL for: Secant(Line(A,B),Circle(O))"
    )
    forms = translate_geometry("Equal(LengthOfLine(AB),5) Value(x)", "logic_forms")
    assert forms.text == "Equals(LengthOf(Line(A,B)),5)\nFind(x)"


@pytest.mark.parametrize(
    ("task", "equations", "expected"),
    [
        ("solve", "2x + y = 5\nx - y = 1", "x = 2, y = 1"),
        ("solve", "x^2+(x+7)^2=169", "x = -12\nx = 5"),
        ("solve", "x^2 = 2", "x = -sqrt(2) ≈ -1.41421\nx = sqrt(2) ≈ 1.41421"),
        ("solve", "x^2 = -1", "no real solution was found"),
        ("solve", "x = x", "true for all values"),
        ("factor", "x^2-5x+6", "(x - 3)*(x - 2)"),
        ("expand", "(x+1)^2", "x^2 + 2*x + 1"),
        ("simplify", "(x^2-1)/(x-1)", "x + 1"),
        ("evaluate", "sqrt(12)+sin(60)", "5*sqrt(3)/2 ≈ 4.33013"),
        ("solve", "E + I = 3\nE - I = 1", "E = 2, I = 1"),
    ],
)  # fmt: skip
def test_algebra_is_exact(task: str, equations: str, expected: str) -> None:
    assert algebra(task, equations).text == expected  # type: ignore[arg-type]


def test_algebra_that_takes_too_long_is_an_error_and_the_next_request_is_answered() -> None:
    with pytest.raises(ToolError, match="equations: this needs more than"):
        algebra("expand", "(a+b+c+d+e+f+g+h)^20")
    assert algebra("evaluate", "1+1").text == "2"
