"""Second readings of names: enlarged by themselves, or turned where they are written aslant or upright."""

import math
import re
from dataclasses import replace

import numpy as np
from PIL import Image

from saccade.geometry import Box
from saccade.readers.charts.calibration import number_of
from saccade.readers.charts.chart import Chart
from saccade.readers.charts.colours import Pixels
from saccade.readers.charts.doubts import LEAST_NAME, PLACEHOLDER
from saccade.readers.text.lines import TextLine, TextReader

ANGLES = (90, 45, 30, 60, -45, -90)
"""By which texts rise, in degrees; the most usual first."""
MAX_UNEVEN = 0.22
"""Share of a step between names by which one may be off its place."""
STRIP_ENLARGED = 2
LEAST_ROW, MAX_DROP_PX = 3, 14.0
"""Least number of names aslant in a row, and how much lower one may begin."""


def slanted_names(pixels: Pixels, reader: TextReader, strip: Box, places: list[float]) -> list[TextLine] | None:
    """A name for each place, in order; None when no angle gives one for each."""
    image = Image.fromarray(pixels).crop(strip.as_tuple())
    if min(image.size) < 12 or len(places) < 2:
        return None
    page = tuple(int(level) for level in np.median(pixels[-3:].reshape(-1, 3), axis=0))
    image = image.resize((STRIP_ENLARGED * image.width, STRIP_ENLARGED * image.height), Image.Resampling.BICUBIC)
    for angle in ANGLES:
        turned = image.rotate(-angle, expand=True, fillcolor=page, resample=Image.Resampling.BICUBIC)
        lines = [line for line in reader.read(turned) if line.confidence >= LEAST_NAME and len(line.text) > 1]
        names = _names_at(_joined(lines), image.size, turned.size, angle, strip, places)
        if names is not None:
            return names
    return None


def slanted_row(lines: tuple[TextLine, ...], axis_y: float, left: float) -> list[TextLine]:
    """The names that hang aslant or upright below an axis, each at its place; none where names are level."""
    below = [line for line in lines if line.box.y1 > axis_y - MAX_DROP_PX / 2 and line.box.x2 > left]
    row = [line for line in below if is_aslant(line)]
    if len(row) < LEAST_ROW:
        return []
    top = float(np.median([line.box.y1 for line in row]))
    row = sorted((line for line in row if abs(line.box.y1 - top) < MAX_DROP_PX), key=lambda line: line.box.x1)
    # Names are hung up by their middles or by their upper ends: then these stand at even steps.
    anchored = [[line.box.center.x for line in row], [_upper_end(line) for line in row]]
    places = min(anchored, key=lambda centers: float(np.ptp(np.diff(centers))))
    return [replace(line, box=_around(line.box, x)) for line, x in sorted(zip(row, places, strict=True), key=_place)]


def read_twice(names: list[TextLine], pixels: Pixels, reader: TextReader) -> list[TextLine]:
    """The names, those aslant with doubt where the turned strip reads otherwise: one reading of them errs often."""
    if not names or not is_aslant(names[0]):
        return names
    height, width = pixels.shape[:2]
    places = [line.box.center.x for line in names]
    step = float(np.median(np.diff(places)))
    top = min(line.box.y1 for line in names) - 2
    strip = Box(max(0, places[0] - 2 * step), top, min(width, places[-1] + 2 * step), height)
    again = slanted_names(pixels, reader, strip, places) or [replace(line, text="") for line in names]
    return [
        line if line.text == other.text else replace(line, text=other.text or line.text, confidence=0.0)
        for line, other in zip(names, again, strict=True)
    ]


def is_aslant(line: TextLine) -> bool:
    """Whether a text runs in another direction than from left to right."""
    if not line.corners:
        return len(line.text) > 2 and line.box.height > 1.5 * line.box.width
    start, end = line.corners[0], line.corners[1]
    return abs(end.y - start.y) > 0.3 * abs(end.x - start.x)


def _upper_end(line: TextLine) -> float:
    if not line.corners:
        return line.box.center.x
    first, second, third, fourth = line.corners
    ends = (first, fourth) if first.y < second.y else (second, third)
    return (ends[0].x + ends[1].x) / 2


def _around(box: Box, x: float) -> Box:
    return Box(x - 1, box.y1, x + 1, box.y2)


def _place(pair: tuple[TextLine, float]) -> float:
    return pair[1]


def _joined(lines: list[TextLine]) -> list[TextLine]:
    """Words of one row with a small gap are one name."""
    joined: list[TextLine] = []
    for line in sorted(lines, key=lambda line: (round(line.box.center.y / 10), line.box.x1)):
        last = joined[-1] if joined else None
        is_next = (
            last is not None
            and abs(last.box.center.y - line.box.center.y) < 0.4 * line.box.height
            and 0 <= line.box.x1 - last.box.x2 < 0.9 * line.box.height
        )
        if last is not None and is_next:
            box = Box(last.box.x1, min(last.box.y1, line.box.y1), line.box.x2, max(last.box.y2, line.box.y2))
            joined[-1] = TextLine(
                text=f"{last.text} {line.text}", box=box, confidence=min(last.confidence, line.confidence)
            )
        else:
            joined.append(line)
    return joined


def _names_at(
    lines: list[TextLine], size: tuple[int, int], turned: tuple[int, int], angle: int, strip: Box, places: list[float]
) -> list[TextLine] | None:
    """The lines that hang below the places, each at its own; by their ends, or by their middles."""
    if len(lines) < len(places):
        return None
    for anchor in ("end", "middle", "start"):
        points = [_back(_anchor(line.box, anchor), size, turned, angle, strip) for line in lines]
        step = float(np.median(np.diff(places)))
        offsets = [[x - place for x, _ in points] for place in places]
        chosen = []
        for row in offsets:
            nearest = int(np.argmin(np.abs(row)))
            chosen.append((nearest, row[nearest]))
        numbers = [number for number, _ in chosen]
        shift = float(np.median([offset for _, offset in chosen]))
        if len(set(numbers)) < len(places) or abs(shift) > 0.4 * step:
            continue
        if all(abs(offset - shift) <= MAX_UNEVEN * step for _, offset in chosen):
            return [
                TextLine(
                    text=lines[number].text,
                    box=Box(place - 1, strip.y1, place + 1, strip.y2),
                    confidence=lines[number].confidence,
                )
                for number, place in zip(numbers, places, strict=True)
            ]
    return None


def _anchor(box: Box, anchor: str) -> tuple[float, float]:
    x = {"start": box.x1, "middle": box.center.x, "end": box.x2}[anchor]
    return x, box.center.y


def _back(
    point: tuple[float, float], size: tuple[int, int], turned: tuple[int, int], angle: int, strip: Box
) -> tuple[float, float]:
    """Where a point of the turned strip lies in the picture."""
    turn = math.radians(angle)
    x, y = point[0] - turned[0] / 2, point[1] - turned[1] / 2
    # Turned by -angle, with y downwards: the way back turns by +angle.
    back_x = x * math.cos(turn) + y * math.sin(turn)
    back_y = -x * math.sin(turn) + y * math.cos(turn)
    return strip.x1 + (back_x + size[0] / 2) / STRIP_ENLARGED, strip.y1 + (back_y + size[1] / 2) / STRIP_ENLARGED


ENLARGED = 3
MAX_NAME_PX = 48
"""How high the strip is in which one level name below a bar is read again."""


def sharpened(lines: tuple[TextLine, ...], pixels: Pixels, reader: TextReader) -> tuple[TextLine, ...]:
    """The lines, those that were hard to read as they are read enlarged, where that is surer."""
    found = []
    for line in lines:
        is_level = line.box.width > 0.8 * line.box.height
        if line.confidence < LEAST_NAME and is_level and any(char.isalnum() for char in line.text):
            box = line.box
            again = _read_line(pixels, Box(box.x1 - 4, box.y1 - 3, box.x2 + 4, box.y2 + 3), reader)
            if again is not None and again.text == line.text:
                # What reads alike at two sizes is no accident.
                line = replace(line, confidence=max(line.confidence, again.confidence, LEAST_NAME))
            elif again is not None and again.confidence > line.confidence:
                line = replace(line, text=again.text, confidence=again.confidence)
        found.append(line)
    return tuple(found)


def named_again(chart: Chart, pixels: Pixels, lines: tuple[TextLine, ...], reader: TextReader) -> Chart:
    """The chart of bars with better names for those that are missing or hard to read."""
    unsure = {line.text for line in lines if line.confidence < LEAST_NAME}
    poor = [index for index, name in enumerate(chart.categories) if PLACEHOLDER.fullmatch(name) or name in unsure]
    places = _places(chart)
    if not poor or places is None or len(places) < 2:
        return chart
    boxes = [box for series in chart.series for box in series.boxes if box is not None]
    height, width = pixels.shape[:2]
    step = float(np.median(np.abs(np.diff(places))))
    if chart.is_horizontal:
        foot = min(box.x1 for box in boxes)
        strips = [Box(0, place - 0.5 * step, foot - 2, place + 0.5 * step) for place in places]
    else:
        foot = max(box.y2 for box in boxes)
        if len(poor) > 0.3 * len(places) or any(re.fullmatch(r"category \d+", chart.categories[i]) for i in poor):
            strip = Box(max(0, places[0] - 2 * step), foot + 3, min(width, places[-1] + 2 * step), height)
            if (slanted := slanted_names(pixels, reader, strip, places)) is not None:
                return _with_names(chart, dict(enumerate(line.text for line in slanted)))
        bottom = min(height, foot + MAX_NAME_PX)
        strips = [Box(place - 0.5 * step, foot + 2, place + 0.5 * step, bottom) for place in places]
    found = {index: name for index in poor if (name := _read(pixels, strips[index], reader)) is not None}
    return _with_names(chart, found)


def _places(chart: Chart) -> list[float] | None:
    """The middle of each category's bars along the axis of categories; None where a category has none."""
    places = []
    for column in zip(*(series.boxes for series in chart.series), strict=True):
        centers = [box.center.y if chart.is_horizontal else box.center.x for box in column if box is not None]
        if not centers:
            return None
        places.append(float(np.mean(centers)))
    return places


def _read(pixels: Pixels, strip: Box, reader: TextReader) -> str | None:
    """The text of a strip, enlarged; None where it is not surely one name."""
    line = _read_line(pixels, strip, reader)
    if line is None or line.confidence < LEAST_NAME:
        return None
    return line.text if len(line.text) > 1 or number_of(line.text) is not None else None


def _read_line(pixels: Pixels, strip: Box, reader: TextReader) -> TextLine | None:
    """The first row of texts in a strip, enlarged, as one line in pixels of the strip."""
    height, width = pixels.shape[:2]
    image = Image.fromarray(pixels).crop(strip.clipped(width, height).as_tuple())
    if min(image.size) < 6:
        return None
    large = image.resize((ENLARGED * image.width, ENLARGED * image.height), Image.Resampling.BICUBIC)
    lines = reader.read(large)
    if not lines:
        return None
    first = min(line.box.center.y for line in lines)
    row = [line for line in lines if abs(line.box.center.y - first) < 0.6 * line.box.height]
    row = sorted(row, key=lambda line: line.box.x1)
    return TextLine(
        text=" ".join(line.text for line in row), box=strip, confidence=min(line.confidence for line in row)
    )


def _with_names(chart: Chart, names: dict[int, str]) -> Chart:
    categories = tuple(names.get(index, name) for index, name in enumerate(chart.categories))
    return replace(chart, categories=categories)
