"""What the recipe for one's own questions imitates: looks where rows have boxes, answers where it may."""

import logging
from dataclasses import replace

import pytest

from saccade.geometry import Box, Point
from saccade.recipes.questions_lessons import examples_to_imitate
from saccade.types import Answer, ImageRef, Target, Task, ToolCall

PLAIN = Task(
    id="t",
    family="own",
    question="What is on the red card?",
    answer="rows",
    answer_kind="exact",
    images=(ImageRef(hash="0" * 64, width=1024, height=512),),
    source="file",
)
BOX = Box(512.0, 0.0, 768.0, 128.0)
BOXED = replace(PLAIN, id="boxed", targets=(Target(label="red card", box=BOX, point=BOX.center),))


def test_a_box_is_named_with_its_place_and_cropped_before_the_answer() -> None:
    (example,) = examples_to_imitate([PLAIN, BOXED], looks=3, warns=True)
    assert example.task is BOXED
    look, answer = example.turns
    assert look.thought == "red card top right"
    assert look.action == ToolCall(name="crop", arguments={"bbox_2d": [512, 0, 768, 128]})
    assert answer.action == Answer(text="rows")


def test_there_are_no_more_looks_than_turns_and_each_names_its_image() -> None:
    second = Target(label="", box=BOX, point=Point(0.0, 0.0), image_index=1)
    both = replace(BOXED, images=PLAIN.images * 2, targets=(*BOXED.targets, second, second))
    (example,) = examples_to_imitate([both], looks=2, warns=True)
    looks = [turn.action.arguments for turn in example.turns if isinstance(turn.action, ToolCall)]
    assert [one.get("image") for one in looks] == [None, 2]
    assert example.turns[1].thought == "top right"


@pytest.mark.parametrize(("looks", "warns", "is_said"), [(3, True, True), (3, False, False), (0, True, False)])
def test_answers_alone_are_warned_of_where_there_are_tools_to_unlearn(
    looks: int, warns: bool, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        (example,) = examples_to_imitate([PLAIN], looks=looks, warns=warns)
    assert [turn.action for turn in example.turns] == [Answer(text="rows")]
    assert any("give some rows `boxes`" in one.getMessage() for one in caplog.records) == is_said
