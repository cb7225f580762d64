"""Models for one visual task: detectors, segmenters, chart models and encoders of pages, from transformers checkpoints.

``kinds.py`` has the requests and answers of each kind, and tells a directory's kind, without torch.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.vision_models.chart_models import load_chart_model as load_chart_model
    from saccade.vision_models.detectors import load_detector as load_detector
    from saccade.vision_models.kinds import ChartModel as ChartModel
    from saccade.vision_models.kinds import ChartRequest as ChartRequest
    from saccade.vision_models.kinds import Detection as Detection
    from saccade.vision_models.kinds import DetectionRequest as DetectionRequest
    from saccade.vision_models.kinds import Detector as Detector
    from saccade.vision_models.kinds import PageEncoder as PageEncoder
    from saccade.vision_models.kinds import PageVectors as PageVectors
    from saccade.vision_models.kinds import Pointer as Pointer
    from saccade.vision_models.kinds import PointingRequest as PointingRequest
    from saccade.vision_models.kinds import Segmentation as Segmentation
    from saccade.vision_models.kinds import SegmentationRequest as SegmentationRequest
    from saccade.vision_models.kinds import Segmenter as Segmenter
    from saccade.vision_models.kinds import kind_of as kind_of
    from saccade.vision_models.page_encoders import load_page_encoder as load_page_encoder
    from saccade.vision_models.page_encoders import open_page_encoder as open_page_encoder
    from saccade.vision_models.segmenters import load_segmenter as load_segmenter
else:
    __getattr__, __dir__ = names_on_use(__name__)
