"""Diagrams are read as they were drawn, whatever their ground and size, and problems are solved from them."""

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image, ImageDraw

from saccade.errors import ToolError
from saccade.geometry import Box, Point
from saccade.gym.drawn.geometry_problem import KINDS, GeometryProblem, draw_problem
from saccade.media.store import MediaStore
from saccade.readers.diagrams.diagram import Diagram, read_diagram
from saccade.readers.diagrams.statements import construction_cdl_of, faces_of, image_cdl_of, logic_forms_of
from saccade.readers.text.lines import TextLine
from saccade.seeding import generator_for
from saccade.tasks.drawing import INK, Canvas
from saccade.tools.diagram_tools import DIAGRAM_TOOLS
from saccade.tools.geometry_tools import GEOMETRY_TOOLS
from saccade.tools.tool import find_tool

PER_KIND = 3


@pytest.fixture(scope="module")
def problems() -> list[GeometryProblem]:
    return [draw_problem(generator_for(77, "tests", kind, i), 1.0, kind) for kind in KINDS for i in range(PER_KIND)]


@pytest.fixture(scope="module")
def diagrams(problems: list[GeometryProblem]) -> list[Diagram]:
    return [read_diagram(problem.canvas.image) for problem in problems]


def _right_triangle(extra: Sequence[tuple[str, Point]] = ()) -> Image.Image:
    """Legs of 150 and 100 px at a right angle C in the lower left, nothing marked."""
    canvas = Canvas()
    corners = {"A": Point(60, 90), "B": Point(210, 190), "C": Point(60, 190)}
    for one, other in ("AB", "BC", "CA"):
        canvas.line(corners[one], corners[other], 2, INK)
    for name, at in (("A", Point(50, 78)), ("B", Point(224, 196)), ("C", Point(48, 200)), *extra):
        canvas.text(name, at, 15)
    return canvas.image


def test_the_points_of_drawn_problems_are_found_where_they_are(
    problems: list[GeometryProblem], diagrams: list[Diagram]
) -> None:
    for problem, diagram in zip(problems, diagrams):
        assert set(diagram.places) == set(problem.spots)
        for name, at in problem.spots.items():
            assert abs(diagram.places[name] - complex(at.x, at.y)) < 4


def test_the_lines_circles_and_values_of_drawn_problems_are_read(
    problems: list[GeometryProblem], diagrams: list[Diagram]
) -> None:
    for problem, diagram in zip(problems, diagrams):
        sketch = problem.sketch
        assert {min(line, line[::-1]) for line in diagram.lines} == {min(line, line[::-1]) for line in sketch.lines}
        assert {circle.centre: set(circle.names) for circle in diagram.circles} == {
            centre: set(on) for centre, on in sketch.circles.items()
        }
        assert {frozenset(piece): text for piece, text in diagram.lengths.items()} == {
            frozenset(line): text for line, text in sketch.lengths.items()
        }
        assert sorted((corner[1], text) for corner, text in diagram.angles.items()) == sorted(
            (corner[1], text) for corner, text in sketch.angles.items()
        )
        assert diagram.notes == ()


def test_a_diagram_on_white_paper_at_another_size_is_read_alike(problems: list[GeometryProblem]) -> None:
    for problem in problems[:: PER_KIND + 1]:
        grey = problem.canvas.image.convert("L").point(lambda value: min(255, round((value - 12) * 2.1)))
        large = grey.resize((420, 420), Image.Resampling.BICUBIC).convert("RGB")
        here, there = read_diagram(problem.canvas.image), read_diagram(large)
        assert set(logic_forms_of(here)) == set(logic_forms_of(there))
        for name, at in here.places.items():
            assert abs(there.places[name] * 256 / 420 - at) < 2.5


def test_chalk_on_a_board_is_read_like_ink_on_paper() -> None:
    ink = _right_triangle()
    board = Image.fromarray(255 - np.asarray(ink.convert("L"))).convert("RGB")
    assert logic_forms_of(read_diagram(board)) == logic_forms_of(read_diagram(ink))


def test_a_triangle_is_told_in_both_languages() -> None:
    diagram = read_diagram(_right_triangle([("7", Point(48, 140)), ("10", Point(130, 204))]))
    assert set(logic_forms_of(diagram)) == {
        "Line(A,B)",
        "Line(A,C)",
        "Line(B,C)",
        "Equals(LengthOf(Line(A,C)),7)",
        "Equals(LengthOf(Line(B,C)),10)",
    }
    assert len(image_cdl_of(diagram)) == 2
    # Seen from above: A at the top, then C to the left, then B to the right.
    (face,) = faces_of(diagram)
    assert face in ("ACB", "CBA", "BAC")
    assert construction_cdl_of(diagram) == (f"Shape({face[0:2]},{face[1:3]},{face[2] + face[0]})",)


def test_what_belongs_to_nothing_is_told_and_not_dropped() -> None:
    diagram = read_diagram(_right_triangle([("Q", Point(235, 20)), ("55", Point(20, 20))]))
    assert sorted(note.split(" at ")[0] for note in diagram.notes) == ['"55"', '"Q"']
    assert "Q" not in diagram.places


def test_a_line_without_letters_is_named_and_that_is_told() -> None:
    canvas = Canvas(_right_triangle())
    canvas.line(Point(120, 40), Point(220, 40), 2, INK)
    diagram = read_diagram(canvas.image)
    assert len(diagram.lines) == 4
    assert [note.endswith("has no letter in the diagram and is called Z here") for note in diagram.notes][:1] == [True]


class _SaysQ:
    """Reads every label as the letter Q."""

    def read(self, image: Image.Image) -> tuple[TextLine, ...]:
        return (TextLine(text="Q", box=Box(0, 0, image.width, image.height), confidence=1.0),)


def test_labels_that_are_not_plain_print_are_read_by_the_text_reader() -> None:
    canvas = Canvas()
    corners = [Point(60, 90), Point(210, 190), Point(60, 190)]
    for one, other in zip(corners, [*corners[1:], corners[0]]):
        canvas.line(one, other, 2, INK)
    pencil = ImageDraw.Draw(canvas.image)
    pencil.arc((38, 70, 50, 82), 0, 300, fill=INK, width=1)
    pencil.line((44, 70, 50, 84), fill=INK, width=1)
    assert "Q" in read_diagram(canvas.image, _SaysQ(), sure=2.0).places


def _scrawl(shape: str, count: int) -> Image.Image:
    """Lines or ovals all over the place: without a bound on what is tried, reading them takes minutes."""
    rng = np.random.default_rng(0)
    image = Image.new("RGB", (900, 900), "white")
    pencil = ImageDraw.Draw(image)
    for _ in range(count):
        x, y, width, height = (int(side) for side in rng.integers(5, 450, size=4))
        box = (x, y, x + width, y + height)
        if shape == "line":
            pencil.line(box, fill=INK, width=2)
        else:
            pencil.ellipse(box, outline=INK, width=2)
    return image


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (Image.new("RGB", (256, 256), (128, 128, 128)), "no lines"),
        (Image.new("RGB", (10, 256), (255, 255, 255)), "whole diagram"),
        (Image.fromarray(np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8)), "pieces of ink"),
        (_scrawl("line", 150), "more than 40 lines"),
        (_scrawl("ellipse", 90), "cannot be told apart"),
    ],
)
def test_a_picture_that_is_no_diagram_is_refused_with_a_reason(image: Image.Image, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read_diagram(image)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_problem_is_solved_from_its_picture_and_its_words_in_both_languages(kind: str) -> None:
    problem = draw_problem(generator_for(78, "tests", kind), 1.0, kind)
    media = MediaStore()
    image = media.add(problem.canvas.image)
    read = find_tool("formalize_problem", DIAGRAM_TOOLS).call({"question": problem.sketch.question}, (image,), media)
    parts = {name: part if isinstance(part, str) else "\n".join(part) for name, part in read.data.items()}  # type: ignore[arg-type]
    assert parts["notes"] == ""
    by_forms = {name: parts[name] for name in ("logic_forms", "points")}
    by_cdl = {name: parts[name] for name in ("construction_cdl", "text_cdl", "goal_cdl", "image_cdl")}
    for tool, arguments in (("solve_geometry", by_forms), ("solve_cdl", by_cdl)):
        (answer,) = find_tool(tool, GEOMETRY_TOOLS).call(arguments, (), media).data["answers"]  # type: ignore[misc]
        assert answer["value"] == pytest.approx(problem.sketch.answer, rel=1e-4)  # type: ignore[index,call-overload]
