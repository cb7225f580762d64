"""What a trajectory's calls returned, for the veil over a picture and the line of a turn."""

from saccade.evaluation.evidence import call_texts
from saccade.rewards.areas import PictureAreas
from saccade.rewards.evidence import evidence_of
from saccade.rewards.seen import seen_by_turn
from saccade.types import Attempt

MAX_CELLS = 1 << 20
"""Cells of a picture that is cut along the edges of what was returned; with more, no veil is drawn."""


def veil_paths(attempt: Attempt) -> dict[str, str]:
    """By the key of a question's picture, ``M0 0H40V10H0Z...`` around all that no call returned of it.

    Pictures of which no call returned anything are missing.
    """
    parts = [patch for seen in seen_by_turn(attempt.task, attempt.trajectory) if seen for patch in seen.patches]
    paths = {}
    for index, image in enumerate(attempt.task.images):
        boxes = list(dict.fromkeys(patch.box for patch in parts if patch.image_index == index))
        if boxes and (2 * len(boxes) + 1) ** 2 <= MAX_CELLS:
            areas = PictureAreas(image, (), boxes)
            outside = areas.boxes_of(~areas.inside(boxes))
            paths[f"q{index}"] = "".join(_outline(*(round(side, 2) for side in box.as_tuple())) for box in outside)
    return paths


def _outline(x1: float, y1: float, x2: float, y2: float) -> str:
    return f"M{x1:g} {y1:g}H{x2:g}V{y2:g}H{x1:g}Z"


def evidence_texts(attempt: Attempt) -> dict[int, str]:
    """By the index of a turn, what its call returned of the evidence; empty for a question that names none."""
    evidence = evidence_of(attempt.task, attempt.trajectory)
    return call_texts(evidence) if evidence else {}
