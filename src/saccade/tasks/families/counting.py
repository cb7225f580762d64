"""Counting: how many objects there are, or how many have a colour or a shape.

Difficulty: objects to count 1-3 at 0, 1-6 at 0.5, 1-12 at 1; as many others at most; radius 26, 14 and 8 px.
"""

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import SHAPES, Canvas
from saccade.tasks.palette import COLOUR_NAMES
from saccade.tasks.scattering import Thing, scattered
from saccade.tasks.scene import (
    Scene,
    SceneQuestion,
    call,
    knob,
    pick,
    place_of,
    target_of,
    whole_knob,
)

READING_BAND_PX = 32
"""The expert marks objects band by band from the top, each from left to right."""


def draw_counting(rng: Generator, difficulty: float) -> Scene:
    """Objects to count and, unless all are counted, others that lack what is asked for."""
    most = whole_knob(difficulty, 3, 6, 12)
    count = int(rng.integers(1, most + 1))
    asked_for = pick(rng, ("all", "colour", "shape"))
    others = 0 if asked_for == "all" else int(rng.integers(0, most + 1))
    radius = knob(difficulty, 26, 14, 8)
    centers = scattered(rng, count + others, radius)
    colour, shape = pick(rng, COLOUR_NAMES), pick(rng, SHAPES)
    other_colours = tuple(name for name in COLOUR_NAMES if name != colour)
    other_shapes = tuple(name for name in SHAPES if name != shape)
    things = []
    for i, center in enumerate(centers):
        is_counted = i < count
        colours = COLOUR_NAMES if asked_for != "colour" else (colour,) if is_counted else other_colours
        shapes = SHAPES if asked_for != "shape" else (shape,) if is_counted else other_shapes
        things.append(Thing(colour=pick(rng, colours), shape=pick(rng, shapes), center=center, radius=radius))
    canvas = Canvas()
    covered = [thing.draw(canvas) for thing in things]
    counted = sorted(range(count), key=lambda i: _reading_order(things[i].center))
    words = {
        "all": "How many objects are there?",
        "colour": f"How many objects are {colour}?",
        "shape": f"How many objects have the shape {shape}?",
    }
    places = " ".join(place_of(things[i].center) for i in counted)
    asked = SceneQuestion(
        question=words[asked_for],
        answer=str(count),
        answer_kind="integer",
        targets=tuple(target_of(things[i].name, covered[i]) for i in counted),
        looks=(call(places, "draw_points", points=[_mark(things[i].center) for i in counted]),),
        conclusion="count the marks",
    )
    return Scene(images=(canvas.image,), asked=asked)


def _reading_order(center: Point) -> tuple[int, float]:
    return int(center.y) // READING_BAND_PX, center.x


def _mark(center: Point) -> list[int]:
    return [int(center.x), int(center.y)]
