"""The gym in miniature: what the catalogue's tools say of its drawn questions, and the words that name them."""

from collections.abc import Mapping

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.gym import NUMBERS, PHRASES, TASK_TYPES, TOOL_FAMILIES, VistaQuestions, gym_tools, lesson_texts
from saccade.miniature.gym_lessons import WRONG_CALLS, careful
from saccade.miniature.tiny_model import tiny_model
from saccade.protocols.tagged import write
from saccade.tasks.procedural import generate
from saccade.tools.catalogue.catalogue import CATALOGUE
from saccade.types import Answer, Example, ToolCall

CALLS: Mapping[str, set[tuple[str, ...]]] = {
    "chart": {("chart_to_table",), ("chart_to_table", "algebra"), ("answer_chart",)},
    "geometry": {("image_cdl", "solve_geometry")},
    "map": {("execute_python_code",)},
    "science": {("crop",)},
    "document": {("read_text",), ("read_text", "algebra")},
    "spatial": {("execute_python_code",)},
    "general": {()},
}


def solved(kind: str, count: int, media: MediaStore) -> list[Example]:
    asked = VistaQuestions(seed=1, media=media, types=(kind,))
    return [careful(asked.example("train", number)) for number in range(count)]


def calls_of(example: Example) -> list[ToolCall]:
    return [turn.action for turn in example.turns if isinstance(turn.action, ToolCall)]


def test_every_tool_of_the_catalogue_that_needs_no_model_is_offered() -> None:
    offline = [entry.name for entry in CATALOGUE if "in_process" in entry.makers]
    assert len(offline) == 29
    assert list(gym_tools()) == offline
    assert [name for names in TOOL_FAMILIES.values() for name in names] == offline


@pytest.mark.parametrize("kind", list(TASK_TYPES))
def test_careful_experts_call_the_tools_of_their_type_in_at_most_three_turns(kind: str) -> None:
    examples = solved(kind, 40, MediaStore())
    assert {tuple(call.name for call in calls_of(one)) for one in examples} == CALLS[kind]
    assert all(one.turns[-1].action == Answer(text=one.task.answer) for one in examples)
    assert max(len(one.turns) for one in examples) <= 3


@pytest.mark.parametrize("kind", [kind for kind in TASK_TYPES if kind not in ("general", "science")])
def test_what_the_real_tool_says_last_holds_the_answer(kind: str) -> None:
    media, right, count = MediaStore(), 0, 3
    for example in solved(kind, count, media):
        said = ""
        for call in calls_of(example):
            said = gym_tools()[call.name].call(call.arguments, example.task.images, media).text
        numbers = [word.strip(",.") for word in said.replace("|", " ").split()]
        # Charts are read to the pixel, so that a value is right within 5 %.
        near = [f"{float(word):.0f}" for word in numbers if word.replace(".", "", 1).isdigit()]
        right += example.task.answer in (*numbers, *near)
    # Readers of letters err now and then.
    assert right >= count - 1


def test_a_crop_shows_the_shape_that_is_asked_for_and_no_other() -> None:
    media = MediaStore()
    for example in solved("science", 10, media):
        [call] = calls_of(example)
        [target] = example.task.targets
        left, top, right, bottom = call.arguments["bbox_2d"]  # type: ignore[misc]
        assert (right - left, bottom - top) == (64, 64)  # type: ignore[operator]
        assert left < target.box.x1 < target.box.x2 < right  # type: ignore[operator]
        assert top < target.box.y1 < target.box.y2 < bottom  # type: ignore[operator]
        result = gym_tools()["crop"].call(call.arguments, example.task.images, media)
        assert media.get(result.images[0]).size == (64, 64)


def test_wrong_calls_are_calls_of_tools_that_there_are() -> None:
    media = MediaStore()
    example = generate("big_shape", split="train", index=0, seed=0, media=media)
    for call in WRONG_CALLS:
        tool = gym_tools()[call.name]
        assert tool.bind(call.arguments, example.task.images).tool is tool


def test_turns_take_few_tokens_for_a_tiny_model() -> None:
    media = MediaStore()
    tokenizer = tiny_model(lesson_texts(), media, numbers=NUMBERS, phrases=PHRASES).tokenizer
    for kind in TASK_TYPES:
        for example in solved(kind, 10, media):
            for turn in example.turns:
                assert len(tokenizer(write(turn))["input_ids"]) <= 24


def test_a_question_of_another_kind_has_no_expert() -> None:
    other = generate("attributes", split="train", index=0, seed=0, media=MediaStore())
    with pytest.raises(UserError, match="no expert of the gym answers questions of the family 'attributes'"):
        careful(other)
