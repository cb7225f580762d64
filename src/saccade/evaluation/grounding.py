"""Boxes held against what the answer depends on: those in the reasoning (iVGR, figure 2), and those of crops."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.codec.forms import Form
from saccade.errors import UserError
from saccade.evaluation.statistics import Accuracy, share_right
from saccade.geometry import Box, iou
from saccade.rewards.grounding import GroundingReward, box_recall, first_image_boxes, readable_boxes
from saccade.rewards.reward import counts_as_right
from saccade.types import Attempt, Json, Task, ToolCall, Trajectory

IOU_BOUNDS = (0.0, 0.1, 0.3, 0.5, 0.7)
"""Lower bounds of the intervals of IoU; each ends before the next, and the last holds 1."""

_REWARD = GroundingReward()


@dataclass(frozen=True, kw_only=True, slots=True)
class IouInterval:
    """Answers to the questions whose boxes overlap the targets by ``low`` up to but without ``high``.

    The last interval has ``high`` 1.0 and holds it.
    """

    FORM: ClassVar = Form(flat=("answers",))

    low: float
    high: float
    answers: Accuracy


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounding:
    """Fit of the boxes in the reasoning. Boxes and targets are those on the first image.

    The overlaps are None when no task has a target there.
    """

    iou: float | None
    """Mean over tasks of the recall-only IoU of all readable boxes, the "mIoU" of tables; no reward, since it pays for
    endless boxes."""
    dual_iou: float | None
    """Mean over tasks of the box reward (equation 2), which takes precision too."""
    tasks: int
    """Tasks with targets."""
    boxes_mean: float
    """Distinct ordered boxes per trajectory, as the reward counts them."""
    without_box: float
    """Share of trajectories that name none."""
    intervals: tuple[IouInterval, ...] = ()
    """The same trajectories' answers by the recall-only IoU of the question; every interval, also an empty one."""


def grounding(attempts: Iterable[Attempt], bounds: Sequence[float] = IOU_BOUNDS) -> Grounding | None:
    """The measures of the trajectories that the machine did not fail; None when no reasoning mentions a box."""
    fine = [attempt for attempt in attempts if attempt.trajectory.status != "failed"]
    if not any(turn.boxes for attempt in fine for turn in attempt.trajectory.turns):
        return None
    scores = [(attempt.task.id, _REWARD(attempt.task, attempt.trajectory)) for attempt in fine]
    counts = [score.notes["boxes"] for _, score in scores]
    duals = _mean_by_task((task, score.values["box"]) for task, score in scores if "box" in score.values)
    ious = question_ious(fine)
    return Grounding(
        iou=_mean(list(ious.values())),
        dual_iou=_mean(list(duals.values())),
        tasks=len(ious),
        boxes_mean=sum(counts) / len(counts),
        without_box=counts.count(0) / len(counts),
        intervals=accuracy_by_iou(answers_with_iou(fine, ious), bounds) if ious else (),
    )


def question_ious(attempts: Iterable[Attempt]) -> dict[str, float]:
    """By task id, the recall-only IoU of the trajectories that the machine did not fail, mean over them.

    Tasks without targets are left out.
    """
    return _mean_by_task((attempt.task.id, _recall(attempt)) for attempt in attempts if _is_measured(attempt))


def answers_with_iou(attempts: Iterable[Attempt], ious: Mapping[str, float]) -> list[tuple[float, bool]]:
    """The question's IoU and whether the answer is right, of each attempt at one of these questions.

    The attempts may be those that wrote the boxes, or others at the same tasks: answers in plain words by how well
    another stream grounds the question, as figure 2 draws them.
    """
    return [
        (ious[attempt.task.id], counts_as_right(attempt.task, attempt.trajectory))
        for attempt in attempts
        if attempt.trajectory.status != "failed" and attempt.task.id in ious
    ]


def accuracy_by_iou(
    answers: Iterable[tuple[float, bool]], bounds: Sequence[float] = IOU_BOUNDS
) -> tuple[IouInterval, ...]:
    """Pairs of IoU and whether an answer is right, by interval. UserError unless ``bounds`` rise from 0 to below 1."""
    if not bounds or bounds[0] != 0 or not all(low < high for low, high in zip(bounds, [*bounds[1:], 1.0])):
        raise UserError(f"bounds={tuple(bounds)} of IoU intervals must rise from 0 and stay below 1")
    right: list[list[bool]] = [[] for _ in bounds]
    for overlap, is_right in answers:
        right[sum(bound <= overlap for bound in bounds) - 1].append(is_right)
    return tuple(
        IouInterval(low=low, high=high, answers=share_right(answers_there))
        for low, high, answers_there in zip(bounds, [*bounds[1:], 1.0], right)
    )


def _is_measured(attempt: Attempt) -> bool:
    return attempt.trajectory.status != "failed" and bool(first_image_boxes(attempt.task))


def _recall(attempt: Attempt) -> float:
    return box_recall(readable_boxes(attempt.trajectory), first_image_boxes(attempt.task))


def _mean_by_task(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    by_task: dict[str, list[float]] = {}
    for task, value in values:
        by_task.setdefault(task, []).append(value)
    return {task: math.fsum(of_task) / len(of_task) for task, of_task in by_task.items()}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


LOOKING_TOOLS = ("crop", "zoom")


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Fit of a trajectory's best crop to a target of the task."""

    iou: float
    """Largest intersection over union of a crop with a target."""
    coverage: float
    """Largest share of a target's area inside one crop."""


def look_of(task: Task, trajectory: Trajectory) -> Look | None:
    """The best fit of a crop; None without targets, or when no crop of the task's own images ran without an error."""
    pairs = [
        (box, target.box)
        for number, box in _crops(trajectory)
        for target in task.targets
        if target.image_index == number - 1
    ]
    if not pairs:
        return None
    return Look(
        iou=max(iou(box, target) for box, target in pairs),
        coverage=max(_covered(target, box) for box, target in pairs),
    )


def _crops(trajectory: Trajectory) -> list[tuple[int, Box]]:
    """(number of the image, box in its pixels) of each crop that gave a picture."""
    crops = []
    for turn in trajectory.turns:
        action = turn.action
        if isinstance(action, ToolCall) and action.name in LOOKING_TOOLS and turn.result and turn.result.is_ok:
            box = _box(action.arguments)
            number = action.arguments.get("image", 1)
            if box is not None and isinstance(number, int):
                crops.append((number, box))
    return crops


def _box(arguments: Mapping[str, Json]) -> Box | None:
    value = arguments.get("bbox_2d")
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 4:
        return None
    sides = [float(side) for side in value if isinstance(side, int | float)]
    return Box(*sides) if len(sides) == 4 else None


def _covered(target: Box, crop: Box) -> float:
    shared = Box(max(target.x1, crop.x1), max(target.y1, crop.y1), min(target.x2, crop.x2), min(target.y2, crop.y2))
    return shared.area / target.area if shared.is_ordered and target.area > 0 else 0.0
