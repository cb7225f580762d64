"""Models for one visual task: detectors, segmenters, chart models and encoders of pages, from transformers checkpoints.

``kinds.py`` has the requests and answers of each kind, and tells a directory's kind, without torch.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.vision_models.chart_models import load_chart_model
    from saccade.vision_models.detectors import load_detector
    from saccade.vision_models.kinds import (
        ChartModel,
        ChartRequest,
        Detection,
        DetectionRequest,
        Detector,
        PageEncoder,
        PageVectors,
        Pointer,
        PointingRequest,
        Segmentation,
        SegmentationRequest,
        Segmenter,
        kind_of,
    )
    from saccade.vision_models.page_encoders import load_page_encoder, open_page_encoder
    from saccade.vision_models.segmenters import load_segmenter
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "ChartModel",
    "ChartRequest",
    "Detection",
    "DetectionRequest",
    "Detector",
    "PageEncoder",
    "PageVectors",
    "Pointer",
    "PointingRequest",
    "Segmentation",
    "SegmentationRequest",
    "Segmenter",
    "kind_of",
    "load_chart_model",
    "load_detector",
    "load_page_encoder",
    "load_segmenter",
    "open_page_encoder",
]
