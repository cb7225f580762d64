"""Finding: where named things, lines or words are, or what is where, each said in turn.

More a lesson in looking than a question: all that is asked for can be seen from afar, and the expert says it of every
thing, so that a model that starts from nothing learns from one picture what takes it many with a question on one thing.

Difficulty: things 2 to 4 at 0, 4 to 7 at 0.5, 6 to 12 at 1, where there is room; their radius random, down to 26, 14
and 8 px; lines at most 2, 4 and 5; words at most 2, 4 and 5, their height random, down to 52, 44 and 36 px, as words of
13 to 9 px are in a crop.
"""

import math
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.drawing import SHAPES, Canvas, Coverage, text_box
from saccade.tasks.palette import COLOUR_NAMES, COLOURS
from saccade.tasks.scattering import GAP_PX, Thing, scattered
from saccade.tasks.scene import (
    SIZE_PX,
    Asked,
    Scene,
    knob,
    pick,
    pick_several,
    place_of,
    rectangle_target,
    target_of,
    whole_knob,
)
from saccade.tasks.words import COLUMNS, DAYS, ITEMS, MONTHS, PEOPLE, PLACES
from saccade.types import Target

LARGEST_PX = 44
LARGEST_WORD_PX = 60
MOST_ASKED = 8
LINES_SHARE = 0.12
WORDS_SHARE = 0.18
PLACES_SHARE = 0.3
"""Of pictures with things or words: asked by place."""

WORD_SETS = (ITEMS, DAYS, PLACES, PEOPLE, COLUMNS, MONTHS)
BORDER_PX = 12
SHORTEST_PX = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What a thing is called, where it is in words, and its pixels."""

    name: str
    place: str
    pixels: Coverage | Box


def draw_finding(rng: Generator, difficulty: float) -> Scene:
    """Things, lines or words, and a question on up to ``MOST_ASKED`` of them."""
    canvas, chance = Canvas(), rng.random()
    if chance < LINES_SHARE:
        return _scene(canvas, _lines(rng, canvas, difficulty), "Trace", "Where is the last one?")
    draw = _words if chance < LINES_SHARE + WORDS_SHARE else _things
    found = draw(rng, canvas, difficulty)
    if rng.random() < PLACES_SHARE:
        return _scene(canvas, found, "Look", "What is at the last place?", cues_are_places=True)
    return _scene(canvas, found, "Find", "Where is the last one?")


def _scene(canvas: Canvas, found: list[_Found], verb: str, question: str, *, cues_are_places: bool = False) -> Scene:
    asked = found[:MOST_ASKED]
    pairs = [(one.place, one.name) if cues_are_places else (one.name, one.place) for one in asked]
    return Scene(
        images=(canvas.image,),
        asked=Asked(
            question=f"{verb}: {', '.join(cue for cue, _ in pairs)}. {question}",
            answer=pairs[-1][1],
            targets=tuple(
                rectangle_target(one.name, one.pixels)
                if isinstance(one.pixels, Box)
                else target_of(one.name, one.pixels)
                for one in asked[-1:]
            ),
            looks=(),
            conclusion=" ".join(f"{cue} {finding}" for cue, finding in pairs),
        ),
    )


def _target(one: _Found) -> Target:
    """What the answer depends on: the last thing alone."""
    return rectangle_target(one.name, one.pixels) if isinstance(one.pixels, Box) else target_of(one.name, one.pixels)


def _things(rng: Generator, canvas: Canvas, difficulty: float) -> list[_Found]:
    """No two with the same colour and shape, nor in the same place; named by one of both where that is enough."""
    smallest = knob(difficulty, 26, 14, 8)
    count = int(rng.integers(whole_knob(difficulty, 2, 4, 6), whole_knob(difficulty, 4, 7, 12) + 1))
    roomy = min(LARGEST_PX, (SIZE_PX / math.ceil(math.sqrt(1.5 * count)) - GAP_PX) / 2)
    largest = max(smallest, float(rng.uniform(smallest, max(smallest, roomy))))
    pairs = rng.permutation(len(COLOUR_NAMES) * len(SHAPES))[:count]
    by_place: dict[str, Thing] = {}
    for pair, center in zip(pairs, scattered(rng, count, largest)):
        radius = float(rng.uniform(smallest, largest))
        colour, shape = COLOUR_NAMES[int(pair) // len(SHAPES)], SHAPES[int(pair) % len(SHAPES)]
        by_place.setdefault(place_of(center), Thing(colour=colour, shape=shape, center=center, radius=radius))
    things = list(by_place.values())
    named_by = pick(rng, ("colour", "shape", "name"))

    def called(thing: Thing) -> str:
        names = [str(getattr(other, named_by)) for other in things]
        name = str(getattr(thing, named_by))
        return name if names.count(name) == 1 else thing.name

    return [_Found(name=called(one), place=place, pixels=one.draw(canvas)) for place, one in by_place.items()]


def _lines(rng: Generator, canvas: Canvas, difficulty: float) -> list[_Found]:
    """Lines of different colours; the place of each is that of its left end and that of its right end."""
    width = float(rng.uniform(2, 6))
    found = []
    for colour in pick_several(rng, COLOUR_NAMES, int(rng.integers(1, whole_knob(difficulty, 2, 4, 5) + 1))):
        start, end = _ends(rng)
        covered = canvas.line(start, end, width, COLOURS[colour])
        found.append(_Found(name=colour, place=f"{place_of(start)} {place_of(end)}", pixels=covered))
    return found


def _ends(rng: Generator) -> tuple[Point, Point]:
    while True:
        x1, y1, x2, y2 = (int(at) for at in rng.integers(BORDER_PX, SIZE_PX - BORDER_PX, size=4))
        if x1 < x2 and math.hypot(x2 - x1, y2 - y1) >= SHORTEST_PX:
            return Point(x1, y1), Point(x2, y2)


def _words(rng: Generator, canvas: Canvas, difficulty: float) -> list[_Found]:
    """Words and numbers, one below the other."""
    height = int(rng.integers(whole_knob(difficulty, 52, 44, 36), LARGEST_WORD_PX + 1))
    rows = SIZE_PX // (height + 4)
    count = min(rows, int(rng.integers(1, whole_knob(difficulty, 2, 4, 5) + 1)))
    row_px = SIZE_PX / rows
    found: dict[str, _Found] = {}
    for row in rng.permutation(rows)[:count].tolist():
        text = _written(rng)
        half = math.ceil(text_box(text, Point(0, 0), height).width / 2)
        center = Point(int(rng.integers(half + 2, max(half + 3, SIZE_PX - half - 2))), int((row + 0.5) * row_px))
        if half * 2 + 4 > SIZE_PX or text in {one.name for one in found.values()} or place_of(center) in found:
            continue
        box = canvas.text(text, center, height)
        place = place_of(center)
        found[place] = _Found(name=text, place=place, pixels=box)
    return list(found.values()) or _words(rng, canvas, difficulty)


def _written(rng: Generator) -> str:
    chance = rng.random()
    if chance < 0.6:
        return pick(rng, WORD_SETS[int(rng.integers(len(WORD_SETS)))])
    if chance < 0.85:
        return str(int(rng.integers(1, 100)))
    return f"{int(rng.integers(1, 10))}.{int(rng.integers(20)) * 5:02d}"
