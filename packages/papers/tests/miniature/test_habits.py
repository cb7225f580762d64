"""Bad habits: experts that guess, and experts that look at the middle whatever is asked."""

import pytest

from saccade.media.store import MediaStore
from saccade.miniature.habits import centred, guessed
from saccade.tasks.procedural import generate
from saccade.types import Answer, Example, ToolCall

MEDIA = MediaStore()


def example(family: str, index: int) -> Example:
    return generate(family, split="train", index=index, seed=3, media=MEDIA)


def test_a_guess_is_the_answer_of_another_question_and_no_look() -> None:
    shown, other = example("visual_search", 0), example("visual_search", 1)
    [turn] = guessed(shown, other=other).turns
    assert turn.action == Answer(text=other.task.answer)


def test_a_centred_look_names_the_same_thing_and_crops_the_middle_wherever_it_is() -> None:
    for index in range(8):
        shown, other = example("visual_search", index), example("visual_search", 9)
        look, answer = centred(shown, other=other).turns
        assert isinstance(look.action, ToolCall)
        assert look.action.arguments["bbox_2d"] == [96, 96, 160, 160]
        assert look.thought == f"{shown.turns[0].thought.split()[0]} lower right"
        assert answer.action == Answer(text=other.task.answer)
        assert shown.task == centred(shown, other=other).task


def test_an_expert_that_does_not_crop_first_cannot_be_centred() -> None:
    with pytest.raises(ValueError, match="does not begin with a crop"):
        centred(example("counting", 0), other=example("counting", 1))
