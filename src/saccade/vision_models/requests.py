"""Requests and answers of vision models: things found in a picture, regions cut out of it, charts as text.

Nothing here needs torch, so that tools can be written over it and tested with anything that answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from PIL import Image

from saccade.geometry import Box, Mask, Point

ChartTask = Literal["table", "caption", "answer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectionRequest:
    """What to look for in an RGB picture."""

    image: Image.Image
    phrases: tuple[str, ...]
    """One or more, none of them empty, none with a full stop."""
    box_threshold: float
    """A thing is found when its best score over all phrases is higher."""
    text_threshold: float
    """A phrase is a thing's name when its own score is higher; detectors with one score do without."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Detection:
    """A thing that was found."""

    phrase: str
    """The one of the request's that it matches best."""
    box: Box
    """In pixels of the picture; may reach over its edge."""
    score: float
    """From 0 to 1."""


class Detector(Protocol):
    """Finds things by their names."""

    def detect_batch(self, requests: Sequence[DetectionRequest]) -> Sequence[Sequence[Detection]]:
        """What was found for each request, in any order; safe to call from many threads."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentationRequest:
    """One thing to cut out of an RGB picture: by a box around it, by points on it, or by both."""

    image: Image.Image
    box: Box | None = None
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Segmentation:
    """The region of a thing."""

    mask: Mask
    """Mask of the picture's size."""
    score: float
    """The model's own guess of the intersection over union with the true region."""


class Segmenter(Protocol):
    """Cuts things out."""

    def segment_batch(self, requests: Sequence[SegmentationRequest]) -> Sequence[Segmentation]:
        """The best region for each request; safe to call from many threads."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartRequest:
    """What to tell of a chart."""

    image: Image.Image
    task: ChartTask
    question: str = ""
    """For the task ``answer``."""


class ChartModel(Protocol):
    """Tells what a chart shows, in the model's own notation."""

    @property
    def tasks(self) -> frozenset[ChartTask]:
        """Those that the model was trained for."""
        ...

    def tell_batch(self, requests: Sequence[ChartRequest]) -> Sequence[str]:
        """One text for each request; safe to call from many threads."""
        ...


class VisionModel(Protocol):
    """Answers a request about a picture in words: a vision-language model, wherever it runs."""

    def answer(self, image: Image.Image, prompt: str) -> str:
        """The model's words; safe to call from many threads.

        ``ToolError`` when the model does not take this one request, ``MachineError`` when it cannot answer now.
        """
        ...
