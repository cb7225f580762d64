import pytest

from saccade.readers.geometry.derivation import Derivation, derive
from saccade.readers.geometry.exact import linear_findings, solve_for
from saccade.readers.geometry.facts import Equation, Facts, facts_of
from saccade.readers.geometry.figure import figure_of
from saccade.readers.geometry.knowledge import value_text
from saccade.readers.geometry.language import parse_expression, parse_statements
from saccade.readers.geometry.numeric import find_figures
from saccade.readers.geometry.plain import plain
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Name, angle, length, number

MIDDLE = "PointLiesOnCircle(A,Circle(O)) PointLiesOnCircle(B,Circle(O)) "


def derived(text: str) -> Derivation:
    figure = figure_of(parse_statements(text))
    solutions = find_figures(figure)
    assert solutions.verdict == "determined"
    derivation = derive(figure, solutions, figure.goals[0])
    assert derivation is not None
    assert float(derivation.value) == pytest.approx(solutions.values[0][0], rel=1e-5)
    return derivation


def facts(text: str) -> Facts:
    figure = figure_of(parse_statements(text))
    return facts_of(figure, find_figures(figure).state)


def test_steps_are_told_in_order_with_theorem_and_premises() -> None:
    derivation = derived(
        "Perpendicular(Line(A,C),Line(B,C)) Equals(LengthOf(Line(A,C)),2) Equals(LengthOf(Line(B,C)),4) "
        "Find(LengthOf(Line(A,B)))"
    )
    assert sorted(derivation.steps[:3]) == [
        "Given Equals(LengthOf(Line(A,C)),2): AC = 2.",
        "Given Equals(LengthOf(Line(B,C)),4): BC = 4.",
        "Given Perpendicular(Line(A,C),Line(B,C)): ∠ACB = 90.",
    ]
    assert derivation.steps[3:] == (
        "Pythagoras (triangle ABC has a right angle at C): AC^2 + BC^2 = AB^2, so AB = 2*√(5).",
    )
    assert derivation.value == 2 * sympy.sqrt(5)


def test_what_the_goal_does_not_need_is_not_told() -> None:
    derivation = derived(
        "Triangle(A,B,C) Equals(LengthOf(Line(A,B)),5) Equals(MeasureOf(Angle(A,B,C)),50) "
        "Equals(MeasureOf(Angle(B,A,C)),60) Find(MeasureOf(Angle(A,C,B)))"
    )
    assert len(derivation.steps) == 3
    assert not any("AB = 5" in step for step in derivation.steps)


@pytest.mark.parametrize(
    ("theorem", "text", "answer"),
    [
        (
            "vertical angles",
            "PointLiesOnLine(P,Line(A,B)) PointLiesOnLine(P,Line(C,D)) Equals(MeasureOf(Angle(A,P,C)),40) "
            "Find(MeasureOf(Angle(B,P,D)))",
            40,
        ),
        (
            "a straight angle",
            "PointLiesOnLine(P,Line(A,B)) Equals(MeasureOf(Angle(A,P,C)),40) Find(MeasureOf(Angle(B,P,C)))",
            140,
        ),
        (
            "exterior angle",
            "Triangle(A,B,C) PointLiesOnLine(C,Line(B,D)) Equals(MeasureOf(Angle(B,A,C)),55) "
            "Equals(MeasureOf(Angle(A,C,D)),120) Find(MeasureOf(Angle(A,B,C)))",
            65,
        ),
        (
            "Base angles of an isosceles",
            "Triangle(A,B,C) Equals(Line(A,B),Line(A,C)) Equals(Angle(A,B,C),70) Find(Angle(A,C,B))",
            70,
        ),
        (
            "opposite to equal angles",
            "Triangle(A,B,C) Equals(Angle(A,B,C),70) Equals(Angle(A,C,B),70) Equals(Line(A,B),4) Find(Line(A,C))",
            4,
        ),
        (
            "Alternate angles",
            "PointLiesOnLine(E,Line(A,D)) PointLiesOnLine(E,Line(B,C)) Parallel(Line(A,B),Line(C,D)) "
            "Equals(Angle(E,A,B),35) Find(Angle(E,D,C))",
            35,
        ),
        (
            "one side between parallels",
            "Trapezoid(A,B,C,D) Parallel(Line(A,B),Line(C,D)) Equals(Angle(D,A,B),65) Find(Angle(C,D,A))",
            115,
        ),
        (
            "Corresponding angles",
            "Triangle(A,B,C) PointLiesOnLine(D,Line(A,B)) PointLiesOnLine(E,Line(A,C)) "
            "Parallel(Line(D,E),Line(B,C)) Equals(Angle(A,D,E),50) Find(Angle(A,B,C))",
            50,
        ),
        (
            "midsegment is half",
            "Triangle(A,B,C) IsMidpointOf(D,Line(A,B)) IsMidpointOf(E,Line(A,C)) Equals(Line(B,C),9) Find(Line(D,E))",
            4.5,
        ),
        (
            "similar triangles are proportional",
            "Triangle(A,B,C) PointLiesOnLine(D,Line(A,B)) PointLiesOnLine(E,Line(A,C)) "
            "Parallel(Line(D,E),Line(B,C)) Equals(Line(A,D),4) Equals(Line(A,B),10) Equals(Line(D,E),8) "
            "Find(Line(B,C))",
            20,
        ),
        (
            "bisector theorem",
            "Triangle(A,B,C) PointLiesOnLine(D,Line(B,C)) BisectsAngle(Line(A,D),Angle(B,A,C)) "
            "Equals(Line(A,B),6) Equals(Line(A,C),9) Equals(Line(B,D),4) Find(Line(D,C))",
            6,
        ),
        (
            "ratio 2 to 1",
            "IsCentroidOf(G,Triangle(A,B,C)) IsMidpointOf(D,Line(B,C)) Equals(Line(A,G),8) Find(Line(G,D))",
            4,
        ),
        (
            "Law of cosines",
            "Triangle(A,B,C) Equals(Angle(A,B,C),60) Equals(Line(A,B),8) Equals(Line(B,C),5) Find(Line(A,C))",
            7,
        ),
        (
            "Law of sines",
            "Triangle(A,B,C) Equals(Angle(B,A,C),30) Equals(Angle(A,B,C),45) Equals(Line(B,C),10) Find(Line(A,C))",
            14.142136,
        ),
        (
            "Sine in a right triangle",
            "Perpendicular(Line(A,C),Line(B,C)) Equals(Angle(B,A,C),30) Equals(Line(A,B),14) Find(Line(B,C))",
            7,
        ),
        (
            "Thales",
            "IsDiameterOf(Line(A,B),Circle(O)) PointLiesOnCircle(C,Circle(O)) Equals(Angle(A,B,C),35) "
            "Find(Angle(B,A,C))",
            55,
        ),
        (
            "inscribed angle is half",
            MIDDLE
            + (
                "PointLiesOnCircle(C,Circle(O)) Counterclockwise(Polygon(A,B,C)) "
                "Counterclockwise(Polygon(O,A,B)) Equals(Angle(A,O,B),100) Find(Angle(A,C,B))"
            ),
            50,
        ),
        (
            "inscribed quadrilateral",
            "InscribedIn(Quadrilateral(A,B,C,D),Circle(O)) Equals(Angle(D,A,B),82) Find(Angle(B,C,D))",
            98,
        ),
        (
            "tangent is perpendicular",
            MIDDLE + "Tangent(Line(P,A),Circle(O)) Equals(Angle(A,P,O),30) Find(Angle(A,O,P))",
            60,
        ),
        (
            "tangents from one point",
            MIDDLE + ("Tangent(Line(P,A),Circle(O)) Tangent(Line(P,B),Circle(O)) Equals(Line(P,A),6) Find(Line(P,B))"),
            6,
        ),
        (
            "bisects a chord",
            MIDDLE
            + ("PointLiesOnLine(M,Line(A,B)) Perpendicular(Line(O,M),Line(A,B)) Equals(Line(A,M),6) Find(Line(A,B))"),
            12,
        ),
        (
            "crossing chords",
            MIDDLE
            + (
                "PointLiesOnCircle(C,Circle(O)) PointLiesOnCircle(D,Circle(O)) PointLiesOnLine(P,Line(A,B)) "
                "PointLiesOnLine(P,Line(C,D)) Equals(Line(A,P),3) Equals(Line(P,B),8) Equals(Line(C,P),4) "
                "Find(Line(P,D))"
            ),
            6,
        ),
        (
            "square on a tangent",
            MIDDLE
            + (
                "PointLiesOnCircle(T,Circle(O)) Tangent(Line(P,T),Circle(O)) PointLiesOnLine(A,Line(P,B)) "
                "Equals(Line(P,A),4) Equals(Line(P,B),9) Find(Line(P,T))"
            ),
            6,
        ),
        (
            "Length of an arc",
            MIDDLE + "Equals(RadiusOf(Circle(O)),6) Equals(MeasureOf(Arc(A,B)),60) Find(LengthOf(Arc(A,B)))",
            6.283185,
        ),
        (
            "Area of a sector",
            "Equals(RadiusOf(Circle(O)),6) Equals(Angle(A,O,B),120) Find(AreaOf(Sector(O,A,B)))",
            37.699112,
        ),
        (
            "Heron",
            "Triangle(A,B,C) Equals(Line(A,B),13) Equals(Line(B,C),14) Equals(Line(C,A),15) "
            "Find(AreaOf(Triangle(A,B,C)))",
            84,
        ),
        (
            "perpendicular diagonals",
            "Rhombus(A,B,C,D) Equals(Line(A,C),6) Equals(Line(B,D),8) Find(AreaOf(Rhombus(A,B,C,D)))",
            24,
        ),
        (
            "half the sum of the parallel sides",
            "Trapezoid(A,B,C,D) Parallel(Line(A,B),Line(C,D)) Perpendicular(Line(A,D),Line(C,D)) "
            "Equals(Line(A,B),4) Equals(Line(C,D),10) Equals(Line(A,D),5) "
            "Find(AreaOf(Trapezoid(A,B,C,D)))",
            35,
        ),
        (
            "incircle",
            "InscribedIn(Circle(O),Triangle(A,B,C)) Equals(Line(A,B),3) Equals(Line(B,C),4) "
            "Equals(Line(C,A),5) Find(RadiusOf(Circle(O)))",
            1,
        ),
    ],
)
def test_a_theorem_is_used_by_its_name(theorem: str, text: str, answer: float) -> None:
    derivation = derived(text)
    assert float(derivation.value) == pytest.approx(answer, rel=1e-6)
    assert any(theorem.lower() in step.lower() for step in derivation.steps), derivation.steps


def test_equations_are_solved_together_where_none_has_one_unknown() -> None:
    derivation = derived(
        "Triangle(A,B,C) Equals(Angle(A,B,C),2x) Equals(Angle(B,A,C),3y) Equals(Angle(A,C,B),x+y) "
        "Equals(Angle(A,B,C),Angle(B,A,C)) Find(x)"
    )
    # 3x + 4y = 180 with y = 2x/3, so 17x/3 = 180.
    assert derivation.value == sympy.Rational(540, 17)
    assert any(step.startswith("Together") for step in derivation.steps)


def test_goals_beyond_the_theorems_have_no_derivation() -> None:
    text = "Triangle(A,B,C) IsOrthocenterOf(H,Triangle(A,B,C)) Equals(Line(A,B),13) Equals(Line(B,C),14) "
    figure = figure_of(parse_statements(text + "Equals(Line(C,A),15) Find(LengthOf(Line(A,H)))"))
    solutions = find_figures(figure)
    # AH = BC / tan A, and tan A = 4 * 84 / (13^2 + 15^2 - 14^2) = 336/198.
    assert solutions.values[0][0] == pytest.approx(14 * 198 / 336, rel=1e-5)
    assert derive(figure, solutions, figure.goals[0]) is None


def test_points_of_a_line_are_ordered_as_in_the_figure() -> None:
    found = facts("PointLiesOnLine(B,Line(A,C)) PointLiesOnLine(C,Line(B,D)) Find(Line(A,D))")
    assert found.lines in ([("A", "B", "C", "D")], [("D", "C", "B", "A")])
    assert found.is_between("B", "A", "D")
    assert not found.is_between("A", "B", "D")


def test_angles_on_the_same_rays_are_one() -> None:
    found = facts("PointLiesOnLine(D,Line(A,B)) PointLiesOnLine(E,Line(A,C)) Triangle(A,B,C) Find(Angle(D,A,E))")
    assert found.angle("D", "A", "E") == found.angle("B", "A", "C") == angle("B", "A", "C")
    assert found.angle("A", "D", "B") == number(180)


def test_what_the_figures_contradict_does_not_hold() -> None:
    found = facts("Triangle(A,B,C) Equals(Line(A,B),3) Equals(Line(B,C),4) Equals(Line(C,A),6) Find(Line(A,B))")
    assert found.holds(length("A", "B") + number(1), length("B", "C"))
    assert not found.holds(length("A", "B"), length("B", "C"))


@pytest.mark.parametrize(
    ("left", "right", "near", "expected"),
    [
        ("2*x+1", "7", 3.0, "3"),
        ("x^2", "50", 7.0710678, "5*√(2)"),
        ("x^2", "50", -7.0710678, "-5*√(2)"),
        ("2*sin(x)", "1", 150.0, "150"),
        ("2*cos(x)", "1", 60.0, "60"),
        ("tan(x)", "1", 45.0, "45"),
        ("3*tan(x)", "4", 53.130102, "53.1301"),
        ("2*pi*x", "6*pi", 3.0, "3"),
    ],
)
def test_the_root_near_the_figure_is_exact_where_it_is_short(left: str, right: str, near: float, expected: str) -> None:
    sides = [figure_of(parse_statements(f"Find({side})")).goals[0] for side in (left, right)]
    root = solve_for(sides[0], sides[1], Name("x"), {}, near)
    assert root is not None
    assert value_text(root) == expected


@pytest.mark.parametrize(("left", "right", "near"), [("x", "x", 3.0), ("2*x", "7", 3.0), ("x^2", "0-1", 1.0)])
def test_there_is_no_root_where_the_equation_has_none(left: str, right: str, near: float) -> None:
    assert solve_for(parse_expression(left), parse_expression(right), Name("x"), {}, near) is None


def test_linear_equations_fix_what_they_can_with_no_more_of_them_than_needed() -> None:
    def equation(left: str, right: str) -> Equation:
        return Equation(theorem=left, because="", left=parse_expression(left), right=parse_expression(right))

    given = [equation("x+y", "10"), equation("z+w", "3"), equation("x-y", "4"), equation("2*x-2*y", "8")]
    found = {plain(name): (value, [one.theorem for one in used]) for name, value, used in linear_findings(given, {})}
    assert found == {"x": (7, ["x+y", "x-y"]), "y": (3, ["x+y", "x-y"])}
