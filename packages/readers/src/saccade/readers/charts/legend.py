"""The legend of a chart: texts with a patch, a stroke or a marker of one colour beside them, in rows or columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box, enclosing_box
from saccade.readers.charts.calibration import number_of
from saccade.readers.charts.chart import Colour
from saccade.readers.charts.colours import Palette, Pixels, colour_name, labels_of
from saccade.readers.charts.layout import is_year
from saccade.readers.text.lines import TextLine

MAX_WIDTH, MAX_HEIGHT = 4.2, 1.4
"""Size of a swatch, in heights of its text."""
MAX_GAP = 1.6
"""Between swatch and text, in heights of the text."""
_RING = re.compile(r"^[-—–]+\s?[Oo0]\s?[-—–]+\s?|^[Oo0][-—–]+\s")
_STROKE = re.compile(r"^[Il|] ")
ALIGNED_PX = 4.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Legend:
    """Names by colour, and all that belongs to the legend."""

    names: tuple[tuple[Colour, str], ...] = ()
    box: Box | None = None
    lines: tuple[TextLine, ...] = ()
    strays: tuple[TextLine, ...] = ()
    """Texts among the names that have no swatch of a colour of their own."""

    def name(self, colour: Colour) -> str | None:
        return dict(self.names).get(colour)

    def series_name(self, colour: Colour) -> str:
        """The series' name in the legend, or else the name of its colour."""
        return self.name(colour) or colour_name(colour)

    def in_order(self, colours: Sequence[Colour]) -> list[Colour]:
        """As the legend lists them; those that it does not name come last."""
        order = [colour for colour, _ in self.names]
        return sorted(colours, key=lambda colour: order.index(colour) if colour in order else len(order))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """A text and the swatch beside it."""

    line: TextLine
    colour: Colour
    swatch: Box
    gap: float


def find_legend(lines: tuple[TextLine, ...], pixels: Pixels, palette: Palette) -> Legend:
    """The entries to whose left, or else to whose right, a swatch of a colour of its own stands."""
    texts = [line for line in lines if _may_name(line)]
    if not texts:
        return Legend()
    height = float(np.median([line.box.height for line in texts]))
    labels = labels_of(pixels, palette)
    swatches = _swatches(labels, palette, height)
    swatches += _loose_swatches(labels, palette, height, texts, swatches)
    left = _largest_group(_nearest(texts, swatches, is_left=True))
    right = _largest_group(_nearest(texts, swatches, is_left=False))
    # Beside short lying bars stand the names of the categories: swatches on the right are all of one size.
    entries = right if len(right) > len(left) and len(right) >= 2 and _are_alike(right) else left
    # A single letter may be a marker.
    if not entries or (len(entries) == 1 and len(entries[0].line.text) < 2):
        return Legend()
    entries = sorted(entries, key=lambda entry: (round(entry.line.box.center.y / 8), entry.line.box.x1))
    box = enclosing_box([box for entry in entries for box in (entry.line.box, entry.swatch)])
    return Legend(
        names=tuple((entry.colour, _name(entry)) for entry in entries),
        box=box,
        lines=tuple(entry.line for entry in entries),
        strays=_strays(entries, box, texts) if len(entries) > 1 else (),
    )


def _name(entry: _Entry) -> str:
    """A text without the swatch that was read as a part of it, such as a ring on a stroke."""
    text = _RING.sub("", entry.line.text)
    overlaps = entry.swatch.x2 > entry.line.box.x1 and entry.swatch.center.x < entry.line.box.center.x
    return (_STROKE.sub("", text) if overlaps else text).strip("■●○□◆-— ")


def without_legend(lines: tuple[TextLine, ...], legend: Legend) -> tuple[TextLine, ...]:
    """The lines that are not in the legend."""
    box = legend.box
    if box is None:
        return lines
    return tuple(line for line in lines if line not in legend.lines and not box.contains(line.box.center))


def _may_name(line: TextLine) -> bool:
    # The end of a bar beside its printed value looks like an entry too; years may be names of series.
    is_value = number_of(line.text.strip("[]|")) is not None and not is_year(line.text)
    return not is_value and line.box.height <= 1.5 * line.box.width


def _swatches(labels: NDArray[np.int16], palette: Palette, height: float) -> list[tuple[Colour, Box]]:
    """Pieces of one colour that are small enough for a swatch; dashes and strokes through a marker are joined."""
    found = []
    bridge = np.ones((3, max(3, int(0.5 * height) | 1)), np.uint8)
    for number, colour in enumerate(palette.colours, start=1):
        mask = (labels == number).astype(np.uint8)
        closed = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, bridge)
        _, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
        for x, y, width, tall, area in stats[1:].tolist():
            if area >= 8 and width <= MAX_WIDTH * height and tall <= MAX_HEIGHT * height:
                found.append((colour, Box(x, y, x + width, y + tall)))
    return found


def _loose_swatches(
    labels: NDArray[np.int16], palette: Palette, height: float, texts: list[TextLine], known: list[tuple[Colour, Box]]
) -> list[tuple[Colour, Box]]:
    """Whole swatches outside all texts, of colours that texts have too: joined with them they are none."""
    found = []
    for number, colour in enumerate(palette.colours, start=1):
        _, _, stats, _ = cv2.connectedComponentsWithStats((labels == number).astype(np.uint8), connectivity=8)
        for x, y, width, tall, area in stats[1:].tolist():
            box = Box(x, y, x + width, y + tall)
            is_swatch = area >= 0.6 * width * tall and width <= MAX_WIDTH * height and tall <= MAX_HEIGHT * height
            is_inside = any(line.box.contains(box.center) for line in texts)
            if area >= 24 and is_swatch and not is_inside and (colour, box) not in known:
                found.append((colour, box))
    return found


def _strays(entries: list[_Entry], box: Box, texts: list[TextLine]) -> tuple[TextLine, ...]:
    """Texts in the legend's box, or right below or above its column of names, that are no entry."""
    own = [entry.line for entry in entries]
    left = float(np.median([line.box.x1 for line in own]))
    rows = sorted(line.box.center.y for line in own)
    is_column = max(line.box.x1 for line in own) - min(line.box.x1 for line in own) <= ALIGNED_PX
    step = min(after - before for before, after in pairwise(rows)) if is_column else 0.0
    return tuple(
        line
        for line in texts
        if line not in own
        and sum(char.isalnum() for char in line.text) > 1
        and (
            box.contains(line.box.center)
            or (abs(line.box.x1 - left) <= ALIGNED_PX and _is_next(line.box.center.y, rows, step))
        )
    )


def _is_next(y: float, rows: list[float], step: float) -> bool:
    return any(abs(abs(y - row) - step) <= 0.2 * step for row in (rows[0], rows[-1]))


def _nearest(texts: list[TextLine], swatches: list[tuple[Colour, Box]], *, is_left: bool) -> list[_Entry]:
    """For each text the swatch next to it on one side, and for each swatch one text."""
    pairs = []
    for line in texts:
        height = line.box.height
        for colour, box in swatches:
            gap = line.box.x1 - box.x2 if is_left else box.x1 - line.box.x2
            is_level = abs(box.center.y - line.box.center.y) <= 0.32 * height
            # The detected text may begin with its swatch.
            starts = is_left and abs(box.x1 - line.box.x1) <= 0.5 * height and box.x2 < line.box.center.x
            if is_level and (starts or -0.4 * height <= gap <= MAX_GAP * height):
                pairs.append(_Entry(line=line, colour=colour, swatch=box, gap=gap))
    pairs.sort(key=lambda entry: entry.gap)
    kept: list[_Entry] = []
    for entry in pairs:
        if all(entry.line is not one.line and entry.swatch != one.swatch for one in kept):
            kept.append(entry)
    return kept


def _largest_group(entries: list[_Entry]) -> list[_Entry]:
    """The entries of the largest group in rows or columns, each of another colour."""
    groups: list[list[_Entry]] = []
    for entry in entries:
        near = [group for group in groups if any(_is_aligned(entry, one) for one in group)]
        groups = [group for group in groups if group not in near]
        groups.append([entry, *(one for group in near for one in group)])
    best: list[_Entry] = []
    for group in groups:
        nearest: dict[Colour, _Entry] = {}
        for entry in sorted(group, key=lambda one: one.gap):
            nearest.setdefault(entry.colour, entry)
        if len(nearest) > len(best):
            best = list(nearest.values())
    return best


def _is_aligned(one: _Entry, other: _Entry) -> bool:
    reach = max(one.line.box.height, other.line.box.height)
    is_column = abs(one.swatch.center.x - other.swatch.center.x) <= ALIGNED_PX
    is_row = abs(one.swatch.center.y - other.swatch.center.y) <= ALIGNED_PX
    apart = abs(one.line.box.center.y - other.line.box.center.y)
    return (is_column and apart <= 6 * reach) or is_row


def _are_alike(entries: list[_Entry]) -> bool:
    widths = [entry.swatch.width for entry in entries]
    heights = [entry.swatch.height for entry in entries]
    return max(widths) - min(widths) <= 3 and max(heights) - min(heights) <= 3
