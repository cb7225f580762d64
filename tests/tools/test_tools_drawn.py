"""Tools that read drawn pictures by their colours: right on every family that they are for, and nothing else."""

from collections.abc import Mapping

import pytest
from PIL import Image

from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.recipes._vista_gym import TASK_TYPES, TOOL_FAMILIES, VistaQuestions
from saccade.recipes._vista_lessons import careful
from saccade.tasks.procedural import generate
from saccade.testing.tool_check import check_tool
from saccade.tools.drawn import DRAWN_TOOLS, calculate, count_dots, list_shapes, measure_scale, read_bars, read_cells
from saccade.types import Answer, Json, ToolCall

GREY = Image.new("RGB", (64, 64), (128, 128, 128))


def picture(family: str, index: int = 0) -> Image.Image:
    media = MediaStore()
    return media.get(generate(family, split="train", index=index, seed=3, media=media).task.images[0])


@pytest.mark.parametrize("kind", list(TASK_TYPES))
def test_the_careful_experts_last_call_says_the_answer(kind: str) -> None:
    media = MediaStore()
    asked = VistaQuestions(seed=1, media=media, types=(kind,))
    tools = {tool.name: tool for family in TOOL_FAMILIES.values() for tool in family}
    for number in range(40):
        example = asked.example("train", number)
        solved = careful(example, media.get(example.task.images[0]))
        said = ""
        for turn in solved.turns[:-1]:
            assert isinstance(turn.action, ToolCall)
            said = tools[turn.action.name].call(turn.action.arguments, example.task.images, media).text
        assert solved.turns[-1].action == Answer(text=example.task.answer)
        if example.task.answer not in ("yes", "no") and kind != "general":
            assert example.task.answer in said.replace(",", " ").split()


CALLS: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "count_dots": ("colour_dots", {"colour": "red"}),
    "list_shapes": ("attributes", {"like": "circle"}),
    "measure_scale": ("scale_bar", {"what": "length", "colour": "red", "units": 10}),
    "read_bars": ("colour_bars", {"colours": "red"}),
    "read_cells": ("dot_table", {"line": "row", "number": 1}),
    "calculate": ("colour_bars", {"expression": "73-40"}),
}


@pytest.mark.parametrize("tool", DRAWN_TOOLS, ids=lambda tool: tool.name)
def test_every_tool_keeps_the_contract(tool) -> None:  # type: ignore[no-untyped-def]
    family, arguments = CALLS[tool.name]
    for index in range(40):
        shown = picture(family, index)
        try:
            tool.function(**({"image": shown} if tool.name != "calculate" else {}), **arguments)
        except ToolError:
            continue
        break
    check_tool(tool, [arguments], image=shown)


def test_on_a_picture_without_what_it_reads_a_tool_says_so() -> None:
    assert count_dots(GREY, "red") == "0"
    for said, why in (
        (lambda: list_shapes(GREY, "star"), "no star shape"),
        (lambda: measure_scale(GREY, "length", "red", 10), "no red thing or no scale bar"),
        (lambda: read_bars(GREY, "red"), "no red bar over an axis"),
        (lambda: read_bars(GREY, " , "), "at least one bar"),
        (lambda: read_cells(GREY, "row", 1), "no row 1 of a ruled table"),
        (lambda: measure_scale(picture("scale_bar"), "area", "blue", 0), "units|no blue thing"),
    ):
        with pytest.raises(ToolError, match=why):
            said()


def test_the_calculator_knows_the_four_operations_and_nothing_else() -> None:
    assert [calculate(text) for text in ("73-40", "3+2*4", "-(7-3)/2", " 6 * 7 ", "1/3")] == [
        "33",
        "11",
        "-2",
        "42",
        "0.3333333333",
    ]
    for text in ("", "2**9999999", "abs(3)", "1/0", "x", "True+1", "(" * 60, "1" * 65, "'a'*9", "3;4", "__import__"):
        with pytest.raises(ToolError, match="expression must"):
            calculate(text)
