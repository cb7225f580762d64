"""Experts of drawn questions who reason in one turn: with boxes, or in plain words."""

from collections.abc import Sequence
from dataclasses import replace

from saccade.geometry import Box
from saccade.types import Answer, Example, ExpertTurn, SceneObject


def grounded(example: Example, *, grid_px: float = 1.0) -> Example:
    """The same question answered by an expert who writes each object's box after its name.

    Boxes are in pixels, rounded to a grid, so that a beginner needs few coordinate words.
    """
    named = sought_objects(example)
    return _reasoned(example, " ".join(_with_box(one, grid_px) for one in named))


def textual(example: Example) -> Example:
    """The same question answered by an expert who says in words where each object is."""
    return _reasoned(example, in_words(sought_objects(example)))


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


def _with_box(one: SceneObject, grid_px: float) -> str:
    sides = [round(side / grid_px) * grid_px for side in one.box.as_tuple()]
    shown = ",".join(f"{side:g}" for side in Box(*sides).as_tuple())
    seen = [value for kind, value in one.attributes.items() if kind != "place"]
    return " ".join([one.name, f"<box>[{shown}]</box>", *seen])


def _reasoned(example: Example, thought: str) -> Example:
    return replace(example, turns=(ExpertTurn(thought=thought, action=Answer(text=example.task.answer)),))
