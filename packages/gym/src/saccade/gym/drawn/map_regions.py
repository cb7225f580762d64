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
from saccade.tasks.drawing import COLOUR_NAMES, COLOURS, INK, PAPER, PLACES, Canvas, Coverage, text_box
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    call,
    crop_turn,
    look_box,
    pick_several,
    target_of,
    whole_knob,
)
from saccade.types import ExpertTurn, Target

COLOUR_SET = f"{', '.join(COLOUR_NAMES[:-1])} or {COLOUR_NAMES[-1]}"
LEAST_BORDER_PX = 20
"""Regions that touch along less than this, but touch, are never asked about."""

BORDER_PX = 20
"""Seeds keep this distance from the edge of the picture."""

SEED_DISTANCE_PX = 56
THROWS = 64
STAR_PX = 9
MARGIN_PX = 4
"""Around a name, and between the star and its region's border or name."""

DARK = ("red", "green", "blue", "purple")
"""Colours on which names are written in a light ink."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Land:
    """The region of each pixel, the border lines, and how the regions touch."""

    regions: NDArray[np.intp]
    borders: Coverage
    contact: NDArray[np.intp]
    """Pixels along which two regions touch, (region, region)."""
    depth: NDArray[np.float32]
    """About how far each pixel is from its region's border."""

    def deepest(self, region: int) -> Point:
        """The pixel of a region that is furthest from its border: the place for its name."""
        depth = np.where(self.regions == region, self.depth, -1)
        row, column = divmod(int(depth.argmax()), SIZE_PX)
        return Point(column, row)

    def holds(self, region: int, box: Box) -> bool:
        """The box lies inside the picture and the region."""
        x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
        if x1 < 0 or y1 < 0 or x2 > SIZE_PX or y2 > SIZE_PX:
            return False
        return bool((self.regions[y1:y2, x1:x2] == region).all())


def divided_land(rng: Generator, count: int, least_distance: float) -> Land:
    """Land around random seeds that keep a distance from each other."""
    seeds = _seeds(rng, count, least_distance)
    pixels = np.arange(SIZE_PX, dtype=np.float32) + np.float32(0.5)
    centers = np.array(seeds, dtype=np.float32)
    across, down = (pixels - centers[:, :1]) ** 2, (pixels - centers[:, 1:]) ** 2
    squared = down[:, :, None] + across[:, None, :]
    regions = squared.argmin(axis=0)
    nearest = np.sqrt(squared.min(axis=0))
    np.put_along_axis(squared, regions[None], np.inf, axis=0)
    second = np.sqrt(squared.min(axis=0))
    to_side = np.minimum(pixels, SIZE_PX - pixels)
    to_edge = np.minimum(to_side[:, None], to_side[None, :])
    borders = np.zeros((SIZE_PX, SIZE_PX), dtype=bool)
    contact = np.zeros((count, count), dtype=np.intp)
    rest, all_but_last, but_first = slice(None), slice(None, -1), slice(1, None)
    for here, there in (((rest, all_but_last), (rest, but_first)), ((all_but_last, rest), (but_first, rest))):
        differs = regions[here] != regions[there]
        borders[here] |= differs
        borders[there] |= differs
        np.add.at(contact, (regions[here][differs], regions[there][differs]), 1)
    return Land(
        regions=regions,
        borders=borders,
        contact=contact + contact.T,
        depth=np.minimum((second - nearest) / 2, to_edge),
    )


def _seeds(rng: Generator, count: int, least_distance: float) -> list[tuple[float, float]]:
    """Thrown one after the other; those too near an earlier one are dropped, and all if too few are left."""
    while True:
        kept: list[tuple[float, float]] = []
        for x, y in rng.uniform(BORDER_PX, SIZE_PX - BORDER_PX, size=(THROWS, 2)).tolist():
            if all((x - a) ** 2 + (y - b) ** 2 >= least_distance**2 for a, b in kept):
                kept.append((x, y))
            if len(kept) == count:
                return kept


@dataclass(frozen=True, kw_only=True, slots=True)
class _Map:
    land: Land
    names: tuple[str, ...]
    colours: tuple[str, ...]
    labels: tuple[Box, ...]
    star_region: int
    star: Target

    def target(self, region: int) -> Target:
        """The region without its border lines."""
        return target_of(self.names[region], (self.land.regions == region) & ~self.land.borders)

    def is_clear(self, region: int) -> bool:
        """No other region touches this one by a hair's breadth."""
        lengths = self.land.contact[region]
        return not ((lengths > 0) & (lengths < LEAST_BORDER_PX)).any()


def draw_map_regions(rng: Generator, difficulty: float) -> Scene:
    """Regions around scattered seeds, each with its own colour and name; a star lies in one of them."""
    count, text_px = whole_knob(difficulty, 3, 5, 8), whole_knob(difficulty, 17, 14, 11)
    names, colours = pick_several(rng, PLACES, count), pick_several(rng, COLOUR_NAMES, count)
    while True:
        land = divided_land(rng, count, SEED_DISTANCE_PX)
        places = [land.deepest(region) for region in range(count)]
        labels = tuple(text_box(name, place, text_px) for name, place in zip(names, places))
        star_region = int(rng.integers(count))
        star_place = _star_place(rng, land, star_region, labels[star_region])
        have_room = all(land.holds(region, _with_margin(label)) for region, label in enumerate(labels))
        if star_place is not None and have_room:
            break
    pixels = np.array([COLOURS[colour] for colour in colours], dtype=np.uint8)[land.regions]
    pixels[land.borders] = INK
    canvas = Canvas(Image.fromarray(pixels))
    for name, colour, place in zip(names, colours, places):
        canvas.text(name, place, text_px, PAPER if colour in DARK else INK)
    drawn = _Map(
        land=land,
        names=names,
        colours=colours,
        labels=labels,
        star_region=star_region,
        star=target_of("star", canvas.shape("star", star_place, STAR_PX, PAPER)),
    )
    return Scene(images=(canvas.image,), asked=_ASKS[int(rng.integers(len(_ASKS)))](rng, drawn))


def _with_margin(label: Box) -> Box:
    return Box(label.x1 - MARGIN_PX, label.y1 - MARGIN_PX, label.x2 + MARGIN_PX, label.y2 + MARGIN_PX)


def _star_place(rng: Generator, land: Land, region: int, label: Box) -> Point | None:
    """A random place for the star inside a region and away from its name; None when there is none."""
    reach = STAR_PX + MARGIN_PX
    room = (land.regions == region) & (land.depth >= reach)
    room[
        max(0, int(label.y1) - reach) : int(label.y2) + reach,
        max(0, int(label.x1) - reach) : int(label.x2) + reach,
    ] = False
    places = np.flatnonzero(room)
    if not places.size:
        return None
    row, column = divmod(int(places[int(rng.integers(places.size))]), room.shape[1])
    return Point(column, row)


def _on_region(drawn: _Map, region: int, question: str, answer: str, sought: str, *more: Target) -> SceneQuestion:
    """A question on one region, which the expert finds by what is sought."""
    return SceneQuestion(
        question=question,
        answer=answer,
        targets=(drawn.target(region), *more),
        looks=(crop_turn(look_box(drawn.labels[region]), sought),),
        conclusion=f"{drawn.colours[region]} {drawn.names[region]}",
    )


def _ask_colour(rng: Generator, drawn: _Map) -> SceneQuestion:
    region = int(rng.integers(len(drawn.names)))
    name = drawn.names[region]
    return _on_region(drawn, region, f"Which colour is {name}: {COLOUR_SET}?", drawn.colours[region], name)


def _ask_name(rng: Generator, drawn: _Map) -> SceneQuestion:
    region = int(rng.integers(len(drawn.names)))
    colour = drawn.colours[region]
    return _on_region(drawn, region, f"Which region is {colour}?", drawn.names[region], colour)


def _ask_star(rng: Generator, drawn: _Map) -> SceneQuestion:
    region = drawn.star_region
    return _on_region(drawn, region, "In which region is the star?", drawn.names[region], "star", drawn.star)


def _ask_border(rng: Generator, drawn: _Map) -> SceneQuestion:
    """Two regions that clearly touch or do not touch at all; either is as likely where both exist."""
    contact = drawn.land.contact
    count = len(drawn.names)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    touching = [pair for pair in pairs if contact[pair] >= LEAST_BORDER_PX]
    apart = [pair for pair in pairs if contact[pair] == 0]
    answer, options = ("yes", touching) if rng.integers(2) or not apart else ("no", apart)
    first, second = options[int(rng.integers(len(options)))]
    return SceneQuestion(
        question=f"Do {drawn.names[first]} and {drawn.names[second]} share a border, yes or no?",
        answer=answer,
        targets=(drawn.target(first), drawn.target(second)),
        looks=(_mark_names(drawn, (first, second)),),
    )


def _ask_neighbours(rng: Generator, drawn: _Map) -> SceneQuestion:
    """How many neighbours a region has whose borders are all clear; where there is none, the star's region."""
    clear = [region for region in range(len(drawn.names)) if drawn.is_clear(region)]
    if not clear:
        return _ask_star(rng, drawn)
    region = clear[int(rng.integers(len(clear)))]
    neighbours = tuple(int(other) for other in np.flatnonzero(drawn.land.contact[region]))
    return SceneQuestion(
        question=f"How many regions share a border with {drawn.names[region]}?",
        answer=str(len(neighbours)),
        answer_kind="integer",
        targets=tuple(drawn.target(other) for other in (region, *neighbours)),
        looks=(_mark_names(drawn, neighbours),),
        conclusion="count the marks",
    )


def _mark_names(drawn: _Map, regions: tuple[int, ...]) -> ExpertTurn:
    centers = [drawn.labels[region].center for region in regions]
    return call("mark each", "draw_points", points=[[round(at.x), round(at.y)] for at in centers])


_ASKS: tuple[Callable[[Generator, _Map], SceneQuestion], ...] = (
    _ask_colour,
    _ask_name,
    _ask_star,
    _ask_border,
    _ask_neighbours,
)
