"""Boxes in the reasoning held against what the answer depends on (iVGR, figure 2)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.characters import percent_text
from saccade.codec.forms import Form
from saccade.errors import UserError
from saccade.evaluation.figure import StageFigure
from saccade.evaluation.statistics import Accuracy, share_right
from saccade.rewards.grounding import GroundingReward, box_recall
from saccade.rewards.mentions import first_image_boxes, readable_boxes
from saccade.rewards.reward import counts_as_right
from saccade.types import Attempt

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

    title: ClassVar = "boxes"

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

    def describe(self) -> str:
        """``1.20 a question, none in 5 %, mIoU 0.41, IoU both ways 0.38``."""
        written = f"{self.boxes_mean:.2f} a question, none in {percent_text(self.without_box)}"
        if self.iou is None or self.dual_iou is None:
            return written
        return f"{written}, mIoU {self.iou:.3f}, IoU both ways {self.dual_iou:.3f}"


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


FIGURE = StageFigure(kind=Grounding, of=grounding)


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
