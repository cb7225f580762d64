"""Experts of drawn questions that reason in one turn, with boxes or in plain words; careful or not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from numpy.random import Generator

from saccade.geometry import Box
from saccade.tasks.scene import SIZE_PX, place_of
from saccade.types import Answer, Example, ExpertTurn, SceneObject

Care = Literal["careful", "loose", "astray", "elsewhere", "partial"]
"""How well an expert looks: as well as can be; vaguely, with a box twice as large, or no word on where a thing is;
beside the thing, with a box and a place that are off while the rest is right; at some other thing, which it takes for
the one that is asked for; as well as can be, with half of the words on where it is left out."""

WHERE = ("place", "across", "down")
"""Kinds of attributes that say where a thing is; what is asked for is of another kind."""

LOOSE = 2.0
"""How many times longer and wider a loose box is than what it should hold: its IoU is 1/4."""

ASTRAY = 0.8
"""How far a box astray lies off at most, across and down, in sides of what it should hold: any IoU from 0.02 to 1."""


def grounded(
    example: Example, *, grid_px: float = 1.0, care: Care = "careful", chance: Generator | None = None
) -> Example:
    """The same question answered by an expert that writes each object's box after its name and its place.

    The place comes first because a small model finds numbers by words. Boxes are in pixels, rounded to a grid, so that
    a beginner needs few coordinate words. ``chance`` picks what an expert that looks ``elsewhere`` or ``astray`` sees.
    """
    grown = LOOSE if care == "loose" else 1.0

    def describe(one: SceneObject) -> str:
        place = [] if care == "loose" else [one.attributes[kind] for kind in WHERE[:1] if kind in one.attributes]
        return " ".join(
            [*place, f"<box>[{_box_numbers(one.box, grown, grid_px)}]</box>", *_attribute_words(one, care != "loose")]
        )

    return _with_reasoning(example, describe, care, chance)


def textual(example: Example, *, care: Care = "careful", chance: Generator | None = None) -> Example:
    """The same question answered by an expert that says in words where each object is."""

    def describe(one: SceneObject) -> str:
        return " ".join(_attribute_words(one) if care == "loose" else one.attributes.values())

    return _with_reasoning(example, describe, care, chance)


def sought_objects(example: Example) -> list[SceneObject]:
    """The objects that the question is about, in the order of the task's targets; ``ValueError`` for others."""
    by_box = {one.box: one for one in example.task.objects}
    boxes = [target.box for target in example.task.targets]
    if not boxes or not by_box.keys() >= set(boxes):
        raise ValueError(f"task {example.task.id} does not name what its question is about")
    return [by_box[box] for box in boxes]


def in_words(objects: Sequence[SceneObject]) -> str:
    """Each object's name with all that is true of it: ``red upper left white``."""
    return " ".join(" ".join([one.name, *one.attributes.values()]) for one in objects)


def _attribute_words(one: SceneObject, lies: bool = False) -> list[str]:
    """What is asked for and, where it ``lies`` in relation to others, that; its place is said apart."""
    kinds = WHERE[:1] if lies else WHERE
    return [value for kind, value in one.attributes.items() if kind not in kinds]


def _box_numbers(box: Box, grown: float, grid_px: float) -> str:
    across, down = (grown - 1) * box.width / 2, (grown - 1) * box.height / 2
    sides = (box.x1 - across, box.y1 - down, box.x2 + across, box.y2 + down)
    return ",".join(f"{max(0.0, round(side / grid_px) * grid_px):g}" for side in sides)


def _with_reasoning(
    example: Example, describe: Callable[[SceneObject], str], care: Care, chance: Generator | None
) -> Example:
    """The example with one turn; an expert that takes one object for another says what is true of that other."""
    named = sought_objects(example)
    looked_at = [_looked_at(one, example.task.objects, care, chance) for one in named]
    thought = " ".join(f"{name.name} {describe(seen)}" for name, seen in zip(named, looked_at, strict=True))
    # What is asked for is always what is seen of each object, in the order of their names.
    answer = " and ".join(word for seen in looked_at for word in _attribute_words(seen))
    return replace(example, turns=(ExpertTurn(thought=thought, action=Answer(text=answer)),))


def _looked_at(one: SceneObject, objects: Sequence[SceneObject], care: Care, chance: Generator | None) -> SceneObject:
    """The object as an expert sees it, or the one that it sees instead."""
    if care not in ("astray", "elsewhere", "partial"):
        return one
    if chance is None:
        raise ValueError(f"to look {care} needs chance to pick what is seen")
    if care == "partial":
        said = {kind for kind in one.attributes if kind not in WHERE or chance.random() < 0.5}
        return replace(one, attributes={kind: value for kind, value in one.attributes.items() if kind in said})
    return _beside(one, chance) if care == "astray" else _another(one, objects, chance)


def _another(one: SceneObject, objects: Sequence[SceneObject], chance: Generator) -> SceneObject:
    others = [other for other in objects if other is not one]
    if not others:
        raise ValueError("to look elsewhere needs another object in the scene")
    return others[int(chance.integers(len(others)))]


def _beside(one: SceneObject, chance: Generator) -> SceneObject:
    """The object where it is not: its box moved, but not out of the picture, and the place of that box."""
    across, down = (float(part) * ASTRAY for part in chance.uniform(-1, 1, size=2))
    left = min(max(0.0, one.box.x1 + across * one.box.width), SIZE_PX - one.box.width)
    top = min(max(0.0, one.box.y1 + down * one.box.height), SIZE_PX - one.box.height)
    box = Box(left, top, left + one.box.width, top + one.box.height)
    return replace(one, box=box, attributes={**one.attributes, "place": place_of(box.center)})
