"""Answers that are boxes: their IoU with the right ones, each box matched with one other."""

from saccade.answer_boxes import boxes_in, matched_ious
from saccade.rewards.answers.replies import bare


def box_credit(prediction: str, gold: str) -> float:
    """The sum of the matched IoUs over the number of boxes, of the side that has more; 0.0 where there is none.

    Both are in pixels of the original. Boxes beyond the right ones, copies too, lower the credit.
    """
    given, wanted = boxes_in(prediction) or boxes_in(bare(prediction)), boxes_in(gold)
    if not given or not wanted:
        return 0.0
    return sum(matched_ious(given, wanted)) / max(len(given), len(wanted))


def same_boxes(prediction: str, gold: str, min_iou: float) -> bool:
    """Whether each right box is met by a box of its own, at this IoU or better, and there is no other box."""
    given, wanted = boxes_in(prediction) or boxes_in(bare(prediction)), boxes_in(gold)
    if not given or not wanted or len(given) != len(wanted):
        return False
    overlaps = matched_ious(given, wanted)
    return len(overlaps) == len(wanted) and min(overlaps) >= min_iou
