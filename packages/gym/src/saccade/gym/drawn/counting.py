"""Counting: how many objects there are, or how many have a colour or a shape.

Difficulty of ``counting``: objects to count 1-3 at 0, 1-6 at 0.5, 1-12 at 1; as many others at most; radius 26, 14 and
8 px.

Difficulty of ``colour_dots``: dots to count 2-12 at 0, 8-24 at 0.5, 8-40 at 1; as many others at most; radius 10, 8 and
6 px. Code counts them exactly, a glance does not.
"""

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.code_experts import COUNT, coded_scene
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES, Canvas, Thing, scattered
from saccade.tasks.scene import (
    Scene,
    SceneQuestion,
    call,
    knob,
    pick,
    pick_several,
    place_of,
    target_of,
    whole_knob,
)

READING_BAND_PX = 32
"""The expert marks objects band by band from the top, each from left to right."""

OTHER_COLOURS = 3
"""Dots that are not counted have up to so many colours."""


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


def draw_colour_dots(rng: Generator, difficulty: float) -> Scene:
    """Dots of one colour to count among dots of others."""
    least, most = whole_knob(difficulty, 2, 8, 8), whole_knob(difficulty, 12, 24, 40)
    count = int(rng.integers(least, most + 1))
    others = int(rng.integers(most // 2, most + 1))
    radius = knob(difficulty, 10, 8, 6)
    colour, *different = pick_several(rng, COLOUR_NAMES, 1 + OTHER_COLOURS)
    canvas = Canvas()
    targets = []
    for index, center in enumerate(scattered(rng, count + others, radius)):
        own = colour if index < count else pick(rng, tuple(different))
        dot = Thing(colour=own, shape="circle", center=center, radius=float(rng.uniform(0.6, 1.0)) * radius)
        covered = dot.draw(canvas)
        if index < count:
            targets.append(target_of(dot.name, covered))
    return coded_scene(canvas, COUNT.asked(colour=colour), count, targets)
