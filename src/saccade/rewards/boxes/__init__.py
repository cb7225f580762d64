"""Boxes of the reasoning compared with ground truth.

Start in ``grounding.py``, the reward of iVGR's grounded stream; ``matching.py`` says how well boxes cover others.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rewards.boxes.grounding import (
        BoxRule,
        GroundingReward,
        box_recall,
        dual_iou,
        first_image_boxes,
        unrepeated_iou,
    )
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "BoxRule",
    "GroundingReward",
    "box_recall",
    "dual_iou",
    "first_image_boxes",
    "unrepeated_iou",
]
