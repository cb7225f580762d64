"""Maps: named, coloured regions; their colours, their neighbours, and the one that holds a star.

Difficulty: regions 3 at 0, 5 at 0.5, 8 at 1; names 17, 14 and 11 px high.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from saccade.geometry import Box, Point
from saccade.tasks.drawing import Canvas, Coverage, text_box
from saccade.tasks.palette import COLOUR_NAMES, COLOURS, INK, PAPER
from saccade.tasks.scattering import scattered
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    answer_turn,
    call,
    crop_turn,
    look_box,
    pick_several,
    target_of,
    whole_knob,
)
from saccade.tasks.words import PLACES
from saccade.types import AnswerKind, ExpertTurn

COLOUR_SET = f"{', '.join(COLOUR_NAMES[:-1])} or {COLOUR_NAMES[-1]}"
LEAST_BORDER_PX = 20
"""Regions that touch along less than this, but touch, are never asked about."""

LEAST_DISTANCE_PX = 28
"""From the middle of a region's seed to its neighbours' seeds, as a radius of scattering."""

STAR_PX = 9
MARGIN_PX = 4
DARK = ("red", "blue", "purple", "green")
"""Colours on which names are written in a light ink."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layout:
    """Which region each pixel is in, border lines, and the length of the border between any two regions."""

    regions: NDArray[np.intp]
    borders: Coverage
    contact: NDArray[np.intp]
    depth: NDArray[np.float32]
    """About how far each pixel is from its region's border."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Map:
    names: tuple[str, ...]
    colours: tuple[str, ...]
    contact: NDArray[np.intp]
    labels: tuple[Box, ...]
    star_region: int

    def is_clear(self, region: int) -> bool:
        """No neighbour is one by a hair's breadth."""
        lengths = self.contact[region]
        return not ((lengths > 0) & (lengths < LEAST_BORDER_PX)).any()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    question: str
    answer: str
    regions: tuple[int, ...]
    looks: tuple[ExpertTurn, ...]
    answer_kind: AnswerKind = "exact"


def draw_map_regions(rng: Generator, difficulty: float) -> Scene:
    """Regions around scattered seeds, each with its own colour and name; a star lies in one of them."""
    count, text_px = whole_knob(difficulty, 3, 5, 8), whole_knob(difficulty, 17, 14, 11)
    names, colours = pick_several(rng, PLACES, count), pick_several(rng, COLOUR_NAMES, count)
    while True:
        layout = _layout(scattered(rng, count, LEAST_DISTANCE_PX))
        places = [_deepest(layout, region) for region in range(count)]
        labels = tuple(text_box(name, place, text_px) for name, place in zip(names, places))
        star_region = int(rng.integers(count))
        star = _star_place(rng, layout, star_region, labels[star_region])
        if star is not None and all(_fits(layout, region, label) for region, label in enumerate(labels)):
            break
    canvas = _paint(layout, colours)
    for name, colour, place in zip(names, colours, places):
        canvas.text(name, place, text_px, PAPER if colour in DARK else INK)
    covered = canvas.shape("star", star, STAR_PX, PAPER)
    drawn = _Map(
        names=names,
        colours=colours,
        contact=layout.contact,
        labels=labels,
        star_region=star_region,
    )
    asked = _ASKS[int(rng.integers(len(_ASKS)))](rng, drawn)
    targets = [target_of(names[region], (layout.regions == region) & ~layout.borders) for region in asked.regions]
    if asked.regions == (star_region,) and "star" in asked.question:
        targets.append(target_of("star", covered))
    return Scene(
        images=(canvas.image,),
        question=asked.question,
        answer=asked.answer,
        answer_kind=asked.answer_kind,
        targets=tuple(targets),
        turns=(*asked.looks, answer_turn(asked.answer)),
    )


def _layout(seeds: list[Point]) -> _Layout:
    """Each pixel belongs to the nearest seed."""
    y, x = np.mgrid[0:SIZE_PX, 0:SIZE_PX].astype(np.float32) + 0.5
    distances = np.stack([np.hypot(x - seed.x, y - seed.y) for seed in seeds])
    regions = distances.argmin(axis=0)
    nearest, second = np.partition(distances, 1, axis=0)[:2]
    to_edge = np.minimum(np.minimum(x, y), np.minimum(SIZE_PX - x, SIZE_PX - y))
    borders = np.zeros((SIZE_PX, SIZE_PX), dtype=bool)
    contact = np.zeros((len(seeds), len(seeds)), dtype=np.intp)
    for here, there in (
        ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ):
        differs = regions[here] != regions[there]
        borders[here] |= differs
        borders[there] |= differs
        np.add.at(contact, (regions[here][differs], regions[there][differs]), 1)
    return _Layout(
        regions=regions,
        borders=borders,
        contact=contact + contact.T,
        depth=np.minimum((second - nearest) / 2, to_edge),
    )


def _deepest(layout: _Layout, region: int) -> Point:
    """The pixel of a region that is furthest from its border: the place for its name."""
    depth = np.where(layout.regions == region, layout.depth, -1)
    row, column = divmod(int(depth.argmax()), SIZE_PX)
    return Point(column, row)


def _fits(layout: _Layout, region: int, label: Box) -> bool:
    """The name and a margin around it lie inside the region."""
    x1, y1 = int(label.x1) - MARGIN_PX, int(label.y1) - MARGIN_PX
    x2, y2 = int(label.x2) + MARGIN_PX, int(label.y2) + MARGIN_PX
    if x1 < 0 or y1 < 0 or x2 > SIZE_PX or y2 > SIZE_PX:
        return False
    return bool((layout.regions[y1:y2, x1:x2] == region).all())


def _star_place(rng: Generator, layout: _Layout, region: int, label: Box) -> Point | None:
    """A random place for the star inside a region and away from its name; None when there is none."""
    room = (layout.regions == region) & (layout.depth >= STAR_PX + MARGIN_PX)
    reach = STAR_PX + MARGIN_PX
    room[
        max(0, int(label.y1) - reach) : int(label.y2) + reach,
        max(0, int(label.x1) - reach) : int(label.x2) + reach,
    ] = False
    places = np.flatnonzero(room)
    if not places.size:
        return None
    row, column = divmod(int(places[int(rng.integers(places.size))]), SIZE_PX)
    return Point(column, row)


def _paint(layout: _Layout, colours: tuple[str, ...]) -> Canvas:
    pixels = np.array([COLOURS[colour] for colour in colours], dtype=np.uint8)[layout.regions]
    pixels[layout.borders] = INK
    return Canvas(Image.fromarray(pixels))


def _ask_colour(rng: Generator, drawn: _Map) -> _Asked:
    region = int(rng.integers(len(drawn.names)))
    return _Asked(
        question=f"Which colour is {drawn.names[region]}: {COLOUR_SET}?",
        answer=drawn.colours[region],
        regions=(region,),
        looks=(crop_turn(look_box(drawn.labels[region])),),
    )


def _ask_name(rng: Generator, drawn: _Map) -> _Asked:
    region = int(rng.integers(len(drawn.names)))
    return _Asked(
        question=f"Which region is {drawn.colours[region]}?",
        answer=drawn.names[region],
        regions=(region,),
        looks=(crop_turn(look_box(drawn.labels[region]), "read its name"),),
    )


def _ask_star(rng: Generator, drawn: _Map) -> _Asked:
    region = drawn.star_region
    return _Asked(
        question="In which region is the star?",
        answer=drawn.names[region],
        regions=(region,),
        looks=(crop_turn(look_box(drawn.labels[region]), "read its name"),),
    )


def _ask_border(rng: Generator, drawn: _Map) -> _Asked:
    """Two regions that clearly touch or do not touch at all; either answer is as likely where both exist."""
    count = len(drawn.names)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    touching = [pair for pair in pairs if drawn.contact[pair] >= LEAST_BORDER_PX]
    apart = [pair for pair in pairs if drawn.contact[pair] == 0]
    answer, options = ("yes", touching) if rng.integers(2) or not apart else ("no", apart)
    first, second = options[int(rng.integers(len(options)))]
    return _Asked(
        question=f"Do {drawn.names[first]} and {drawn.names[second]} share a border, yes or no?",
        answer=answer,
        regions=(first, second),
        looks=(_mark_names(drawn, (first, second)),),
    )


def _ask_neighbours(rng: Generator, drawn: _Map) -> _Asked:
    """The number of neighbours of a region whose borders are all clear; else which region holds the star."""
    clear = [region for region in range(len(drawn.names)) if drawn.is_clear(region)]
    if not clear:
        return _ask_star(rng, drawn)
    region = clear[int(rng.integers(len(clear)))]
    neighbours = tuple(int(other) for other in np.flatnonzero(drawn.contact[region]))
    return _Asked(
        question=f"How many regions share a border with {drawn.names[region]}?",
        answer=str(len(neighbours)),
        answer_kind="integer",
        regions=(region, *neighbours),
        looks=(_mark_names(drawn, neighbours),),
    )


def _mark_names(drawn: _Map, regions: tuple[int, ...]) -> ExpertTurn:
    centers = [drawn.labels[region].center for region in regions]
    return call("mark each", "draw_points", points=[[round(at.x), round(at.y)] for at in centers])


_ASKS: tuple[Callable[[Generator, _Map], _Asked], ...] = (
    _ask_colour,
    _ask_name,
    _ask_star,
    _ask_border,
    _ask_neighbours,
)
