"""Boxes of the reasoning and of crops held against targets."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.evaluation.grounding import (
    Grounding,
    IouInterval,
    accuracy_by_iou,
    answers_with_iou,
    grounding,
    question_ious,
)
from saccade.evaluation.statistics import Accuracy, wilson_interval
from saccade.evaluation.summary import summarise
from saccade.geometry import Box
from saccade.rewards.evidence import Look, look_of
from saccade.types import (
    Answer,
    Attempt,
    BoxMention,
    ImageRef,
    Json,
    Observation,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

A, B = Box(0, 0, 10, 10), Box(20, 0, 30, 10)
HALF_OF_A = Box(0, 0, 10, 5)
FAR = Box(80, 80, 90, 90)


def asked(index: int, *targets: Box, image_index: int = 0) -> Task:
    return Task(
        id=f"search/{index}",
        family="search",
        question="?",
        answer="yes",
        answer_kind="exact",
        images=(),
        targets=tuple(Target(label="it", box=box, point=box.center, image_index=image_index) for box in targets),
    )


def saying(task: Task, boxes: Sequence[Box | None], answer: str = "yes", *, sample: int = 0) -> Attempt:
    mentions = tuple(BoxMention(text=str(box), box=box) for box in boxes)
    turn = Turn(
        index=0, text="", thought="", action=Answer(text=answer), is_well_formed=True, result=None, boxes=mentions
    )
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="evaluation",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )
    return Attempt(task=task, trajectory=trajectory)


def failed(attempt: Attempt) -> Attempt:
    return replace(attempt, trajectory=replace(attempt.trajectory, status="failed"))


def share(right: int, n: int) -> Accuracy:
    return Accuracy(accuracy=right / n if n else None, ci95=wilson_interval(right, n), n=n)


def test_recall_only_and_dual_iou_are_means_over_tasks() -> None:
    attempts = [
        # Both recalls 1; precisions 1 and (1 + 0) / 2: the task's means are 1 and 0.875.
        saying(asked(0, A), [A]),
        saying(asked(0, A), [A, FAR], "no", sample=1),
        # Recall (0.5 + 0) / 2, precision 0.5: 0.25 and 0.375.
        saying(asked(1, A, B), [HALF_OF_A]),
    ]
    found = grounding(attempts, bounds=(0.0, 0.5))
    assert found == Grounding(
        iou=(1 + 0.25) / 2,
        dual_iou=(0.875 + 0.375) / 2,
        tasks=2,
        boxes_mean=4 / 3,
        without_box=0.0,
        intervals=(
            IouInterval(low=0.0, high=0.5, answers=share(1, 1)),
            IouInterval(low=0.5, high=1.0, answers=share(1, 2)),
        ),
    )


def test_a_box_that_is_repeated_or_unreadable_is_no_further_box() -> None:
    # Recall 1; of A, B and what could not be read, A alone hits: precision 1 / 3.
    attempt = saying(asked(0, A), [A, None, A, B])
    silent = saying(asked(1, A), [None], "no")
    found = grounding([attempt, silent])
    assert found is not None
    assert (found.boxes_mean, found.without_box, found.iou) == (1.0, 0.5, 0.5)
    assert found.dual_iou == pytest.approx((0.5 * (1 + 1 / 3) + 0) / 2)


def test_where_nobody_mentions_a_box_nothing_is_measured() -> None:
    assert grounding([saying(asked(0, A), [])]) is None
    assert grounding([]) is None
    assert grounding([failed(saying(asked(0, A), [A]))]) is None


def test_tasks_without_targets_on_the_first_image_count_for_boxes_alone() -> None:
    found = grounding([saying(asked(0), [A]), saying(asked(1, A, image_index=1), [A, B])])
    assert found == Grounding(iou=None, dual_iou=None, tasks=0, boxes_mean=1.5, without_box=0.0)


def test_what_the_machine_failed_is_in_no_number() -> None:
    fine = saying(asked(0, A), [A])
    assert grounding([fine, failed(saying(asked(1, A), []))]) == grounding([fine])


def test_answers_in_plain_words_are_grouped_by_the_iou_of_the_other_stream() -> None:
    tasks = [asked(0, A), asked(1, A), asked(2, A)]
    ious = question_ious([saying(tasks[0], [A]), saying(tasks[1], [HALF_OF_A]), saying(tasks[2], [FAR])])
    assert ious == {"search/0": 1.0, "search/1": 0.5, "search/2": 0.0}
    plain = [
        saying(tasks[0], [], "yes"),
        saying(tasks[0], [], "no", sample=1),
        saying(tasks[1], [], "no"),
        saying(tasks[2], [], "yes"),
        failed(saying(tasks[2], [], "no", sample=1)),
        saying(asked(9, A), [], "yes"),
    ]
    counted = accuracy_by_iou(answers_with_iou(plain, ious))
    assert [(one.low, one.high, one.answers) for one in counted] == [
        (0.0, 0.1, share(1, 1)),
        (0.1, 0.3, share(0, 0)),
        (0.3, 0.5, share(0, 0)),
        (0.5, 0.7, share(0, 1)),
        (0.7, 1.0, share(1, 2)),
    ]


def test_a_bound_belongs_to_the_interval_that_begins_with_it() -> None:
    counted = accuracy_by_iou([(0.3, True), (0.29, False), (1.0, True)], (0.0, 0.3))
    assert [one.answers for one in counted] == [share(0, 1), share(2, 2)]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30))
def test_every_answer_is_in_one_interval(answers: list[tuple[float, bool]]) -> None:
    counted = accuracy_by_iou(answers)
    assert sum(one.answers.n for one in counted) == len(answers)
    right = sum(round((one.answers.accuracy or 0) * one.answers.n) for one in counted)
    assert right == sum(is_right for _, is_right in answers)


@pytest.mark.parametrize("bounds", [(), (0.1,), (0.0, 0.5, 0.5), (0.0, 1.0), (0.0, float("nan"))])
def test_bounds_that_leave_gaps_or_overlap_are_refused(bounds: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match=r"must rise from 0 and stay below 1"):
        accuracy_by_iou([], bounds)


def test_a_summary_has_the_boxes_where_there_are_any() -> None:
    attempts = [saying(asked(0, A), [A])]
    summary = summarise("grounded", [(one.task, one.trajectory) for one in attempts])
    assert summary.figures["grounding"].value == grounding(attempts)
    values = json.loads(json.dumps(summary.as_json(), allow_nan=False))["grounding"]
    assert (values["iou"], values["dual_iou"], values["tasks"], values["without_box"]) == (1.0, 1.0, 1, 0.0)
    assert values["intervals"][-1] == {
        "low": 0.7,
        "high": 1.0,
        "accuracy": 1.0,
        "ci95": list(wilson_interval(1, 1)),
        "n": 1,
    }


IMAGE = ImageRef(hash="0" * 64, width=100, height=100)
TARGET = Target(label="plate", box=Box(10, 10, 30, 30), point=Box(10, 10, 30, 30).center)


def task(*targets: Target) -> Task:
    return Task(
        id="t", family="f", question="?", answer="a", answer_kind="exact", images=(IMAGE, IMAGE), targets=targets
    )


def crop(bbox: Json, *, name: str = "crop", is_ok: bool = True, image: int = 1) -> Turn:
    call = ToolCall(name=name, arguments={"bbox_2d": bbox, "image": image})
    return Turn(index=0, text="", thought="", action=call, is_well_formed=True, result=ToolResult(text="", is_ok=is_ok))


def trajectory(*turns: Turn) -> Trajectory:
    answer = Turn(index=len(turns), text="", thought="", action=Answer(text="a"), is_well_formed=True)
    return Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*turns, answer),
        status="answered",
    )


def test_half_of_the_target_in_a_crop_of_its_size() -> None:
    look = look_of(task(TARGET), trajectory(crop([20, 10, 40, 30])))
    assert look == Look(iou=pytest.approx(200 / 600), coverage=0.5)


def test_the_best_crop_counts() -> None:
    look = look_of(task(TARGET), trajectory(crop([60, 60, 90, 90]), crop([10, 10, 30, 30], name="zoom")))
    assert look == Look(iou=1.0, coverage=1.0)


def test_a_crop_of_a_crop_lies_on_the_picture() -> None:
    shown = Observation(text="", images=(ImageRef(hash="c", width=100, height=50),))
    first = replace(crop([5, 5, 55, 30]), observation=shown)
    # The crop of 50 x 25 pixels is shown at twice its size, and is the third picture.
    assert look_of(task(TARGET), trajectory(first)) == Look(iou=400 / 1250, coverage=1.0)
    look = look_of(task(TARGET), trajectory(first, crop([10, 10, 50, 50], image=3)))
    assert look == Look(iou=1.0, coverage=1.0)


def test_a_crop_elsewhere_is_a_miss_not_nothing() -> None:
    assert look_of(task(TARGET), trajectory(crop([60, 60, 90, 90]))) == Look(iou=0.0, coverage=0.0)


@pytest.mark.parametrize(
    "turn",
    [
        crop([10, 10, 30, 30], is_ok=False),
        crop([10, 10, 30, 30], image=2),
        crop([10, 10, 30, 30], name="rotate"),
        crop("10"),
        crop([10, "x", 30, 30]),
    ],
)
def test_failed_foreign_and_broken_crops_do_not_count(turn: Turn) -> None:
    assert look_of(task(TARGET), trajectory(turn)) is None


def test_without_targets_there_is_nothing_to_hold_a_crop_against() -> None:
    assert look_of(task(), trajectory(crop([10, 10, 30, 30]))) is None
