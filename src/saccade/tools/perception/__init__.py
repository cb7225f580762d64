"""Detection and segmentation as tools: things found in a picture by name, and cut out of it.

The tools take any ``Detector`` or ``Segmenter`` (``saccade.vision_models``) and check its boxes and masks.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tools.perception.detection import detection_tool
    from saccade.tools.perception.segmentation import segmentation_tool
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "detection_tool",
    "segmentation_tool",
]
