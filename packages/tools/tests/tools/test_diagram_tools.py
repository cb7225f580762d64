"""The diagram tools keep the contract of tools, and the family's expert solves its problems with them."""

import json

import pytest

from saccade.gym.drawn.geometry_problem import KINDS, draw_geometry_problem, draw_problem
from saccade.media.store import MediaStore
from saccade.readers.geometry.cdl import statements_of
from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.solver import solve
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tasks.procedural import generate
from saccade.testing.tool_check import check_tool
from saccade.tools.diagram_tools import DIAGRAM_TOOLS
from saccade.tools.geometry_tools import GEOMETRY_TOOLS
from saccade.tools.tool import check_names, find_tool
from saccade.types import Answer, Json, ToolCall

QUESTION = "AB is parallel to CD. Angle ABC is 30 degrees. Find the length of AC."
GOOD_CALLS: dict[str, dict[str, Json]] = {
    "construction_cdl": {},
    "image_cdl": {},
    "text_cdl": {"question": QUESTION},
    "goal_cdl": {"question": QUESTION},
    "parse_diagram": {},
    "formalize_problem": {"question": QUESTION},
}


def test_the_tools_have_their_names() -> None:
    check_names([*DIAGRAM_TOOLS, *GEOMETRY_TOOLS])
    assert [tool.name for tool in DIAGRAM_TOOLS] == list(GOOD_CALLS)


@pytest.mark.parametrize("name", list(GOOD_CALLS))
def test_every_tool_keeps_its_contract(name: str) -> None:
    problem = draw_problem(generator_for(79, "tools", name), 1.0, "quadrilateral")
    check_tool(find_tool(name, DIAGRAM_TOOLS), [GOOD_CALLS[name]], image=problem.canvas.image)


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_the_expert_s_calls_lead_to_the_answer(difficulty: float) -> None:
    media = MediaStore()
    example = generate("geometry_problem", split="train", index=3, seed=1, media=media, difficulty=difficulty)
    *calls, last = [turn.action for turn in example.turns]
    results = []
    for action in calls:
        assert isinstance(action, ToolCall)
        tool = find_tool(action.name, [*DIAGRAM_TOOLS, *GEOMETRY_TOOLS])
        results.append(tool.call(action.arguments, example.task.images, media))
    (found,) = results[-1].data["answers"]  # type: ignore[misc]
    assert answer_is_right(example.task, f"{found['value']}")  # type: ignore[index,call-overload]
    assert isinstance(last, Answer)
    assert answer_is_right(example.task, last.text)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_solver_finds_the_one_answer_of_every_drawn_problem(kind: str) -> None:
    for index in range(2):
        problem = draw_problem(generator_for(80, "unique", kind, index), 1.0, kind)
        places = {name: (at.x, -at.y) for name, at in problem.spots.items()}
        (answer,) = solve(parse_statements("\n".join(problem.sketch.logic_forms)), places)
        assert answer.value == pytest.approx(problem.sketch.answer, rel=1e-4)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_true_cdl_of_a_drawn_problem_is_cdl(kind: str) -> None:
    sketch = draw_problem(generator_for(81, "cdl", kind), 1.0, kind).sketch
    for part in (*sketch.construction_cdl, *sketch.image_cdl):
        assert statements_of(part, "the part")


def test_every_value_and_letter_of_a_problem_is_an_object_with_its_box() -> None:
    scene = draw_geometry_problem(generator_for(82, "objects"), 1.0)
    assert {one.name for one in scene.objects} == {target.label for target in scene.asked.targets}
    for one in scene.objects:
        assert 0 <= one.box.x1 < one.box.x2 <= 256
        assert 0 <= one.box.y1 < one.box.y2 <= 256
        assert one.attributes["text"]
    json.dumps([dict(one.attributes) for one in scene.objects])
