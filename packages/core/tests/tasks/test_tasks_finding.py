"""The lessons in looking: where named things, lines and words are, and which word is where."""

import pytest

from saccade.geometry import Point
from saccade.gym.drawn import LESSON_FAMILIES
from saccade.seeding import generator_for
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES
from saccade.tasks.scene import PLACE_NAMES, Scene, place_of

DIFFICULTIES = (0.0, 0.5, 1.0)
THINGS = {"finding_colours": set(COLOUR_NAMES), "finding_shapes": set(SHAPES)}


def drawn(family: str, difficulty: float, count: int = 30) -> list[Scene]:
    return [LESSON_FAMILIES[family](generator_for(5, family, index), difficulty) for index in range(count)]


def cues(scene: Scene) -> list[str]:
    listed = scene.asked.question.split(": ", 1)[1]
    return listed.split(". W")[0].split(", ")


def findings(scene: Scene) -> list[str]:
    """What the expert says after each cue."""
    rest, found = scene.asked.turns[-1].thought, []
    for cue, following in zip(cues(scene), [*cues(scene)[1:], ""]):
        assert rest.startswith(f"{cue} ")
        rest = rest[len(cue) + 1 :]
        end = rest.index(f" {following} ") if following else len(rest)
        found.append(rest[:end])
        rest = rest[end + 1 :]
    return found


def near(point: Point, reach: int = 12) -> set[str]:
    """Places of a point and of those around it: a triangle's box is not centred on the triangle's centre."""
    steps = (-reach, 0, reach)
    return {place_of(Point(point.x + dx, point.y + dy)) for dx in steps for dy in steps}


@pytest.mark.parametrize(("difficulty", "counts"), [(0.0, (2, 2)), (0.5, (4, 4)), (1.0, (7, 6))])
@pytest.mark.parametrize("family", THINGS)
def test_every_thing_is_asked_for_by_a_cue_of_its_own_and_found_where_it_is(
    family: str, difficulty: float, counts: tuple[int, int]
) -> None:
    for scene in drawn(family, difficulty):
        named, places = cues(scene), findings(scene)
        assert len(named) == len(set(named)) == counts[family == "finding_shapes"]
        assert set(named) <= THINGS[family]
        assert set(places) <= set(PLACE_NAMES)
        (target,) = scene.asked.targets
        assert target.label == named[-1]
        assert target.box is not None
        assert scene.asked.answer == places[-1]
        assert places[-1] in near(target.box.center)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_words_are_found_by_their_places_and_places_by_their_words(difficulty: float) -> None:
    scenes = drawn("finding_words", difficulty, 60)
    for scene in scenes:
        found = dict(zip(cues(scene), findings(scene), strict=True))
        place, word = list(found.items())[-1]
        if scene.asked.question.startswith("Find"):
            place, word = word, place
        (target,) = scene.asked.targets
        assert target.label == word
        assert target.box is not None
        assert place in near(target.box.center)
        assert scene.asked.answer == list(found.values())[-1]
    assert {scene.asked.question[:4] for scene in scenes} == {"Find", "Read"}


@pytest.mark.parametrize(("difficulty", "count"), [(0.0, 1), (0.5, 2), (1.0, 4)])
def test_lines_are_traced_from_their_left_end_to_their_right_end(difficulty: float, count: int) -> None:
    columns = ("leftmost", "left", "right", "rightmost")
    for scene in drawn("finding_lines", difficulty):
        assert len(cues(scene)) == len(set(cues(scene))) == count
        assert set(cues(scene)) <= set(COLOUR_NAMES)
        for ends in findings(scene):
            first, last = ends.split()[1::2]
            assert columns.index(first) <= columns.index(last)
