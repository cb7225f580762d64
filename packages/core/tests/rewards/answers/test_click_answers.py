"""Answers that are a point to click: inside the gold's box, whatever way it is written."""

import pytest

from saccade.answer_boxes import point_in
from saccade.geometry import Point
from saccade.protocols.instructions import question_text
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.rows.answers import golds_of
from saccade.types import Task

TASK = Task(
    id="one",
    family="mine",
    question="Press Save.",
    answer="[30, 15]",
    answer_kind="click",
    images=(),
    accepted=("[30, 15]", "[10, 10, 50, 20]"),
)


@pytest.mark.parametrize(
    "reply",
    ["[30, 15]", "(12, 19)", "10, 10", '{"point_2d": [49.5, 20]}', "[[11, 11]]", "[20, 12, 40, 18]", "[10,10,50,20]"],
)
def test_a_point_in_the_box_is_right_however_it_is_written(reply: str) -> None:
    assert answer_is_right(TASK, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "[51, 15]",
        "[30, 21]",
        "[0, 0, 1000, 1000]",
        "[[30, 15], [40, 16], [20, 12]]",
        "[[0, 0, 20, 20], [10, 10, 50, 20]]",
        "30",
        "Save at [30, 15]",
        "[30, NaN]",
        "[30, 15, 1]",
        "",
    ],
)
def test_what_lies_beside_it_and_several_points_are_wrong(reply: str) -> None:
    assert not answer_is_right(TASK, reply)


def test_a_word_is_the_gold_of_what_is_not_there_to_click() -> None:
    nowhere = Task(
        id="one", family="mine", question="Press Fly.", answer="unanswerable", answer_kind="click", images=()
    )
    assert answer_is_right(nowhere, "unanswerable")
    assert not answer_is_right(nowhere, "[30, 15]")


@pytest.mark.parametrize("gold", [[10, 10, 50, 20], "[10, 10, 50, 20]"])
def test_the_box_of_a_row_is_one_gold(gold: list[int] | str) -> None:
    kind, accepted = golds_of(gold, None, "click", (), "Press Save.", key="answer")
    assert (kind, accepted) == ("click", ("[10, 10, 50, 20]",))


def test_the_prompt_says_what_a_click_looks_like() -> None:
    assert "The answer is the point to click, [x, y]" in question_text(TASK, "full")


def test_a_point_is_read_from_text_alone() -> None:
    assert point_in("[30, 15.5]") == Point(30, 15.5)
    assert point_in("[" * 9000) is None
