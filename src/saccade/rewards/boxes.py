"""How well predicted boxes cover the target boxes."""

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


def distinct_boxes(boxes: Sequence[Box], above: float = 0.9) -> list[Box]:
    """The boxes in their order without those that have an IoU over ``above`` with one that is kept.

    Only kept boxes are compared with: else a chain of boxes, each close to the one before, would be a single box
    however far it wanders. Equal boxes are one even where they are empty.
    """
    kept: list[Box] = []
    for box in boxes:
        if all(box != earlier and iou(box, earlier) <= above for earlier in kept):
            kept.append(box)
    return kept
