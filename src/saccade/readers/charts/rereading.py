"""Names of bars that could not be read with the whole picture, read again: enlarged by themselves, or aslant."""

import re
from dataclasses import replace

import numpy as np
from PIL import Image

from saccade.geometry import Box
from saccade.readers.charts.calibration import number_of
from saccade.readers.charts.chart import Chart
from saccade.readers.charts.colours import Pixels
from saccade.readers.charts.doubts import LEAST_NAME, PLACEHOLDER
from saccade.readers.charts.slanted import slanted_names
from saccade.readers.text.lines import TextLine, TextReader

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
