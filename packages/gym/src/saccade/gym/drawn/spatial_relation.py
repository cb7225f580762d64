"""Spatial relation: on which side of one object another one lies.

Difficulty: other objects 0 at 0, 2 at 0.5, 6 at 1; radius 24, 16 and 9 px; the offset across the relation's
direction is at most 0.2, 0.5 and 0.7 of the offset along it, so that the side is never in doubt.
"""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
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

SIDES = ("left", "right", "above", "below")
OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
PHRASES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}
LEAST_OFFSET_PX = 56
LETTERS = "ABCD"


def draw_spatial_relation(rng: Generator, difficulty: float) -> Scene:
    """Two objects with a clear relation, and others that differ from both in colour."""
    radius = knob(difficulty, 24, 16, 9)
    others = whole_knob(difficulty, 0, 2, 6)
    side, centers = _clear_centers(rng, others + 2, radius, knob(difficulty, 0.2, 0.5, 0.7))
    colours = pick_several(rng, COLOUR_NAMES, others + 2)
    things = [
        Thing(colour=colour, shape=pick(rng, SHAPES), center=center, radius=radius)
        for colour, center in zip(colours, centers)
    ]
    canvas = Canvas()
    covered = [thing.draw(canvas) for thing in things]
    moved, fixed = things[0], things[1]
    words = _ASKS[int(rng.integers(len(_ASKS)))](rng, moved.name, fixed.name, side)
    both = f"{fixed.colour} {place_of(fixed.center)} {moved.colour} {place_of(moved.center)}"
    asked = SceneQuestion(
        question=words.question,
        answer=words.answer,
        answer_kind="choice" if words.choices else "exact",
        choices=words.choices,
        targets=(target_of(moved.name, covered[0]), target_of(fixed.name, covered[1])),
        looks=(call(both, "measure", start=_whole(fixed.center), end=_whole(moved.center)),),
        conclusion=f"{moved.colour} {side}",
    )
    return Scene(images=(canvas.image,), asked=asked)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Words:
    question: str
    answer: str
    choices: tuple[str, ...] = ()


def _ask_side(rng: Generator, moved: str, fixed: str, side: str) -> _Words:
    return _Words(question=f"On which side of the {fixed} is the {moved}: left, right, above or below?", answer=side)


def _ask_whether(rng: Generator, moved: str, fixed: str, side: str) -> _Words:
    asked = side if rng.integers(2) else OPPOSITE[side]
    return _Words(
        question=f"Is the {moved} {PHRASES[asked]} the {fixed}, yes or no?",
        answer="yes" if asked == side else "no",
    )


def _ask_choice(rng: Generator, moved: str, fixed: str, side: str) -> _Words:
    choices = pick_several(rng, SIDES, len(SIDES))
    options = ", ".join(f"{letter} {choice}" for letter, choice in zip(LETTERS, choices))
    return _Words(
        question=f"Where is the {moved}, seen from the {fixed}: {options}?",
        answer=LETTERS[choices.index(side)],
        choices=choices,
    )


_ASKS: tuple[Callable[[Generator, str, str, str], _Words], ...] = (_ask_side, _ask_whether, _ask_choice)


def _clear_centers(rng: Generator, count: int, radius: float, most_across: float) -> tuple[str, list[Point]]:
    """The side of the second centre on which the first lies, and the centres, scattered until it is clear."""
    while True:
        centers = scattered(rng, count, radius)
        across, along = sorted((abs(centers[0].x - centers[1].x), abs(centers[0].y - centers[1].y)))
        if along >= LEAST_OFFSET_PX and across <= most_across * along:
            return side_of(centers[0], centers[1]), centers


def side_of(moved: Point, fixed: Point) -> str:
    """The side of the second point on which the first one lies, by the larger offset."""
    dx, dy = moved.x - fixed.x, moved.y - fixed.y
    if abs(dx) > abs(dy):
        return "left" if dx < 0 else "right"
    return "above" if dy < 0 else "below"


def _whole(point: Point) -> list[int]:
    return [int(point.x), int(point.y)]
