"""How well predicted boxes cover the target boxes: the paper's measure, and the same where copies of a box never pay.

In equation 2 each box that is written has a vote in the precision, so copies of a good box outvote a bad one, and the
best of many guesses at one place counts in the recall. ``unrepeated_iou`` pays for places and not for boxes:

- of each target one box counts, the one that fits best; a box that fits no target best is *spare*;
- a spare box is a part of a miss: all of one where it is far from every box that counts, nothing where it is the same
  as one, else as much as it differs, ``1 - IoU``;
- a box that counts is worth no more than its mean with any spare box at its place, weighted by how close they are.

So a box that fits no target better than those before never raises the reward, however close to them it lies, and
guessing twice at a place is worth about one guess at it.
"""

from collections.abc import Sequence

from saccade.geometry import Box, iou


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
    """What a box that counts is worth for its target, beside other guesses at its place."""
    own = iou(box, target)
    shared = ((iou(box, rival), iou(rival, target)) for rival in rivals)
    return min([own, *((own + close * other) / (1 + close) for close, other in shared)])
