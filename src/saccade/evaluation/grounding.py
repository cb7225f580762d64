"""Boxes in the reasoning held against what the answer depends on, and answers beside them (iVGR, figure 2)."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.evaluation.statistics import Accuracy, share_right
from saccade.geometry import Box
from saccade.rewards.boxes import box_recall, dual_iou
from saccade.rewards.outcome import is_correct
from saccade.types import Attempt, Json, Task, Trajectory

IOU_BOUNDS = (0.0, 0.1, 0.3, 0.5, 0.7)
"""Where the intervals of IoU begin; each ends before the next, and the last holds 1."""

Overlap = Callable[[Sequence[Box], Sequence[Box]], float]
"""Of predicted boxes with targets, in 0..1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IouInterval:
    """Answers to the questions whose boxes overlap the targets by ``low`` up to but without ``high``.

    The last interval has ``high`` 1.0 and holds it.
    """

    low: float
    high: float
    answers: Accuracy

    def as_json(self) -> dict[str, Json]:
        return {"low": self.low, "high": self.high, **self.answers.as_json()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounding:
    """How well boxes in the reasoning fit. Boxes and targets are those on the first image.

    The overlaps are None when no task has a target there.
    """

    iou: float | None
    """Mean over tasks of the recall-only IoU, the "mIoU" of tables; no reward, since it pays for endless boxes."""
    dual_iou: float | None
    """Mean over tasks of equation 2, which takes precision too."""
    tasks: int
    """Tasks with targets."""
    boxes_mean: float
    """Different readable boxes per trajectory."""
    without_box: float
    """Share of trajectories that name no readable box."""
    intervals: tuple[IouInterval, ...] = ()
    """The same trajectories' answers by the recall-only IoU of the question; every interval, also an empty one."""

    def as_json(self) -> dict[str, Json]:
        return {
            "iou": self.iou,
            "dual_iou": self.dual_iou,
            "tasks": self.tasks,
            "boxes_mean": self.boxes_mean,
            "without_box": self.without_box,
            "intervals": [interval.as_json() for interval in self.intervals],
        }


def grounding(attempts: Iterable[Attempt], bounds: Sequence[float] = IOU_BOUNDS) -> Grounding | None:
    """The measures of the trajectories that the machine did not fail; None when no reasoning mentions a box."""
    fine = [attempt for attempt in attempts if attempt.trajectory.status != "failed"]
    if not any(turn.boxes for attempt in fine for turn in attempt.trajectory.turns):
        return None
    counts = [len(predicted_boxes(attempt.trajectory)) for attempt in fine]
    ious = question_ious(fine)
    duals = _mean_by_task(fine, dual_iou)
    return Grounding(
        iou=_mean(list(ious.values())),
        dual_iou=_mean(list(duals.values())),
        tasks=len(ious),
        boxes_mean=sum(counts) / len(counts),
        without_box=counts.count(0) / len(counts),
        intervals=accuracy_by_iou(answers_with_iou(fine, ious), bounds) if ious else (),
    )


def predicted_boxes(trajectory: Trajectory) -> tuple[Box, ...]:
    """The different boxes that a trajectory's reasoning names, in order, as written; in pixels of the first image."""
    mentions = (mention.box for turn in trajectory.turns for mention in turn.boxes)
    return tuple(dict.fromkeys(box for box in mentions if box is not None))


def target_boxes(task: Task) -> tuple[Box, ...]:
    """What the answer depends on in the first image, the one that boxes are about."""
    return tuple(target.box for target in task.targets if target.image_index == 0)


def question_ious(attempts: Iterable[Attempt]) -> dict[str, float]:
    """By task id, the recall-only IoU of the trajectories that the machine did not fail, mean over them.

    Tasks without targets are left out.
    """
    return _mean_by_task(attempts, box_recall)


def answers_with_iou(attempts: Iterable[Attempt], ious: Mapping[str, float]) -> list[tuple[float, bool]]:
    """The question's IoU and whether the answer is right, of each attempt at one of these questions.

    The attempts may be those that wrote the boxes, or others at the same tasks: answers in plain words by how well
    another stream grounds the question, as figure 2 draws them.
    """
    return [
        (ious[attempt.task.id], is_correct(attempt.task, attempt.trajectory))
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
    for iou, is_right in answers:
        right[sum(bound <= iou for bound in bounds) - 1].append(is_right)
    return tuple(
        IouInterval(low=low, high=high, answers=share_right(answers_there))
        for low, high, answers_there in zip(bounds, [*bounds[1:], 1.0], right)
    )


def _mean_by_task(attempts: Iterable[Attempt], overlap: Overlap) -> dict[str, float]:
    by_task: dict[str, list[float]] = {}
    for attempt in attempts:
        targets = target_boxes(attempt.task)
        if targets and attempt.trajectory.status != "failed":
            values = by_task.setdefault(attempt.task.id, [])
            values.append(overlap(predicted_boxes(attempt.trajectory), targets))
    return {task: math.fsum(values) / len(values) for task, values in by_task.items()}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
