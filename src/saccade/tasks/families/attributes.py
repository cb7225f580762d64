"""Attributes: the colour or shape of one object among others.

Difficulty: objects 1 at 0, 3 at 0.5, 6 at 1; their radius 40, 20 and 9 px. Small ones have to be cropped.
"""

from collections.abc import Callable

from numpy.random import Generator

from saccade.tasks.drawing import SHAPES, Canvas
from saccade.tasks.palette import COLOUR_NAMES
from saccade.tasks.scattering import Thing, scattered
from saccade.tasks.scene import (
    Scene,
    SceneQuestion,
    crop_turn,
    knob,
    look_box,
    pick,
    pick_several,
    target_of,
    whole_knob,
)

COLOUR_SET = f"{', '.join(COLOUR_NAMES[:-1])} or {COLOUR_NAMES[-1]}"
SHAPE_SET = f"{', '.join(SHAPES[:-1])} or {SHAPES[-1]}"


def draw_attributes(rng: Generator, difficulty: float) -> Scene:
    """Objects that all differ in shape and in colour, so that either names exactly one."""
    count = whole_knob(difficulty, 1, 3, 6)
    radius = knob(difficulty, 40, 20, 9)
    things = [
        Thing(colour=colour, shape=shape, center=center, radius=radius)
        for colour, shape, center in zip(
            pick_several(rng, COLOUR_NAMES, count),
            pick_several(rng, SHAPES, count),
            scattered(rng, count, radius),
        )
    ]
    canvas = Canvas()
    covered = [thing.draw(canvas) for thing in things]
    question, answer, sought = _ASKS[int(rng.integers(len(_ASKS)))](rng, things[0])
    target = target_of(things[0].name, covered[0])
    looks = (crop_turn(look_box(target.box), sought),)
    # What is seen comes before what follows from it: "no" cannot be learned before "blue" is.
    asked = SceneQuestion(question=question, answer=answer, targets=(target,), looks=looks, conclusion=things[0].name)
    return Scene(images=(canvas.image,), asked=asked)


# An ask gives the question, its answer, and the word by which the question tells the object.


def _ask_colour(rng: Generator, asked: Thing) -> tuple[str, str, str]:
    question = pick(rng, (f"What colour is the {asked.shape}", f"Which colour does the {asked.shape} have"))
    return f"{question}: {COLOUR_SET}?", asked.colour, asked.shape


def _ask_shape(rng: Generator, asked: Thing) -> tuple[str, str, str]:
    question = pick(rng, ("What shape is the {} object", "Which shape does the {} object have"))
    return f"{question.format(asked.colour)}: {SHAPE_SET}?", asked.shape, asked.colour


def _ask_whether(rng: Generator, asked: Thing) -> tuple[str, str, str]:
    if rng.integers(2):
        return f"Is the {asked.shape} {asked.colour}, yes or no?", "yes", asked.shape
    other = pick(rng, tuple(name for name in COLOUR_NAMES if name != asked.colour))
    return f"Is the {asked.shape} {other}, yes or no?", "no", asked.shape


_ASKS: tuple[Callable[[Generator, Thing], tuple[str, str, str]], ...] = (_ask_colour, _ask_shape, _ask_whether)
