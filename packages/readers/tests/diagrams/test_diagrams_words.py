"""The words of geometry problems: what they say, what they ask, and what was not understood."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import ToolError
from saccade.readers.diagrams.words import read_words
from saccade.readers.geometry.terms import written
from saccade.tools.diagram_tools import goal_cdl, text_cdl
from saccade.tools.geometry_tools import solve_cdl


@pytest.mark.parametrize(
    ("question", "said", "goals"),
    [
        (
            "AB = 5 and angle ABC is 30 degrees. Find the length of AC.",
            ["Equals(LengthOf(Line(A,B)),5)", "Equals(MeasureOf(Angle(A,B,C)),30)"],
            ["Find(LengthOf(Line(A,C)))"],
        ),
        (
            "As shown in the figure, AB∥CD, ∠1 = 40°, then the degree of ∠2 is ( )",
            ["Parallel(Line(A,B),Line(C,D))", "Equals(MeasureOf(Angle(1)),40)"],
            ["Find(MeasureOf(Angle(2)))"],
        ),
        (
            "In △ABC, D and E are the midpoints of AB and AC respectively, BC = 12 cm, then DE = ()",
            [
                "IsMidpointOf(D,Line(A,B))",
                "IsMidpointOf(E,Line(A,C))",
                "Equals(LengthOf(Line(B,C)),12)",
                "Triangle(A,B,C)",
            ],
            ["Find(LengthOf(Line(D,E)))"],
        ),
        (
            r"If $\triangle A B C \cong \triangle D E F$, $AB = 2x+1$ and $DE = 11$, find $x$.",
            [
                "Congruent(Triangle(A,B,C),Triangle(D,E,F))",
                "Equals(LengthOf(Line(A,B)),2*x+1)",
                "Equals(LengthOf(Line(D,E)),11)",
            ],
            ["Find(x)"],
        ),
        (
            "Quadrilateral ABCD is a rhombus. If AB = 5x - 2 and BC = 3x + 8, find AB.",
            ["Equals(LengthOf(Line(A,B)),5*x-2)", "Equals(LengthOf(Line(B,C)),3*x+8)", "Rhombus(A,B,C,D)"],
            ["Find(LengthOf(Line(A,B)))"],
        ),
        (
            "PA and PB are tangent to circle O at A and B. PA = 8. What is the length of PB?",
            [
                "PointLiesOnCircle(A,Circle(O))",
                "Tangent(Line(P,A),Circle(O))",
                "PointLiesOnCircle(B,Circle(O))",
                "Tangent(Line(P,B),Circle(O))",
                "Equals(LengthOf(Line(P,A)),8)",
            ],
            ["Find(LengthOf(Line(P,B)))"],
        ),
        (
            "AD bisects angle BAC, and BD:DC = 2:3. Angle AEC = twice angle CEB. Find AB and AC.",
            [
                "BisectsAngle(Line(A,D),Angle(B,A,C))",
                "Equals(3*LengthOf(Line(B,D)),2*LengthOf(Line(D,C)))",
                "Equals(MeasureOf(Angle(A,E,C)),2*MeasureOf(Angle(C,E,B)))",
            ],
            ["Find(LengthOf(Line(A,B)))", "Find(LengthOf(Line(A,C)))"],
        ),
        (
            "The perimeter of triangle ABC is 24. D lies on BC and AD is perpendicular to BC at D. How long is AD?",
            [
                "Perpendicular(Line(A,D),Line(B,C))",
                "PointLiesOnLine(D,Line(B,C))",
                "Equals(PerimeterOf(Triangle(A,B,C)),24)",
            ],
            ["Find(LengthOf(Line(A,D)))"],
        ),
        (
            "Find the area of the parallelogram. Round to the nearest tenth if necessary.",
            [],
            ["Find(AreaOf(Parallelogram($)))"],
        ),
    ],
)
def test_a_question_is_understood_whole(question: str, said: list[str], goals: list[str]) -> None:
    words = read_words(question)
    assert sorted(map(written, words.said)) == sorted(said)
    assert list(map(written, words.goals)) == goals
    assert words.left_out == ()


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("AB = 5. Find the distance from O to AB.", "Find the distance from O to AB"),
        ("AB = 5 and the flag pole is 12 m high. Find AC.", "the flag pole is 12 m high"),
        ("The length of chord AB is 8. Find the radius of circle O.", "that AB is a chord"),
        ("Triangle ABC is acute. Find AB.", "acute"),
    ],
)
def test_what_is_not_understood_is_said_and_never_guessed(question: str, left_out: str) -> None:
    assert any(left_out.lower() in part.lower() for part in read_words(question).left_out)


@pytest.mark.parametrize("question", ["", "What a lovely day", "(((", "A", "AB CD EF", "1 = 2"])
def test_words_of_which_nothing_is_understood_are_refused_with_examples(question: str) -> None:
    with pytest.raises(ToolError, match="Find the length of AC"):
        read_words(question)


def test_text_and_goal_come_in_cdl() -> None:
    question = (
        "In triangle ABC, angle ABC = 50 degrees, angle BAC = 60 degrees. M is the midpoint of AB. Find angle ACB."
    )
    # Both angles go round the same way as the triangle: CDL would else contradict itself.
    assert text_cdl(question).data["text_cdl"] == [
        "IsMidpointOfLine(M,AB)",
        "Equal(MeasureOfAngle(ABC),50)",
        "Equal(MeasureOfAngle(CAB),60)",
        "Polygon(ABC)",
    ]
    assert goal_cdl(question).data["goal_cdl"] == ["Value(MeasureOfAngle(BCA))"]


def test_a_question_without_a_goal_is_told_what_a_goal_looks_like() -> None:
    with pytest.raises(ToolError, match="Find x"):
        goal_cdl("AB = 5.")


def test_a_question_of_a_hundred_thousand_characters_is_refused() -> None:
    with pytest.raises(ToolError, match="at most"):
        read_words("AB = 5. " * 20_000)


_WORDS = """
    AB CD ABC angle triangle circle O = is the of and , . ( ) 5 2x + - ^ sqrt(3) parallel to perpendicular
    midpoint Find what is measure degrees √ ∠ ∥ \\frac{1}{2} $ chord tangent at on lies length AAAA ((((((( 11111
"""
_PIECES = st.sampled_from(_WORDS.split())


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60).map(" ".join) | st.text(max_size=300))
def test_any_text_is_read_or_refused(question: str) -> None:
    with suppress(ToolError):
        words = read_words(question)
        assert words.said or words.goals


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("The angles of triangle ABC are in the ratio 2 : 3 : 5. Find angle C.", 90),
        ("In triangle PQR, the measures of angles P, Q and R are in the ratio 1:3:5. What is angle Q?", 60),
        ("In triangle ABC, ∠A : ∠B : ∠C = 3 : 4 : 2. Find ∠B.", 80),
        ("In the parallelogram ABCD, ∠A = 62°, then the degree of ∠B is ( )", 118),
        ("AB is the diameter of ⊙O, point C is on ⊙O, ∠A = 28°. Find ∠B.", 62),
        ("∠BAC = 40°, ∠ABC = x°, ∠ACB = 3x° in triangle ABC. Find x.", 35),
        ("In triangle ABC, DE parallel BC, D is on AB and E is on AC, ∠A = 70, ∠B = 65. Find ∠CED.", 135),
        ("AB = AC, ∠A = 40, the perpendicular bisector of AB intersects AC at D. Find ∠BDC.", 80),
        ("Right triangle ABC, right-angled at B, has AB = 4.5 cm and BC = 6 cm. Find AC.", 7.5),
        ("The hypotenuse of right triangle ABC is AC. If AB = 8 and BC = 15, find AC.", 17),
        ("In Rt△ABC, ∠ACB = 90, AB = 14, CD is the median on the side AB. Find CD.", 7),
        ("In triangle ABC, ∠A exceeds ∠B by 30° and ∠C = 40°. Find ∠A.", 85),
    ],
)
def test_words_of_public_sources_are_solved_by_cdl(question: str, answer: float) -> None:
    said, goals = text_cdl(question).data["text_cdl"], goal_cdl(question).data["goal_cdl"]
    assert isinstance(said, list)
    assert isinstance(goals, list)
    (answered,) = solve_cdl("", ", ".join(map(str, said)), str(goals[0])).data["answers"]  # type: ignore[misc]
    assert answered["value"] == pytest.approx(answer)  # type: ignore[index,call-overload]


def test_cdl_says_no_direction_that_the_words_leave_open() -> None:
    result = goal_cdl("Points A, B and C are on circle O, angle AOB = 70. Find angle ACB.")
    assert result.data["goal_cdl"] == []
    assert "whose direction is left open" in result.text


def test_the_end_of_a_phrase_is_not_read_alone() -> None:
    words = read_words("The bisector of AB meets CD at E. AB : CD : EF = 2 : 3 : x. Find AB.")
    assert words.said == ()
    assert "the bisector of AB meets CD at E" in words.left_out


def test_a_colon_before_a_sentence_makes_no_ratio() -> None:
    assert tuple(map(written, read_words("Given: AB = 5. Find: BC.").said)) == ("Equals(LengthOf(Line(A,B)),5)",)
