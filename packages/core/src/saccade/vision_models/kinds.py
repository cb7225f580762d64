"""Kinds of vision models: the requests and answers of each, and the kind of a checkpoint directory.

Nothing here needs torch, and no large file is read.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.geometry import Box, Mask, Point
from saccade.models.checkpoint import read_checkpoint_json
from saccade.models.configurations import check_configuration
from saccade.plain_files import check_plain_below, open_plain

DETECTORS = {"grounding-dino": "GroundingDINO", "owlv2": "OWLv2"}

SEGMENTERS = {"sam": "SAM", "sam2": "SAM 2", "sam2_video": "SAM 2"}
"""Published checkpoints of SAM 2 call themselves ``sam2_video``; the part for pictures is the same."""

CHART_MODELS = {"pix2struct": "DePlot", "vision-encoder-decoder": "UniChart"}

PAGE_ENCODERS = {"colpali": "ColPali", "colqwen2": "ColQwen2", "colmodernvbert": "ColModernVBERT"}


def check_kind(path: Path, kinds: Mapping[str, str], wanted: str) -> str:
    """The ``model_type`` of a checkpoint directory; UserError unless it is one of ``kinds`` (with their names)."""
    found = kind_of(path)
    if found not in kinds:
        known = ", ".join(f"{name} ({kind})" for kind, name in kinds.items())
        raise UserError(f"{path} holds a model of the type {found!r}, which is no {wanted}; use one of {known}")
    return found


def kind_of(path: Path) -> str:
    """The ``model_type`` of a checkpoint directory."""
    check_plain_below(path)
    if not (path / "config.json").is_file():
        why = "is no directory" if not path.is_dir() else "holds no config.json"
        raise UserError(
            f"{path} {why}; give a checkpoint directory in Hugging Face layout. Models are read from disk, never "
            "downloaded"
        )
    config = read_checkpoint_json(path / "config.json")
    if not isinstance(config, dict):
        return ""
    check_configuration(path, config)
    return str(config.get("model_type"))


_PARTS = ("*.json", "*.safetensors", "*.bin", "*.model", "*.txt", "*.jinja")
"""Files of a checkpoint that its answers may depend on."""


def checkpoint_digest(path: Path) -> str:
    """Hash of all files of a checkpoint directory that decide what it gives."""
    digest = hashlib.sha256()
    for file in sorted({file for part in _PARTS for file in path.rglob(part)}):
        with open_plain(file) as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        digest.update(f"{file.relative_to(path).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:16]


ChartTask = Literal["table", "caption", "answer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectionRequest:
    """Phrases to look for in an RGB picture."""

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
        """The detections of each request, in any order; safe to call from many threads."""
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
class PointingRequest:
    """Things of one name to point at in an RGB picture."""

    image: Image.Image
    label: str


class Pointer(Protocol):
    """Points at things by their names: for charts, maps and drawings, where detectors fail."""

    @property
    def identity(self) -> str:
        """The model and how it is asked."""
        ...

    def point_batch(self, requests: Sequence[PointingRequest]) -> Sequence[Sequence[Point] | MachineError]:
        """A point on each thing, in pixels of the picture, or why there is no answer; safe to call from threads."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartRequest:
    """A task on a chart: its table, a caption, or the answer to a question."""

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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PageVectors:
    """A page as an encoder of pages sees it: one vector for each of its tokens, none for padding."""

    vectors: NDArray[np.float32]
    """Shape (vector, dimension), each of length 1; an encoder of single vectors gives one."""
    grid: tuple[int, int] | None = None
    """Rows and columns of the patches that have vectors of their own, where they cover the page evenly."""
    first: int = 0
    """Place of the first patch among the vectors; the others follow, row by row."""


class PageEncoder(Protocol):
    """Makes vectors of pages and of questions that are asked about them; safe to call from many threads."""

    @property
    def identity(self) -> str:
        """The same for encoders that give the same vectors, and for no others."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        ...

    def encode_pages(self, images: Sequence[Image.Image]) -> Sequence[PageVectors]:
        """The vectors of each RGB picture."""
        ...

    def encode_questions(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        """The vectors of each question, of shape (vector, dimension)."""
        ...


@runtime_checkable
class NamesTokens(Protocol):
    """An encoder that tells which token of a question each vector belongs to."""

    def question_tokens(self, text: str) -> Sequence[str]:
        """The tokens in the order of the vectors, as people read them."""
        ...


class VisionModel(Protocol):
    """Answers a request about a picture in words: a vision-language model, wherever it runs."""

    def answer(self, image: Image.Image, prompt: str) -> str:
        """The model's words; safe to call from many threads.

        ``ToolError`` when the model does not take this one request, ``MachineError`` when it cannot answer now.
        """
        ...
