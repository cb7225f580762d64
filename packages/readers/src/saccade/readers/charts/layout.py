"""Layout of a chart's texts: its title, the names along an axis."""

import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box
from saccade.readers.charts.colours import Palette, Pixels, labels_of
from saccade.readers.text.lines import TextLine

LEVEL = 0.5
"""Share of a name's height by which its middle may be above or below the middle of its row."""

_WORD = re.compile(r"\S+")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_YEARS = re.compile(r"(?:(?:19|20)[0-9]{2}\s?){2,}")


def is_year(text: str) -> bool:
    """Whether a text is a year of the last or of this century."""
    return _YEAR.fullmatch(text) is not None


def is_word(line: TextLine) -> bool:
    """Whether a text is surely one, and no drawn thing that was taken for a letter."""
    is_small = line.box.height < 40
    return is_small and line.confidence >= 0.8 and sum(char.isalpha() for char in line.text) >= 3


def is_level(line: TextLine) -> bool:
    """Whether a text is written from left to right."""
    return line.box.height <= 1.5 * line.box.width


def real_texts(lines: tuple[TextLine, ...], pixels: Pixels, palette: Palette) -> tuple[TextLine, ...]:
    """The lines without drawn things that were taken for letters: a marker for an o, a whole pie for a 0."""
    drawn = labels_of(pixels, palette) > 0
    return tuple(line for line in lines if not _is_mark(line, drawn))


def _is_mark(line: TextLine, drawn: NDArray[np.bool_]) -> bool:
    box = line.box
    if box.height > 0.2 * drawn.shape[0] and box.width > 0.2 * drawn.shape[1]:
        return True
    if len(line.text) > 2:
        return False
    inside = drawn[max(0, int(box.y1)) : int(np.ceil(box.y2)), max(0, int(box.x1)) : int(np.ceil(box.x2))]
    return inside.size > 0 and float(inside.mean()) > 0.12


def parted_names(names: list[TextLine]) -> list[TextLine]:
    """Names of one row, those taken apart that were read as one: when all words then stand at even steps."""
    words = [part for line in names for part in _words(line)]
    if len(words) < 3 or len(words) == len(names):
        return names
    before = _unevenness([line.box.center.x for line in names])
    after = _unevenness([word.box.center.x for word in words])
    return words if after < 0.2 and after < 0.7 * before else names


def parted_into(names: list[TextLine], count: int) -> list[TextLine]:
    """The names taken apart into words when there are just so many words, otherwise as they are."""
    words = [part for line in names for part in _words(line)]
    return words if len(names) < count == len(words) else names


def with_gaps_named(names: list[TextLine]) -> list[TextLine]:
    """The names with one put in, by its number, where a step between two is twice the usual: it could not be read."""
    if len(names) < 4:
        return names
    centers = [line.box.center.x for line in names]
    step = float(np.median(np.diff(centers)))
    filled = [names[0]]
    for before, line in pairwise(names):
        if 1.8 * step < line.box.center.x - before.box.center.x < 2.2 * step:
            shift = (line.box.center.x - before.box.center.x) / 2
            box = before.box
            moved = Box(box.center.x + shift - 1, box.y1, box.center.x + shift + 1, box.y2)
            filled.append(TextLine(text=f"category {len(filled) + 1}", box=moved, confidence=0.0))
        filled.append(line)
    return filled


def _words(line: TextLine) -> list[TextLine]:
    """The words of a line at the places that they should have by their numbers of letters."""
    width = line.box.width / max(1, len(line.text))
    words = []
    for match in (_YEAR if _YEARS.fullmatch(line.text) else _WORD).finditer(line.text):
        left = line.box.x1 + match.start() * width
        box = Box(left, line.box.y1, left + len(match.group()) * width, line.box.y2)
        words.append(TextLine(text=match.group(), box=box, confidence=line.confidence))
    return words


def _unevenness(places: list[float]) -> float:
    """How far the places are from even steps, in steps; infinite for fewer than three."""
    if len(places) < 3:
        return float("inf")
    index = np.arange(len(places))
    step, first = np.polyfit(index, places, 1)
    return float(np.abs(first + step * index - places).max() / max(1.0, abs(float(step))))


def names_below(lines: tuple[TextLine, ...], axis_y: float, left: float, right: float) -> list[TextLine]:
    """The first row of texts below a horizontal axis, from left to right."""
    below = [
        line
        for line in lines
        if line.box.center.y > axis_y + 2
        and line.box.y1 > axis_y - 0.4 * line.box.height
        and left - line.box.width <= line.box.center.x <= right + line.box.width
    ]
    if not below:
        return []
    first = min(below, key=lambda line: line.box.y1)
    row = [line for line in below if line.box.y1 - first.box.y1 < 0.9 * first.box.height]
    # The title of an axis may follow so closely that only its middle is lower.
    middle = float(np.median([line.box.center.y for line in row]))
    level = [line for line in row if abs(line.box.center.y - middle) < LEVEL * line.box.height or not is_level(line)]
    return sorted(level, key=lambda line: line.box.center.x)


def names_left(lines: tuple[TextLine, ...], axis_x: float, top: float, bottom: float) -> list[TextLine]:
    """The texts just left of a vertical axis, from top to bottom; an upright name of the axis is left out."""
    left = [
        line
        for line in lines
        if line.box.x2 < axis_x + 8
        and top - line.box.height <= line.box.center.y <= bottom + line.box.height
        and line.box.height < 2.5 * line.box.width
    ]
    if not left:
        return []
    edge = max(line.box.x2 for line in left)
    column = [line for line in left if edge - line.box.x2 < 1.2 * line.box.height]
    return sorted(column, key=lambda line: line.box.center.y)


def title_of(lines: tuple[TextLine, ...], top: float) -> str:
    """The text above the plot; several are joined."""
    return " ".join(line.text for line in lines if line.box.y2 <= top + 2)
