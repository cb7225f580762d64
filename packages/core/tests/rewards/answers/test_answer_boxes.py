"""Answers that are boxes: read in the forms that models write, paid by IoU, and by nothing else."""

import pytest

from published_rows import png
from saccade.answer_boxes import boxes_in, matched_ious, written_boxes
from saccade.config.gold_check import weak_golds
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.geometry import Box
from saccade.interop.exports.verifier import ground_truth_of, score
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.protocols.tagged import direct_protocol
from saccade.rewards.answers.metrics_by_set import answer_is_right, credit
from saccade.rewards.responses import response_of
from saccade.rewards.reward import OutcomeReward
from saccade.runs.task_json import task_from_json, task_to_json
from saccade.types import Answer, ExpertTurn, ImageRef, Task

GOLD = "[24, 16, 48, 40]"
TWO = "[[24, 16, 48, 40], [50, 20, 60, 30]]"
PICTURE = ImageRef(hash="0" * 64, width=96, height=64)


def asked(answer: str = GOLD, image: ImageRef = PICTURE, min_iou: float = 0.5) -> Task:
    return Task(
        id="t",
        family="f",
        question="Where is the dot?",
        answer=answer,
        answer_kind="boxes",
        images=(image,),
        min_iou=min_iou,
    )


@pytest.mark.parametrize(
    "text",
    [
        GOLD,
        "24, 16, 48, 40",
        "(24,16),(48,40)",
        "<|box_start|>(24,16),(48,40)<|box_end|>",
        "<ref>the dot</ref><box>[[24, 16, 48, 40]]</box>",
        '```json\n[{"bbox_2d": [24, 16, 48, 40], "label": "dot"}]\n```',
        "[{'Position': [24, 16, 48, 40], 'Confidence': 1}]",
        "The answer is [24, 16, 48, 40].",
    ],
)
def test_a_box_is_read_in_the_forms_that_models_write(text: str) -> None:
    assert answer_is_right(asked(), text)
    assert credit(asked(), text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "16",
        "24",
        "[0, 0, 96, 64]",
        "[48, 40, 24, 16]",
        "[24, 16, 24, 40]",
        "[NaN, 16, 48, 40]",
        "[1e999, 16, 48, 40]",
        "[24, 16, 48, 40] or [0, 0, 9, 9]",
        "[24, 16, 48, 40], [24, 16, 48, 40]",
        "somewhere on the left",
        "not [24, 16, 48, 40]",
        "[" * 7000,
        "[24, 16, 48, 40]," * 400,
        "9" * 7999,
        str([[x, y, x + 24, y + 24] for x in range(0, 96, 12) for y in range(0, 64, 12)]),
        "[250, 250, 500, 625]",
        "[0.25, 0.25, 0.5, 0.625]",
    ],
)
def test_what_is_not_the_box_is_not_right_and_earns_no_more_than_it_overlaps(text: str) -> None:
    assert not answer_is_right(asked(), text)
    assert credit(asked(), text) <= 0.5


def test_several_boxes_are_matched_one_to_one() -> None:
    task = asked(TWO)
    assert answer_is_right(task, "[[50, 20, 60, 30], [24, 16, 48, 40]]")
    assert credit(task, GOLD) == 0.5
    assert not answer_is_right(task, GOLD)
    twice = "[[24, 16, 48, 40], [24, 16, 48, 40]]"
    assert credit(task, twice) == 0.5
    assert not answer_is_right(task, twice)
    assert matched_ious([Box(0, 0, 2, 2)] * 2, [Box(0, 0, 2, 2)]) == [1.0]


def test_the_iou_from_which_a_box_is_right_is_the_tasks() -> None:
    nearly = "[24, 16, 48, 34]"
    assert credit(asked(), nearly) == pytest.approx(0.75)
    assert answer_is_right(asked(), nearly)
    assert not answer_is_right(asked(min_iou=0.8), nearly)


@pytest.mark.parametrize("convention", ["absolute", "relative_1000"])
def test_a_reply_in_the_frame_that_was_asked_for_is_paid_by_its_iou(convention: str) -> None:
    media = MediaStore()
    task = asked("[240, 160, 480, 400]", media.add_encoded(wide_png(), "it"))
    view = ResizeRule(factor=28, min_pixels=1, max_pixels=100_000, convention=convention)  # type: ignore[arg-type]
    environment = VisualReasoningEnv(tasks=[task], media=media, view=view, tools=(), protocol=direct_protocol())
    prompt, _ = environment.reset()
    assert "[x1, y1, x2, y2]" in prompt["text"]
    expert = ExpertTurn(thought="", action=Answer(text=task.answer))
    said = environment.write_turn(expert)
    assert ("240" in said) is False
    environment.step(said)
    trajectory = response_of(task, [said], direct_protocol(), view=view)
    assert trajectory.answer is not None
    assert credit(task, trajectory.answer) > 0.97
    paid = OutcomeReward(format_weight=0.0)(task, trajectory)
    assert paid.is_right is True
    assert paid.total == credit(task, trajectory.answer)


def wide_png() -> bytes:
    import io

    from PIL import Image

    raw = io.BytesIO()
    Image.open(io.BytesIO(png())).resize((960, 640)).save(raw, "PNG")
    return raw.getvalue()


def test_boxes_survive_records_exports_and_the_check_of_golds() -> None:
    task = asked(min_iou=0.7)
    assert task_from_json(task_to_json(task)) == task
    assert "min_iou" not in task_to_json(asked())
    assert score(f"<think>x</think><answer>{GOLD}</answer>", ground_truth_of(task)) == 1.0
    assert score("<think>x</think><answer>[24, 16, 48, 32]</answer>", ground_truth_of(task)) == 0.0
    assert weak_golds([task, asked(TWO)]) == []


def test_boxes_are_written_as_they_are_read() -> None:
    for text in (GOLD, TWO, "[0.5, 1.25, 3, 4]"):
        found = boxes_in(text)
        assert found is not None
        assert written_boxes(found) == text
