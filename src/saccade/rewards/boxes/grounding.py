"""The reward of the grounded stream (iVGR, equation 1): the format, the answer, and the boxes of the reasoning.

What the boxes of a trajectory are worth:

==============================================  =================================================================
the trajectory's boxes                          what becomes of them
==============================================  =================================================================
the same box again                              nothing: it neither pays nor costs
nearly the same box, or another guess at it     a part of a miss, the more it differs (``boxes.unrepeated_iou``)
inverted or empty, unreadable                   a box that hits nothing: each one counts in the precision's mean
partly or wholly outside of the image           as written, not clipped: what sticks out is union that no target
                                                fills, so a box around the whole world is worth nothing
in the answer or in a call                      no boxes (the protocol calls the turn not well-formed)
none                                            0.0
==============================================  =================================================================

A task without targets on its first image has no term of boxes at all, rather than 0. ``box_rule`` reaches the plain
equation 2 too, where every box has its own vote, and the public code's form of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

from saccade.errors import UserError
from saccade.geometry import Box, iou
from saccade.rewards.boxes.matching import box_recall, dual_iou, unrepeated_iou
from saccade.rewards.outcome import check_scorable, is_correct, keeps_format
from saccade.types import BoxMention, Score, Task, Term, Trajectory

BoxRule = Literal["unrepeated", "equation", "code"]
"""How boxes are paid: so that copies never pay, by the letter of equation 2, or as the public code does, which drops
what is no ordered box from both means. The code adds ``box_validity`` besides."""

_NOTHING = Box(0, 0, 0, 0)
"""Stands for a mention that is no box: it has no overlap with anything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroundingReward:
    """A reward: ``R_format + R_acc + R_box`` (equation 1), each weighted, R_box by equation 2 as ``box_rule`` reads it.

    Notes: ``boxes``, how many different ordered boxes it wrote; ``box_recall``, the recall-only mIoU of reports.
    """

    format_weight: float = 1.0
    accuracy_weight: float = 1.0
    box_weight: float = 1.0
    validity_weight: float = 0.0
    """Of ``box_validity``, which the paper's equation leaves out and its public code adds with weight 1."""
    box_rule: BoxRule = "unrepeated"

    def __post_init__(self) -> None:
        check_weights(
            format_weight=self.format_weight,
            accuracy_weight=self.accuracy_weight,
            box_weight=self.box_weight,
            validity_weight=self.validity_weight,
        )
        if self.box_rule not in get_args(BoxRule):
            raise UserError(f"box_rule={self.box_rule!r} is none; choose one of {', '.join(get_args(BoxRule))}")

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        """``ValueError`` for a ``failed`` trajectory, and for one of another task."""
        return self.judged(task, trajectory, None)

    def judged(self, task: Task, trajectory: Trajectory, accuracy: float | None) -> Score:
        """The score with an accuracy that was found elsewhere; None lets the rules decide."""
        check_scorable(task, trajectory)
        right = float(is_correct(task, trajectory)) if accuracy is None else accuracy
        terms = [
            Term("format", float(keeps_format(trajectory)), self.format_weight),
            Term("accuracy", right, self.accuracy_weight),
        ]
        mentions = mentioned_boxes(trajectory)
        ordered = [box for box in map(_ordered, mentions) if box is not None]
        notes = {"boxes": float(len(set(ordered)))}
        wanted = first_image_boxes(task)
        if wanted:
            terms.append(Term("box", self._paid(ordered, len(mentions) - len(ordered), wanted), self.box_weight))
            notes["box_recall"] = box_recall(ordered, wanted)
            if self.validity_weight:
                terms.append(Term("box_valid", box_validity(mentions), self.validity_weight))
        return Score(terms=tuple(terms), is_right=right >= 0.5, notes=notes)

    def _paid(self, ordered: Sequence[Box], misses: int, wanted: Sequence[Box]) -> float:
        """R_box of these boxes and of so many mentions that are none."""
        match self.box_rule:
            case "unrepeated":
                return unrepeated_iou([*ordered, *[_NOTHING] * misses], wanted)
            case "equation":
                return dual_iou([*ordered, *[_NOTHING] * misses], wanted)
            case "code":
                return dual_iou(ordered, wanted)
        assert_never(self.box_rule)


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
