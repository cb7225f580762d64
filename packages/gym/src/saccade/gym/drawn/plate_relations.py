"""Questions on marked plates beyond their marks: is one there, how do two lie, how many are there?

Pictures are those of ``plates``: everything in them is named, so that points can be held against it. Answers to the
first two are yes and no, as often one as the other.
"""

from numpy.random import Generator

from saccade.gym.drawn.plates import MarkedPlate, marked_plates, marked_scene, shown_colours
from saccade.gym.program import with_article
from saccade.tasks.scene import Scene, pick
from saccade.types import AnswerKind

SIDES = {"left of": (0, -1), "right of": (0, 1), "above": (1, -1), "below": (1, 1)}
"""Axis, and sign of the difference of centres along it."""


def draw_plate_absent(rng: Generator, difficulty: float) -> Scene:
    """Is there a plate of a colour? Half of the colours asked for are of no plate of the picture.

    Only colours that plates may have are asked for, and one is always missing: else the colour would give the answer.
    """
    colours = shown_colours(difficulty)
    plates = marked_plates(rng, difficulty)[: len(colours) - 1]
    is_there = bool(rng.integers(2))
    missing = tuple(colour for colour in colours if colour not in {plate.colour for plate in plates})
    colour = plates[0].colour if is_there else pick(rng, missing)
    sought = [plate for plate in plates if plate.colour == colour]
    answer = "yes" if sought else "no"
    return marked_scene(plates, difficulty, f"Is there {with_article(colour)} plate, yes or no?", answer, sought=sought)


def draw_plate_relation(rng: Generator, difficulty: float) -> Scene:
    """Does one plate lie on a side of another? Along the axis on which their centres lie farther apart."""
    plates = marked_plates(rng, difficulty)
    first, second = plates[:2]
    across, down = (abs(one - other) for one, other in zip(_centre(first), _centre(second)))
    axis = 0 if across >= down else 1
    side = pick(rng, tuple(name for name, (along, _) in SIDES.items() if along == axis))
    difference = _centre(first)[axis] - _centre(second)[axis]
    answer = "yes" if difference * SIDES[side][1] > 0 else "no"
    question = f"Is the {first.colour} plate {side} the {second.colour} plate, yes or no?"
    return marked_scene(plates, difficulty, question, answer, sought=[first, second])


def draw_plate_count(rng: Generator, difficulty: float) -> Scene:
    """How many plates are there? Each one is a target."""
    plates = marked_plates(rng, difficulty)
    kind: AnswerKind = "integer"
    return marked_scene(plates, difficulty, "How many plates are there?", str(len(plates)), sought=plates, kind=kind)


def _centre(plate: MarkedPlate) -> tuple[float, float]:
    return plate.box.center.x, plate.box.center.y
