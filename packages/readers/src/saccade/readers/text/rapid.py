"""RapidOCR: detection and recognition on onnxruntime with weights that are in the package, so it works offline.

Lines are cut out along their own slant. Which way up a page stands is not known before it is read: where long lines are
read with doubt, they are read the other way round too, and the page is turned when they then read better.

Two settings differ from the package's own. Small pictures are not enlarged to 736 px before detection, which costs
ten times the time and finds no more. Text is recognised line by line at the line's own width, not padded to 320 px: a
tick label then takes 6 ms, and what is read does not depend on the other lines of the picture.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import missing_extra
from saccade.geometry import Box, Point
from saccade.pictures import bounded
from saccade.readers.text.lines import MAX_SIDE_PX, TextLine, in_reading_order, scaled
from saccade.readers.text.quads import Quad, level_box, page_angle, pixels_of, quad_of

if TYPE_CHECKING:
    from rapidocr import RapidOCR

DETECTION_SIDE_PX = 960
ENLARGED_SIDE_PX = 512
"""Pictures whose longer side is less are read at twice their size: text of 11 px is near the smallest that is found."""

WIDE_GAP = 0.75
"""Share of a line's height: detection joins neighbours such as tick labels; at wider gaps they are parted again."""

DOUBT = 0.9
"""A line that is read with less confidence may stand on its head."""

LEAD = 0.1
"""Lead in confidence by which a line has to read better than the way round that its page has."""

MAX_TRIED = 6
"""Lines of a page that are read the other way round to learn whether it stands on its head."""

MIN_LETTERS = 3
"""A text with fewer stands as its page does: numbers read well on their heads, as other numbers."""

MAX_STRAY_DEGREES = 20.0
"""From the page's angle: lines that run further from it, such as those at an axis, are no part of its writing."""

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
_ENGINE_SIDE_PX, _ENGINE_STEP_PX = 2000, 32
"""The engine shrinks a longer side to the one, then rounds both sides to multiples of the other, 0 among them."""

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
        pixels = _not_too_thin(np.ascontiguousarray(np.asarray(shown.convert("RGB"))[:, :, ::-1]))
        with _LOCK:
            engine = _engine()
            quads = _detect_quads(engine, pixels)
            page = page_angle(quads)
            quads = [quad_of(quad.corners.tolist(), page) for quad in quads]
            whole = Image.fromarray(np.ascontiguousarray(pixels[:, :, ::-1]))
            strips = [part for quad in quads for part in _strips(pixels, whole, quad)]
            read, is_reversed = _read_either_way(engine, strips, page)
        page += 180 * is_reversed
        lines = [_line(strip, text, confidence, page) for strip, (text, confidence) in read if text]
        sure = [line for line in lines if line.confidence >= self._min_confidence]
        return in_reading_order(
            [_in_original(line, scale) for line in sure if not any(_is_part(line, other) for other in sure)]
        )


# The engine keeps which of its steps are wanted as state, so one call at a time.
_LOCK = threading.Lock()


@cache
def _engine() -> "RapidOCR":
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise missing_extra("readers", "rapidocr", needed_for="reading text") from error
    return RapidOCR(params=dict(_SETTINGS))


@dataclass(frozen=True, slots=True)
class _Strip:
    """A line to recognise: where it is, and its pixels with its writing to the right."""

    quad: Quad
    crop: Pixels

    def flipped(self) -> "_Strip":
        return _Strip(self.quad.flipped(), np.rot90(self.crop, k=2))


def _not_too_thin(pixels: Pixels) -> Pixels:
    """The picture, with paper to its right or below where the engine would shrink it to a side of nothing."""
    long, short = max(pixels.shape[:2]), min(pixels.shape[:2])
    if long <= _ENGINE_SIDE_PX or short * _ENGINE_SIDE_PX // long > _ENGINE_STEP_PX // 2:
        return pixels
    more = math.ceil(2 * _ENGINE_STEP_PX * long / _ENGINE_SIDE_PX) - short
    paper = np.median(pixels.reshape(-1, 3), axis=0).astype(np.uint8)
    shape = (more, long, 3) if pixels.shape[0] == short else (long, more, 3)
    return np.concatenate([pixels, np.broadcast_to(paper, shape)], axis=0 if pixels.shape[0] == short else 1)


def _detect_quads(engine: "RapidOCR", pixels: Pixels) -> list[Quad]:
    # Which of four results comes back depends on the steps that were wanted; none has boxes when nothing is found.
    found = getattr(engine(pixels, use_det=True, use_cls=False, use_rec=False), "boxes", None)
    if found is None:
        return []
    height, width = pixels.shape[:2]
    corners = np.clip(np.asarray(found, dtype=float), 0, [width, height])
    quads = [quad_of(points) for points in corners.tolist()]
    return [quad for quad in quads if min(quad.hull.width, quad.hull.height) >= _MIN_SIDE_PX and quad.height >= 1]


def _strips(pixels: Pixels, whole: Image.Image, quad: Quad) -> list[_Strip]:
    """The line, cut where no ink is over a width that no space between words has."""
    if abs(quad.angle) < 45 and not quad.is_slanted:
        boxes = _parts_of_line(pixels, quad.hull)
        return [_Strip(_quad_around(box), _cut(pixels, box)) for box in boxes]
    if quad.is_slanted:
        crop = np.asarray(pixels_of(whole, quad))[:, :, ::-1]
    else:
        crop = np.rot90(_cut(pixels, quad.hull), k=round(quad.angle / 90))
    box = Box(0, 0, crop.shape[1], crop.shape[0])
    return [
        _Strip(quad.part(part.x1 / box.x2, part.x2 / box.x2), _cut(crop, part)) for part in _parts_of_line(crop, box)
    ]


def _quad_around(box: Box) -> Quad:
    return Quad(np.array([[box.x1, box.y1], [box.x2, box.y1], [box.x2, box.y2], [box.x1, box.y2]]))


def _parts_of_line(pixels: Pixels, box: Box) -> list[Box]:
    """The box of a level line, cut where no ink is over a width that no space between words has."""
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


def _cut(pixels: Pixels, box: Box) -> Pixels:
    left, right = _whole(box.x1 - 2, box.x2 + 2)
    top, bottom = _whole(box.y1 - 1, box.y2 + 1)
    return pixels[max(0, top) : bottom, max(0, left) : right]


_Read = tuple[str, float]
"""A text, empty where there is none, and how sure the engine is of it."""


def _read_strip(engine: "RapidOCR", strip: _Strip) -> _Read:
    found = engine(np.ascontiguousarray(strip.crop), use_det=False, use_cls=False, use_rec=True)
    texts, scores = getattr(found, "txts", None), getattr(found, "scores", None)
    if not texts or not scores or not texts[0].strip():
        return "", 0.0
    return texts[0].strip(), round(float(scores[0]), 4)


def _read_either_way(
    engine: "RapidOCR", strips: Sequence[_Strip], page: float
) -> tuple[list[tuple[_Strip, _Read]], bool]:
    """The text of each strip, read the way round that reads best, and whether the page is upside down."""
    read = {place: (strip, _read_strip(engine, strip)) for place, strip in enumerate(strips)}
    along = [place for place, strip in enumerate(strips) if abs(strip.quad.angle - page) < MAX_STRAY_DEGREES]
    telling = [place for place in along if len(read[place][1][0]) >= MIN_LETTERS]
    doubtful = sorted(
        (place for place in telling if read[place][1][1] < DOUBT), key=lambda place: -strips[place].quad.length
    )
    tried = {place: _read_strip(engine, strips[place].flipped()) for place in doubtful[:MAX_TRIED]}
    gain = sum(confidence * len(text) for text, confidence in tried.values())
    gain -= sum(confidence * len(text) for place in tried for text, confidence in [read[place][1]])
    is_reversed = gain > 0 and 2 * len(doubtful) > len(telling)
    across = [place for place in read if place not in along and read[place][1][1] < DOUBT]
    for place in [*along, *across] if is_reversed else [*tried, *across]:
        if not is_reversed and place in along and not _is_of_words(read[place][1][0]):
            continue
        other = tried.get(place) or _read_strip(engine, strips[place].flipped())
        ahead = -LEAD if is_reversed and place in along else LEAD
        if other[1] > read[place][1][1] + ahead:
            read[place] = (strips[place].flipped(), other)
    return list(read.values()), is_reversed


def _is_of_words(text: str) -> bool:
    """Whether a text tells which way up it stands: 60 and 09, x and X do not."""
    return sum(char.isalpha() for char in text) >= MIN_LETTERS


def _line(strip: _Strip, text: str, confidence: float, page: float) -> TextLine:
    """In pixels of the picture as it is read."""
    quad = strip.quad
    corners = tuple(Point(float(x), float(y)) for x, y in quad.corners) if quad.is_slanted or page else ()
    level = level_box(quad, page) if page else None
    return TextLine(text=text, box=quad.hull, confidence=confidence, level=level, corners=corners)


def _in_original(line: TextLine, scale: float) -> TextLine:
    return replace(
        line,
        box=scaled(line.box, 1 / scale),
        level=None if line.level is None else scaled(line.level, 1 / scale),
        corners=tuple(Point(corner.x / scale, corner.y / scale) for corner in line.corners),
    )


def _is_part(line: TextLine, other: TextLine) -> bool:
    """Whether a line is a bit of another, larger one: detected boxes may overlap."""
    one, two = line.place, other.place
    across = min(one.x2, two.x2) - max(one.x1, two.x1)
    down = min(one.y2, two.y2) - max(one.y1, two.y1)
    if two.height > 2 * one.height:
        return False
    return one.area < two.area and across > 0 and down > 0 and across * down > 0.5 * one.area


def _whole(low: float, high: float) -> tuple[int, int]:
    return int(np.floor(low)), int(np.ceil(high))
