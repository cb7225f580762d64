"""Plates asked about beyond their marks, and experts that point at what they speak of."""

from collections import Counter

import pytest

from saccade.gym.drawn import NAMED_FAMILIES, POINTED_FAMILIES
from saccade.gym.pointing import PointingHabit, pointed
from saccade.media.store import MediaStore
from saccade.protocols.points import find_points, without_points
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tasks.procedural import generate
from saccade.types import Answer, Example, Task

MEDIA = MediaStore()
GRID_PX = 12.8
every_family = pytest.mark.parametrize("family", [*NAMED_FAMILIES, *POINTED_FAMILIES])


def drawn(family: str, index: int, difficulty: float = 0.5) -> Example:
    return generate(family, split="train", index=index, seed=5, media=MEDIA, difficulty=difficulty)


def colours(task: Task) -> dict[str, tuple[float, float]]:
    return {one.name: (one.box.center.x, one.box.center.y) for one in task.objects}


def by_hand(task: Task) -> str:
    """The answer worked out of the objects and the words of the question."""
    words, centres = task.question.rstrip("?").replace(",", "").split(), colours(task)
    if words[:2] == ["How", "many"]:
        return str(len(centres))
    if words[:2] == ["Is", "there"]:
        return "yes" if words[3] in centres else "no"
    (x, y), (other_x, other_y) = centres[words[2]], centres[words[-5]]
    sides = {"left": x < other_x, "right": x > other_x, "above": y < other_y, "below": y > other_y}
    return "yes" if sides[words[4]] else "no"


@pytest.mark.parametrize("family", POINTED_FAMILIES)
@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_answers_follow_from_the_picture(family: str, difficulty: float) -> None:
    tasks = [drawn(family, index, difficulty).task for index in range(60)]
    assert [task.answer for task in tasks] == [by_hand(task) for task in tasks]
    if family != "plate_count":
        assert 15 <= Counter(task.answer for task in tasks)["yes"] <= 45


@every_family
@pytest.mark.parametrize("habit", ["careful", "bare", "elsewhere", "contradiction"])
def test_experts_point_as_their_habit_says(family: str, habit: PointingHabit) -> None:
    for index in range(12):
        example = drawn(family, index)
        task, chance = example.task, generator_for(1, "habit", index)
        shown = pointed(example, grid_px=GRID_PX, habit=habit, chance=chance, answers=("white", "no", "yes", "9"))
        [turn] = shown.turns
        assert isinstance(turn.action, Answer)
        assert answer_is_right(task, turn.action.text) == (habit != "contradiction")
        points = find_points(turn.thought)
        assert points.is_well_formed
        boxes = {one.name: one.box for one in task.objects}
        hits = [one.point is not None and boxes[one.label].contains(one.point) for one in points]
        wanted = len(task.targets) or len(task.objects)
        assert hits == ([] if habit == "bare" else [habit != "elsewhere"] * wanted)
        names = without_points(turn.thought).split()
        assert {target.label.split()[0] for target in task.targets} <= set(names)


def test_a_habit_needs_its_chance() -> None:
    example = drawn("plate_mark", 0)
    with pytest.raises(ValueError, match="another thing"):
        pointed(example, habit="elsewhere")
    with pytest.raises(ValueError, match="another answer"):
        pointed(example, habit="contradiction", chance=generator_for(1))
