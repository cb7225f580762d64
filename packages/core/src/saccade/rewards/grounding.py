"""Grounding reward: how well predicted boxes cover the targets, by the paper's measure or one that copies never raise.

In equation 2 each box that is written has a vote in the precision, so copies of a good box outvote a bad one, and the
best of many guesses at one place counts in the recall. ``unrepeated_iou`` pays for places and not for boxes:

- of each target one box counts, the one that fits best; a box that fits no target best is *spare*;
- a spare box is a part of a miss: all of one where it is far from every box that counts, nothing where it is the same
  as one, else as much as it differs, ``1 - IoU``;
- a box that counts is worth no more than its mean with any spare box at its place, weighted by how close they are.

So a box that fits no target better than those before never raises the reward, however close to them it lies, and
guessing twice at a place is worth about one guess at it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

from saccade.errors import UserError
from saccade.geometry import Box, iou
from saccade.rewards.mentions import first_image_boxes, mentioned_boxes
from saccade.rewards.reward import check_scorable, earned_accuracy, keeps_format
from saccade.types import BoxMention, Score, Task, Term, Trajectory


def box_recall(predicted: Sequence[Box], target: Sequence[Box]) -> float:
    """Mean over the targets of the best IoU of any prediction; 0.0 when either side is empty.

    The "mIoU" that TreeBench reports; as a reward it would pay for listing boxes without end.
    """
    if not predicted or not target:
        return 0.0
    return sum(max(iou(wanted, box) for box in predicted) for wanted in target) / len(target)


def dual_iou(predicted: Sequence[Box], target: Sequence[Box]) -> float:
    """Half the sum of box recall and box precision, each by best IoU and not one-to-one (iVGR, equation 2).

    Precision is the mean over the predictions of the best IoU with any target; an inverted or empty prediction counts
    there with 0. Without a prediction the result is 0.0. Without a target it is 0.0 too, so that inventing boxes never
    pays; tasks without targets should not get this term at all.
    """
    return 0.5 * (box_recall(predicted, target) + box_recall(target, predicted))


def unrepeated_iou(predicted: Sequence[Box], target: Sequence[Box]) -> float:
    """``dual_iou`` by the rules of this module: the same where each box fits another target best or hits nothing.

    The order of neither side matters, but for targets that two boxes fit equally well.
    """
    if not predicted or not target:
        return 0.0
    # In one order, so that a tie between boxes falls the same way however they are listed.
    boxes = sorted(predicted, key=Box.as_tuple)
    found = [_best(boxes, wanted) for wanted in target]
    counting = sorted({index for index in found if index is not None})
    spare = [box for index, box in enumerate(boxes) if index not in counting]
    nearest = [_best([boxes[index] for index in counting], box) for box in spare]
    rivals: dict[int, list[Box]] = {index: [] for index in counting}
    missed = 0.0
    for box, near in zip(spare, nearest):
        if near is None:
            missed += 1.0
        else:
            rivals[counting[near]].append(box)
            missed += 1.0 - iou(box, boxes[counting[near]])
    values = [
        0.0 if index is None else _value(boxes[index], rivals[index], wanted) for index, wanted in zip(found, target)
    ]
    hits = sum(max(value for value, by in zip(values, found) if by == index) for index in counting)
    return 0.5 * (sum(values) / len(target) + hits / (len(counting) + missed))


def _best(boxes: Sequence[Box], wanted: Box) -> int | None:
    """Which box overlaps most with this one; None when none does."""
    overlaps = [iou(box, wanted) for box in boxes]
    best = max(overlaps, default=0.0)
    return overlaps.index(best) if best > 0 else None


def _value(box: Box, rivals: Sequence[Box], target: Box) -> float:
    """The value of a box that counts for its target, beside other guesses at its place."""
    own = iou(box, target)
    shared = ((iou(box, rival), iou(rival, target)) for rival in rivals)
    return min([own, *((own + close * other) / (1 + close) for close, other in shared)])


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
    """Weight of ``box_validity``, which the paper's equation leaves out and its public code adds with weight 1."""
    box_rule: BoxRule = "unrepeated"

    def __post_init__(self) -> None:
        check_weights(
            format_weight=self.format_weight,
            accuracy_weight=self.accuracy_weight,
            box_weight=self.box_weight,
            validity_weight=self.validity_weight,
        )
        if self.box_rule not in get_args(BoxRule):
            raise UserError(f"box_rule={self.box_rule!r} is unknown; choose one of {', '.join(get_args(BoxRule))}")

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        """``ValueError`` for a ``failed`` trajectory, and for one of another task."""
        return self.judged(task, trajectory, None)

    def judged(self, task: Task, trajectory: Trajectory, accuracy: float | None) -> Score:
        """The score with an accuracy that was found elsewhere; None lets the rules decide."""
        check_scorable(task, trajectory)
        right = earned_accuracy(task, trajectory) if accuracy is None else accuracy
        terms = [
            Term("format", float(keeps_format(trajectory)), self.format_weight),
            Term("accuracy", right, self.accuracy_weight),
        ]
        mentions = mentioned_boxes(trajectory)
        ordered = [box for box in map(_ordered_box, mentions) if box is not None]
        notes = {"boxes": float(len(set(ordered)))}
        wanted = first_image_boxes(task)
        if wanted:
            terms.append(Term("box", self._box_reward(ordered, len(mentions) - len(ordered), wanted), self.box_weight))
            notes["box_recall"] = box_recall(ordered, wanted)
            if self.validity_weight:
                terms.append(Term("box_valid", box_validity(mentions), self.validity_weight))
        return Score(terms=tuple(terms), is_right=right >= 0.5, notes=notes)

    def _box_reward(self, ordered: Sequence[Box], misses: int, wanted: Sequence[Box]) -> float:
        """R_box of these boxes and of so many mentions that are none."""
        match self.box_rule:
            case "unrepeated":
                return unrepeated_iou([*ordered, *[_NOTHING] * misses], wanted)
            case "equation":
                return dual_iou([*ordered, *[_NOTHING] * misses], wanted)
            case "code":
                return dual_iou(ordered, wanted)
        assert_never(self.box_rule)


def box_validity(mentions: Sequence[BoxMention], repeated_iou: float = 0.9) -> float:
    """The share of mentions that are ordered boxes; 0.0 without a mention, and where boxes repeat themselves.

    As in the public code: of n ordered boxes, one of the first n // 2 has an IoU over ``repeated_iou`` with another.
    """
    if not mentions:
        return 0.0
    ordered = [box for box in map(_ordered_box, mentions) if box is not None]
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


def _ordered_box(mention: BoxMention) -> Box | None:
    return mention.box if mention.box is not None and mention.box.is_ordered else None
