"""Experts of drawn questions that point at what they speak of, with or without habits that rewards should break."""

from typing import Literal

from numpy.random import Generator

from saccade.types import Answer, Example, ExpertTurn, SceneObject

PointingHabit = Literal["careful", "bare", "elsewhere", "contradiction", "misstatement"]
"""How an expert reasons: with a point on each thing; right but without points; right but with points on other things;
with points, but another answer than its reasoning's; with points and the right answer after a reasoning for another."""


def pointed(
    example: Example,
    *,
    grid_px: float = 1.0,
    habit: PointingHabit = "careful",
    chance: Generator | None = None,
    answers: tuple[str, ...] = (),
) -> Example:
    """The question answered by an expert that says each thing's place, points at it, and says what it sees.

    It speaks of the question's targets, or of all things where there are none. Points are whole pixels nearest to a
    grid, so that a beginner needs few coordinate words. ``chance`` picks the other things of ``elsewhere`` and the
    other one of ``answers`` of a ``contradiction``, or that a ``misstatement`` says of its things where they bear what
    is answered. ValueError where a habit lacks its chance or another choice.
    """
    task = example.task
    sought = {target.box for target in task.targets}
    named = [one for one in task.objects if one.box in sought] if sought else list(task.objects)
    by_box = {one.box: one for one in named}
    named = [by_box[target.box] for target in task.targets] if sought else named
    contradicts = habit in ("contradiction", "misstatement")
    other = _other_answer(task.answer, answers, chance) if contradicts else task.answer
    said = iter(other.split(" and "))
    parts = []
    for one in named:
        seen = one if habit != "elsewhere" else _another(one, task.objects, chance)
        mark = "" if habit == "bare" else f" {point_at(seen, one.name, grid_px)}"
        values = _values(one, task.answer)
        values = [next(said)] if values and habit == "misstatement" else values
        parts.append(f"{one.name} {one.attributes['place']}{mark} {' '.join(values)}".rstrip())
    answer = other if habit == "contradiction" else task.answer
    turn = ExpertTurn(thought=" ".join(parts), action=Answer(text=answer))
    return Example(task=task, turns=(turn,))


def point_at(one: SceneObject, label: str, grid_px: float) -> str:
    """A point near the thing's centre, on the grid."""
    x, y = (round(side / grid_px) * grid_px for side in (one.box.center.x, one.box.center.y))
    return f'<point x="{x:g}" y="{y:g}">{label}</point>'


def _values(one: SceneObject, answer: str) -> list[str]:
    """What is said of a thing beside its place: its mark, where the answer is about marks."""
    return [value for kind, value in one.attributes.items() if kind != "place" and value in answer.split()]


def _another(one: SceneObject, objects: tuple[SceneObject, ...], chance: Generator | None) -> SceneObject:
    others = [other for other in objects if other is not one]
    if chance is None or not others:
        raise ValueError("to point elsewhere needs chance and another thing in the picture")
    return others[int(chance.integers(len(others)))]


def _other_answer(answer: str, answers: tuple[str, ...], chance: Generator | None) -> str:
    others = [other for other in answers if other != answer]
    if chance is None or not others:
        raise ValueError("to contradict oneself needs chance and another answer")
    return others[int(chance.integers(len(others)))]
