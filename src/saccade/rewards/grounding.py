"""The reward of the grounded stream (iVGR, equation 1): the format, the answer, and the boxes of the reasoning.

What the boxes of a trajectory are worth:

==============================================  =================================================================
the trajectory's boxes                          what becomes of them
==============================================  =================================================================
the same box again, or nearly (``distinct_iou``)  one box, the first of them
inverted or empty, unreadable                   a box that hits nothing: each one counts in the precision's mean
partly or wholly outside of the image           as written, not clipped: what sticks out is union that no target
                                                fills, so a box around the whole world is worth nothing
in the answer or in a call                      no boxes (the protocol calls the turn not well-formed)
none                                            0.0
==============================================  =================================================================

A task without targets on its first image has no part of boxes at all, rather than 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.geometry import Box, iou
from saccade.rewards.boxes import box_recall, distinct_boxes, dual_iou
from saccade.rewards.outcome import OutcomeReward
from saccade.types import BoxMention, Score, Task, Trajectory

_NOTHING = Box(0, 0, 0, 0)
"""Stands for a mention that is no box: it has no overlap with anything."""

_OUTCOME = OutcomeReward(accuracy_weight=1.0, format_weight=1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroundingReward:
    """A scorer: ``R_format + R_acc + R_box`` (equation 1), each weighted, R_box by equation 2.

    Notes: ``boxes``, how many distinct ordered boxes it wrote; ``box_recall``, the recall-only mIoU of reports.
    """

    format_weight: float = 1.0
    accuracy_weight: float = 1.0
    box_weight: float = 1.0
    validity_weight: float = 0.0
    """Of ``box_validity``, which the paper's equation leaves out and its public code adds with weight 1."""
    distinct_iou: float = 0.9
    """Boxes with a larger IoU are the same box, so that near-copies of a good one do not raise the precision."""

    def __post_init__(self) -> None:
        check_weights(
            format_weight=self.format_weight,
            accuracy_weight=self.accuracy_weight,
            box_weight=self.box_weight,
            validity_weight=self.validity_weight,
        )
        if not 0 < self.distinct_iou <= 1:
            raise UserError(f"distinct_iou={self.distinct_iou} is no overlap of two boxes; it lies above 0, up to 1")

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        """``ValueError`` as ``OutcomeReward``."""
        return self.judged(task, trajectory, None)

    def judged(self, task: Task, trajectory: Trajectory, accuracy: float | None) -> Score:
        """The score with an accuracy that somebody else found; None lets the rules decide."""
        outcome = _OUTCOME(task, trajectory)
        right = outcome.parts["accuracy"] if accuracy is None else accuracy
        parts = {"format": outcome.parts["format"], "accuracy": right}
        total = self.format_weight * parts["format"] + self.accuracy_weight * right
        mentions = mentioned_boxes(trajectory)
        distinct = distinct_boxes([box for box in map(_ordered, mentions) if box is not None], above=self.distinct_iou)
        notes = {"boxes": float(len(distinct))}
        wanted = first_image_boxes(task)
        if wanted:
            misses = [_NOTHING for one in mentions if _ordered(one) is None]
            parts["box"] = dual_iou([*distinct, *misses], wanted)
            total += self.box_weight * parts["box"]
            notes["box_recall"] = box_recall(distinct, wanted)
            if self.validity_weight:
                parts["box_valid"] = box_validity(mentions)
                total += self.validity_weight * parts["box_valid"]
        return Score(total=total, parts=parts, notes=notes)


def mentioned_boxes(trajectory: Trajectory) -> tuple[BoxMention, ...]:
    """The boxes of all its thoughts, in their order."""
    return tuple(mention for turn in trajectory.turns for mention in turn.boxes)


def readable_boxes(trajectory: Trajectory) -> tuple[Box, ...]:
    """Those of them that could be read, in pixels of the first image's original; not clipped, perhaps inverted."""
    return tuple(mention.box for mention in mentioned_boxes(trajectory) if mention.box is not None)


def first_image_boxes(task: Task) -> tuple[Box, ...]:
    """The boxes of the targets on the first image, which is the one that reasoning writes boxes on."""
    return tuple(target.box for target in task.targets if target.image_index == 0)


def box_validity(mentions: Sequence[BoxMention], repeated_iou: float = 0.9) -> float:
    """The share of mentions that are ordered boxes; 0.0 without a mention, and where boxes repeat themselves.

    As in the public code: of n ordered boxes, one of the first n // 2 has an IoU over ``repeated_iou`` with another.
    """
    if not mentions:
        return 0.0
    ordered = [box for box in map(_ordered, mentions) if box is not None]
    for index, box in enumerate(ordered[: len(ordered) // 2]):
        # An earlier one would have met this one already.
        if any(iou(box, other) > repeated_iou for other in ordered[index + 1 :]):
            return 0.0
    return len(ordered) / len(mentions)


def check_weights(**weights: float) -> None:
    """UserError for a number that cannot weigh a reward."""
    for name, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise UserError(f"{name}={weight} cannot weigh a reward; use 0 or a positive number")


def _ordered(mention: BoxMention) -> Box | None:
    return mention.box if mention.box is not None and mention.box.is_ordered else None
