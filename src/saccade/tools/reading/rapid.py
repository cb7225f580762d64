"""RapidOCR: detection and recognition on onnxruntime with weights that are in the package, so it works offline.

Two settings differ from the package's own. Small pictures are not enlarged to 736 px before detection, which costs
ten times the time and finds no more. Text is recognised line by line at the line's own width, not padded to 320 px: a
tick label then takes 6 ms, and what is read does not depend on the other lines of the picture.
"""

import threading
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.tools.images import bounded
from saccade.tools.reading.contract import MAX_SIDE_PX, TextLine, in_reading_order, scaled

if TYPE_CHECKING:
    from rapidocr import RapidOCR

DETECTION_SIDE_PX = 960
ENLARGED_SIDE_PX = 512
"""Pictures whose longer side is less are read at twice their size: text of 11 px is near the smallest that is found."""

WIDE_GAP = 0.75
"""Of a line's height: detection joins neighbours such as tick labels; at wider gaps they are parted again."""

_SETTINGS = {
    "Global.log_level": "error",
    "Global.text_score": 0.0,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": DETECTION_SIDE_PX,
    "Rec.rec_img_shape": [3, 48, 48],
}
_MIN_SIDE_PX = 4

Pixels = NDArray[np.uint8]


class RapidReader:
    """Reads Latin and Chinese text. The engine is loaded at the first call, once per process."""

    def __init__(self, *, min_confidence: float = 0.5) -> None:
        self._min_confidence = min_confidence

    def read(self, image: Image.Image) -> tuple[TextLine, ...]:
        shown, _ = bounded(image, MAX_SIDE_PX)
        scale = shown.width / image.width
        if max(shown.size) < ENLARGED_SIDE_PX:
            shown = shown.resize((2 * shown.width, 2 * shown.height), Image.Resampling.BICUBIC)
            scale *= 2
        pixels = np.ascontiguousarray(np.asarray(shown.convert("RGB"))[:, :, ::-1])
        with _LOCK:
            engine = _engine()
            boxes = [part for box in _detected(engine, pixels) for part in _parted(pixels, box)]
            lines = [line for box in boxes if (line := _recognised(engine, pixels, box)) is not None]
        sure = [line for line in lines if line.confidence >= self._min_confidence]
        return in_reading_order(
            [
                TextLine(text=line.text, box=scaled(line.box, 1 / scale), confidence=line.confidence)
                for line in sure
                if not any(_is_part(line, other) for other in sure)
            ]
        )


# The engine keeps which of its steps are wanted as state, so one call at a time.
_LOCK = threading.Lock()


@cache
def _engine() -> "RapidOCR":
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise UserError('reading text needs RapidOCR; install it with pip install "saccade[ocr]"') from error
    return RapidOCR(params=dict(_SETTINGS))


def _detected(engine: "RapidOCR", pixels: Pixels) -> list[Box]:
    # Which of four results comes back depends on the steps that were wanted; none has boxes when nothing is found.
    found = getattr(engine(pixels, use_det=True, use_cls=False, use_rec=False), "boxes", None)
    if found is None:
        return []
    corners = np.asarray(found, dtype=float)
    height, width = pixels.shape[:2]
    boxes = [Box(*quad.min(axis=0), *quad.max(axis=0)).clipped(width, height) for quad in corners]
    return [box for box in boxes if min(box.width, box.height) >= _MIN_SIDE_PX]


def _parted(pixels: Pixels, box: Box) -> list[Box]:
    """The box, cut where no ink is over a width that no space between words has."""
    if box.width < 1.5 * box.height:
        return [box]
    left, right = _whole(box.x1, box.x2)
    top, bottom = _whole(box.y1, box.y2)
    crop = pixels[top:bottom, left:right].astype(np.int16)
    paper = np.median(crop.reshape(-1, 3), axis=0)
    has_ink = (np.abs(crop - paper).max(axis=2) > 48).any(axis=0)
    columns = np.flatnonzero(has_ink)
    if not len(columns):
        return [box]
    # The detected box is higher than its text by about a half.
    gaps = np.flatnonzero(np.diff(columns) > WIDE_GAP * _ink_height(crop, paper))
    starts = [columns[0], *columns[gaps + 1]]
    ends = [*columns[gaps], columns[-1]]
    return [Box(left + start - 2, box.y1, left + end + 3, box.y2) for start, end in zip(starts, ends, strict=True)]


def _ink_height(crop: NDArray[np.int16], paper: NDArray[np.float64]) -> float:
    rows = np.flatnonzero((np.abs(crop - paper).max(axis=2) > 48).any(axis=1))
    return float(rows[-1] - rows[0] + 1)


def _recognised(engine: "RapidOCR", pixels: Pixels, box: Box) -> TextLine | None:
    left, right = _whole(box.x1 - 2, box.x2 + 2)
    top, bottom = _whole(box.y1 - 1, box.y2 + 1)
    crop = pixels[max(0, top) : bottom, max(0, left) : right]
    if crop.shape[0] > 1.5 * crop.shape[1] and crop.shape[0] > 32:
        # Text that stands upright along an axis is read from below.
        crop = np.rot90(crop, k=-1)
    found = engine(np.ascontiguousarray(crop), use_det=False, use_cls=False, use_rec=True)
    texts, scores = getattr(found, "txts", None), getattr(found, "scores", None)
    if not texts or not scores or not texts[0].strip():
        return None
    return TextLine(text=texts[0].strip(), box=box, confidence=round(float(scores[0]), 4))


def _is_part(line: TextLine, other: TextLine) -> bool:
    """Whether a line is a bit of another, larger one: detected boxes may overlap."""
    one, two = line.box, other.box
    across = min(one.x2, two.x2) - max(one.x1, two.x1)
    down = min(one.y2, two.y2) - max(one.y1, two.y1)
    if two.height > 2 * one.height:
        return False
    return one.area < two.area and across > 0 and down > 0 and across * down > 0.5 * one.area


def _whole(low: float, high: float) -> tuple[int, int]:
    return int(np.floor(low)), int(np.ceil(high))
