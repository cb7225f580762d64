import pytest

from saccade.errors import ToolError
from saccade.readers.geometry.cdl import cdl_of, statements_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.solver import solve
from saccade.readers.geometry.terms import LanguageError, written
from saccade.tools.geometry_tools import solve_cdl


def forms(text: str) -> list[str]:
    return [written(statement) for statement in statements_of(text, "text_cdl")]


@pytest.mark.parametrize(
    ("cdl", "expected"),
    [
        ("Equal(LengthOfLine(AB),5)", ["Equals(LengthOf(Line(A,B)),5)"]),
        ("Value(Add(LengthOfLine(AB),x))", ["Find(Add(LengthOf(Line(A,B)),x))"]),
        ("Equation(x-5)", ["Equals(x-5,0)"]),
        ("Free(x)", []),
        ("Collinear(AMB)", ["PointLiesOnLine(M,Line(A,B))"]),
        ("Collinear(ABCD)", ["PointLiesOnLine(B,Line(A,C))", "PointLiesOnLine(C,Line(B,D))"]),
        ("Cocircular(O,AB)", ["PointLiesOnCircle(A,Circle(O))", "PointLiesOnCircle(B,Circle(O))"]),
        ("Shape(AB,BC,CA)", ["Counterclockwise(Polygon(A,B,C))"]),
        ("Shape(AB,BC)", ["Counterclockwise(Polygon(A,B,C))"]),
        ("Shape(OAB,BA)", ["PointLiesOnCircle(A,Circle(O))", "PointLiesOnCircle(B,Circle(O))", "Line(B,A)"]),
        ("RightTriangle(ABC)", ["Right(Triangle(A,B,C))", "Perpendicular(Line(A,B),Line(B,C))"]),
        ("IsMidpointOfLine(M,AB)", ["IsMidpointOf(M,Line(A,B))"]),
        ("Value(MeasureOfArc(OAB))", ["Find(MeasureOf(Arc(Circle(O),A,B)))"]),
    ],
)
def test_cdl_says_logic_forms(cdl: str, expected: list[str]) -> None:
    assert forms(cdl) == expected


def test_angles_of_cdl_go_round_counterclockwise() -> None:
    assert forms("Equal(MeasureOfAngle(ABC),40)") == [
        "Equals(MeasureOf(Angle(A,B,C)),40)",
        "Counterclockwise(Polygon(A,B,C))",
    ]
    assert forms("Equal(MeasureOfAngle(ABC),240)") == [
        "Equals(MeasureOf(Angle(C,B,A)),120)",
        "Counterclockwise(Polygon(C,B,A))",
    ]
    assert forms("Equal(MeasureOfAngle(ABC),180)") == ["Equals(MeasureOf(Angle(A,B,C)),180)"]


def test_parallels_of_cdl_point_the_same_way() -> None:
    assert forms("ParallelBetweenLine(AB,CD)") == ["Parallel(Line(A,B),Line(C,D))", "Quadrilateral(A,B,D,C)"]
    text = "Collinear(APB) Collinear(CQD) ParallelBetweenLine(AB,CD) Equal(MeasureOfAngle(QPB),65) "
    (answer,) = solve(statements_of(text + "Value(MeasureOfAngle(DQP))", "text_cdl"))
    assert answer.value == pytest.approx(115)


ROUND_TRIPS = [
    "Equal(LengthOfLine(AB),2*x+1)",
    "Equal(Add(MeasureOfArc(OAB),x),y^2)",
    "PerpendicularBetweenLine(AB,CB)",
    "Parallelogram(ABCD)",
    "EquilateralTriangle(ABC)",
    "IsBisectorOfAngle(BD,ABC)",
    "SimilarBetweenTriangle(ABC,DEF)",
    "IsDiameterOfCircle(AB,O)",
    "IsIncenterOfTriangle(O,ABC)",
    "IsCentreOfCircle(O,O)",
    "Equal(RadiusOfCircle(O),5)",
    "Equal(AreaOfTriangle(ABC),Div(x,2))",
]


@pytest.mark.parametrize("cdl", ROUND_TRIPS)
def test_where_the_languages_overlap_cdl_comes_back(cdl: str) -> None:
    assert cdl_of(statements_of(cdl, "text_cdl")).text == (cdl,)


@pytest.mark.parametrize(
    "cdl", ["RightTriangle(ABC)", "IsoscelesTrapezoid(ABCD)", "Kite(ABCD)", "IsTangentOfCircle(PA,O)"]
)
def test_words_that_say_more_come_back_with_what_they_say(cdl: str) -> None:
    assert cdl in cdl_of(statements_of(cdl, "text_cdl")).text


def test_construction_and_goal_have_their_places() -> None:
    cdl = cdl_of(statements_of("Shape(AB,BC,CA) Collinear(ADB) Cocircular(O,A) Value(x)", "text_cdl"))
    assert cdl.construction == ("Shape(AB,BC,CA)", "Collinear(ADB)", "Cocircular(O,A)")
    assert (cdl.text, cdl.goal, cdl.left_out) == ((), "Value(x)", ())


def test_points_that_cdl_cannot_name_are_left_out() -> None:
    cdl = cdl_of(parse_statements("Line(P1,Q) PointLiesOnLine(A,Line(m_1,B)) Parallel(Line(A,B),Line(C,D))"))
    assert cdl.left_out == ("Line(P1,Q)", "PointLiesOnLine(A,Line(m_1,B))")
    assert (cdl.construction, cdl.text) == ((), ("ParallelBetweenLine(AB,CD)",))


def test_a_right_triangle_is_said_in_cdl_only_where_it_is_known_which_angle_is_right() -> None:
    alone = cdl_of(parse_statements("Right(Triangle(A,B,C))"))
    assert alone.left_out == ("Right(Triangle(A,B,C))",)
    both = cdl_of(parse_statements("Right(Triangle(A,B,C)) Perpendicular(Line(A,C),Line(C,B))"))
    assert both.text == ("RightTriangle(BCA)", "PerpendicularBetweenLine(AC,CB)")


@pytest.mark.parametrize(
    ("cdl", "expected"),
    [
        ("Equal(LenghtOfLine(AB),5)", "CDL has no word LenghtOfLine; did you mean LengthOfLine?"),
        ("Equal(LengthOfLine(ABC),5)", "found LengthOfLine(ABC), expected LengthOfLine(AB)"),
        ("Shape(ab,BC,CA)", "found ab, expected points such as AB"),
        ("Shape()", "write the sides in order: Shape(AB,BC,CA)"),
        ("Collinear(AB)", "Collinear needs three points or more"),
        ("Cocircular()", "write the centre and the points"),
        ("Equal(x)", "Equals has 1 arguments, expected 2"),
        ("Equation()", "Equation needs one expression"),
        ("Shape(AB", 'expected "," or ")"'),
    ],
)
def test_mistakes_in_cdl_are_named_with_their_place(cdl: str, expected: str) -> None:
    with pytest.raises(LanguageError, match=r"^text_cdl, character \d+") as caught:
        statements_of(cdl, "text_cdl")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("construction", "text", "named"),
    [
        (
            "",
            "Equal(LengthOfLine(AB),5), Equal(LengthOfLine(BA),6)",
            "Equal(LengthOfLine(AB),5) and Equal(LengthOfLine(BA),6)",
        ),
        ("Shape(AB,BC,CA)", "Equal(MeasureOfAngle(CBA),50)", "Shape(AB,BC,CA) and Equal(MeasureOfAngle(CBA),50)"),
        ("Collinear(ABC), Collinear(ACB)", "", "Collinear(ABC) and Collinear(ACB)"),
        (
            "Shape(AB,BC,CA)",
            "Equal(MeasureOfAngle(ABC),50), Equal(MeasureOfAngle(BCA),60), Equal(MeasureOfAngle(CAB),80)",
            "Equal(MeasureOfAngle(CAB),80)",
        ),
        (
            "Shape(AB,BC,CA)",
            "Equal(MeasureOfAngle(ABC),90), PerpendicularBetweenLine(AC,BC), Equal(LengthOfLine(AB),5)",
            "Equal(MeasureOfAngle(ABC),90)",
        ),
    ],
)
def test_a_problem_that_contradicts_itself_is_an_error_that_names_how(construction: str, text: str, named: str) -> None:
    with pytest.raises(ToolError) as error:
        solve_cdl(construction, text, "Value(LengthOfLine(AC))")
    assert str(error.value).startswith("the problem contradicts itself")
    assert named in str(error.value)
