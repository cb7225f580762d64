"""The palette of a drawn picture: its flat colours, their names, and the pixels that each covers."""

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import cv2
import numpy as np
from numpy.typing import NDArray

from saccade.geometry import Box
from saccade.readers.charts.chart import Colour

Pixels = NDArray[np.uint8]
"""(height, width, 3), red first."""
Coverage = NDArray[np.bool_]
"""(height, width)."""

MAX_COLOURS = 16
MIN_CHROMA = 30
"""Less, from the least to the greatest channel, is grey: text, axes, grid, or something wide enough to be a bar."""
SAME_PX = 30.0
"""Colours nearer than this, in levels of red, green and blue, are one."""
NEAR_PX, BLOCK_PX, MOSTLY_FLAT = 12.0, 400, 0.7
"""Blocks of two colours that are further apart than the first are two: so many pixels, so much of them flat."""

MOSTLY_BESIDE, ONLY_BESIDE = 0.8, 0.93
"""Share of a thin colour's pixels within three pixels of another colour: then it is the edge of that."""
AXIS_PX, LEAST_AXIS = 4, 0.4
"""How far an axis may be from its lowest number, and how much of the picture's width it takes."""
LEAST_MIXED = 0.35
"""Least share of a stroke's colour in a pixel that belongs to it."""

_NAMED: Mapping[str, Colour] = MappingProxyType(
    {
        "red": (214, 39, 40),
        "green": (44, 160, 44),
        "blue": (31, 90, 200),
        "yellow": (235, 210, 50),
        "orange": (250, 127, 30),
        "purple": (140, 70, 180),
        "cyan": (50, 190, 207),
        "pink": (227, 119, 194),
        "brown": (140, 86, 75),
        "teal": (27, 145, 120),
        "light green": (166, 216, 84),
        "light blue": (140, 170, 220),
        "dark blue": (0, 50, 95),
        "magenta": (231, 41, 138),
        "salmon": (252, 141, 98),
        "grey": (128, 128, 128),
        "black": (15, 15, 15),
        "white": (250, 250, 250),
    }
)


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture's drawn things, those of most pixels first, and of its paper."""

    colours: tuple[Colour, ...]
    papers: tuple[Colour, ...]


def colour_name(colour: Colour) -> str:
    """The nearest of eighteen English names."""
    return min(_NAMED, key=lambda name: _distance(_NAMED[name], colour))


def hex_of(colour: Colour) -> str:
    """As in SVG, such as ``#1f77b4``."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def palette_of(pixels: Pixels) -> Palette:
    """The flat colours of a picture, without its papers, greys of thin things and the mixtures at smooth edges."""
    packed = _packed(pixels)
    flat = _flat(packed)
    colours, counts = np.unique(packed, return_counts=True)
    flat_counts = dict(zip(*np.unique(packed[flat], return_counts=True), strict=True))
    order = np.argsort(-counts, kind="stable")
    least = max(24, packed.size // 20_000)
    papers = _papers(packed, colours[order], flat_counts)
    accepted: list[tuple[Colour, int]] = []
    blocks: set[Colour] = set()
    has_areas = False
    for index in order:
        count = int(counts[index])
        if count < least or len(accepted) == MAX_COLOURS:
            break
        colour = _unpacked(int(colours[index]))
        flats = int(flat_counts.get(colours[index], 0))
        if any(_distance(colour, paper) < SAME_PX for paper in papers):
            continue
        if max(colour) - min(colour) < MIN_CHROMA and flats < max(200, 0.4 * count):
            continue
        is_block = count >= BLOCK_PX and flats > MOSTLY_FLAT * count
        if any(_distance(colour, o) < (NEAR_PX if is_block and o in blocks else SAME_PX) for o, _ in accepted):
            continue
        if flats < 0.3 * count and _is_mixture(colour, count, accepted, papers):
            continue
        if flats < 0.1 * count and any(_is_fringe(packed, colour, other, papers) for other, _ in accepted):
            continue
        # Beside areas, a thin colour is the blended outline of one of them, unless its hue is its own.
        is_thin = has_areas and flats < 0.15 * count and count < 0.15 * accepted[0][1]
        if is_thin and (count < 4 * least or not _is_of_own_hue(colour, accepted)):
            continue
        has_areas = has_areas or (not accepted and flats > 0.5 * count)
        # The smooth edges of thin things may be more than their middles.
        accepted = [
            (other, many)
            for other, many in accepted
            if int(flat_counts.get(_code(other), 0)) > 0.1 * many or not _is_fringe(packed, other, colour, papers)
        ]
        accepted.append((colour, count))
        blocks |= {colour} if is_block else set()
    return Palette(tuple(colour for colour, _ in accepted), papers)


def without_text(palette: Palette, pixels: Pixels, boxes: tuple[Box, ...]) -> Palette:
    """The palette without the colours that are hardly anywhere but in texts."""
    inside = np.zeros(pixels.shape[:2], dtype=bool)
    for box in boxes:
        inside[max(0, int(box.y1)) : int(np.ceil(box.y2)), max(0, int(box.x1)) : int(np.ceil(box.x2))] = True
    kept = []
    for colour in palette.colours:
        drawn = coverage_of(pixels, colour, palette)
        if drawn.any() and inside[drawn].mean() < 0.7:
            kept.append(colour)
    return Palette(tuple(kept), palette.papers)


def coverage_of(pixels: Pixels, colour: Colour, palette: Palette, tolerance: float = 40.0) -> Coverage:
    """The pixels nearer to this colour than to any other colour or paper, and within the tolerance."""
    own = _distances(pixels, colour)
    is_near = own <= tolerance
    rows, columns = np.nonzero(is_near)
    if not len(rows):
        return is_near
    some = pixels[rows, columns][:, None, :]
    for other in (*palette.colours, *palette.papers):
        if other != colour and _distance(other, colour) < 2 * tolerance:
            closer = _distances(some, other)[:, 0] < own[rows, columns]
            is_near[rows[closer], columns[closer]] = False
    return is_near


def stroke_coverage_of(pixels: Pixels, colour: Colour, palette: Palette, hidden: Coverage) -> Coverage:
    """The coverage of a thin stroke with its smooth edges: mixtures of its own colour with a paper.

    ``hidden`` is left out.
    """
    is_ink = ~hidden
    for paper in palette.papers:
        is_ink &= _distances(pixels, paper) > SAME_PX
    rows, columns = np.nonzero(is_ink)
    some = pixels[rows, columns].astype(np.float32)
    best = np.full(len(rows), np.inf, dtype=np.float32)
    own = best.copy()
    for other in (*palette.colours, (0, 0, 0)):
        for paper in palette.papers:
            along = np.subtract(other, paper).astype(np.float32)
            offset = some - np.array(paper, dtype=np.float32)
            share = np.clip((offset @ along) / max(1.0, float(along @ along)), 0, 1)
            miss = np.sqrt(((offset - share[:, None] * along) ** 2).sum(axis=-1))
            miss[share < LEAST_MIXED] = np.inf
            if other == colour:
                own = np.minimum(own, miss)
            best = np.minimum(best, miss)
    covered = np.zeros(is_ink.shape, dtype=bool)
    covered[rows, columns] = (own <= best) & (own < SAME_PX)
    return covered


def labels_of(pixels: Pixels, palette: Palette) -> NDArray[np.int16]:
    """Per pixel the number of its colour from 1 on, 0 for paper, -1 for anything else."""
    labels = np.full(pixels.shape[:2], -1, dtype=np.int16)
    for paper in palette.papers:
        labels[coverage_of(pixels, paper, palette, 25.0)] = 0
    for number, colour in enumerate(palette.colours, start=1):
        labels[coverage_of(pixels, colour, palette)] = number
    return labels


def without(coverage: Coverage, boxes: tuple[Box, ...]) -> Coverage:
    """The coverage outside all of these boxes."""
    left = coverage.copy()
    for box in boxes:
        left[max(0, int(box.y1)) : int(np.ceil(box.y2)), max(0, int(box.x1)) : int(np.ceil(box.x2))] = False
    return left


def is_greyish(colour: Colour) -> bool:
    """Whether axes, grid lines and texts may have this colour too."""
    return max(colour) - min(colour) < 2 * MIN_CHROMA


def without_frame(coverage: Coverage) -> Coverage:
    """The blocks of a coverage without axes, grid lines and texts of their colour; all of it where it is no blocks."""
    blocks = cv2.morphologyEx(coverage.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)) > 0
    return blocks if blocks.sum() > MOSTLY_FLAT * coverage.sum() else coverage


def without_axis(coverage: Coverage, foot: float) -> Coverage:
    """The thin strokes of a coverage without a long line of their colour at the foot of the plot."""
    rows = slice(max(0, int(foot) - AXIS_PX), int(foot) + AXIS_PX + 1)
    left = coverage.copy()
    left[rows][coverage[rows].sum(axis=1) > LEAST_AXIS * coverage.shape[1]] = False
    return left


def _papers(packed: NDArray[np.int32], by_count: NDArray[np.int32], flats: Mapping[int, int]) -> tuple[Colour, ...]:
    """The colour of most corners, and the most frequent pale or grey colour: the paper of the plot."""
    corners = [int(packed[row, column]) for row in (1, -2) for column in (1, -2)]
    page = _unpacked(max(corners, key=corners.count))
    papers = [page]
    for code in by_count[:12]:
        colour = _unpacked(int(code))
        # What is nearly white needs no great share to be paper, as between many bars.
        least = packed.size // (40 if min(colour) > 215 else 6)
        if max(colour) - min(colour) < MIN_CHROMA and min(colour) > 110 and flats.get(code, 0) > least:
            papers.append(colour)
    return tuple(dict.fromkeys(papers))


def _flat(packed: NDArray[np.int32]) -> Coverage:
    """Pixels whose eight neighbours have their colour."""
    same = np.zeros(packed.shape, dtype=bool)
    middle = packed[1:-1, 1:-1]
    inner = np.ones(middle.shape, dtype=bool)
    for down in (0, 1, 2):
        for right in (0, 1, 2):
            inner &= packed[down : down + middle.shape[0], right : right + middle.shape[1]] == middle
    same[1:-1, 1:-1] = inner
    return same


def _is_mixture(colour: Colour, count: int, accepted: list[tuple[Colour, int]], papers: tuple[Colour, ...]) -> bool:
    """Whether it lies between two colours of the picture, one of them more frequent."""
    ends = [*((paper, 1 << 30) for paper in papers), ((0, 0, 0), 1 << 30), ((255, 255, 255), 1 << 30), *accepted]
    for index, (one, _) in enumerate(accepted):
        for other, other_count in [*ends[: len(papers) + 2], *accepted[:index]]:
            if count < 0.6 * min(accepted[index][1], other_count) and _is_between(colour, one, other):
                return True
    return False


def _is_fringe(packed: NDArray[np.int32], colour: Colour, other: Colour, papers: tuple[Colour, ...]) -> bool:
    """Whether a colour is drawn only beside another one, from which it fades into a paper."""
    rows, columns = np.nonzero(packed == _code(colour))
    near = cv2.dilate((packed == _code(other)).astype(np.uint8), np.ones((7, 7), np.uint8))
    share = float(near[rows, columns].mean())
    fades = any(_is_between(colour, other, paper) for paper in papers)
    return share > (MOSTLY_BESIDE if fades else ONLY_BESIDE)


def _is_of_own_hue(colour: Colour, accepted: list[tuple[Colour, int]]) -> bool:
    """Whether a vivid colour is far round the circle of hues from all others."""
    hue, _, _ = colorsys.rgb_to_hsv(*(channel / 255 for channel in colour))
    others = [colorsys.rgb_to_hsv(*(channel / 255 for channel in other)) for other, _ in accepted]
    turns = [abs((hue - other + 0.5) % 1 - 0.5) for other, saturation, _ in others if saturation > 0.1]
    return max(colour) - min(colour) >= 2 * MIN_CHROMA and all(turn > 0.08 for turn in turns)


def _is_between(colour: Colour, one: Colour, other: Colour) -> bool:
    start, along = np.array(one, dtype=float), np.subtract(other, one).astype(float)
    offset = np.array(colour, dtype=float) - start
    length = float(along @ along)
    share = float(offset @ along) / length if length else 0.0
    return 0.03 < share < 0.97 and float(np.linalg.norm(offset - share * along)) < 24


def _packed(pixels: Pixels) -> NDArray[np.int32]:
    wide = pixels.astype(np.int32)
    return (wide[:, :, 0] << 16) | (wide[:, :, 1] << 8) | wide[:, :, 2]


def _code(colour: Colour) -> int:
    return (colour[0] << 16) | (colour[1] << 8) | colour[2]


def _unpacked(code: int) -> Colour:
    return (code >> 16, (code >> 8) & 255, code & 255)


def _distance(one: Colour, other: Colour) -> float:
    return float(np.linalg.norm(np.subtract(one, other)))


def _distances(pixels: NDArray[np.uint8], colour: Colour) -> NDArray[np.float32]:
    difference = pixels.astype(np.float32) - np.array(colour, dtype=np.float32)
    distances: NDArray[np.float32] = np.sqrt((difference * difference).sum(axis=-1))
    return distances
