"""Detectors and segmenters that say what a test wants."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from saccade.geometry import Mask
from saccade.vision_models.requests import Detection, DetectionRequest, Segmentation, SegmentationRequest


@dataclass
class FixedDetector:
    """Finds the same in every picture."""

    detections: Sequence[Detection]
    requests: list[DetectionRequest] = field(default_factory=list)
    batches: int = 0

    def detect_batch(self, requests: Sequence[DetectionRequest]) -> list[Sequence[Detection]]:
        self.batches += 1
        self.requests += requests
        return [self.detections for _ in requests]


@dataclass
class BoxSegmenter:
    """Cuts out the whole box, or a square around the first point."""

    requests: list[SegmentationRequest] = field(default_factory=list)

    def segment_batch(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        self.requests += requests
        return [Segmentation(mask=_mask(request), score=0.875) for request in requests]


def _mask(request: SegmentationRequest) -> Mask:
    region = np.zeros((request.image.height, request.image.width), dtype=bool)
    if request.box is not None:
        x1, y1, x2, y2 = (round(side) for side in request.box.as_tuple())
    else:
        x1, y1 = (round(side) - 1 for side in (request.points[0].x, request.points[0].y))
        x2, y2 = x1 + 2, y1 + 2
    region[y1:y2, x1:x2] = True
    return Mask.from_array(region)
