"""The lesson in looking: where named things, lines and words are, and what is where."""

import pytest

from saccade.geometry import Point
from saccade.seeding import generator_for
from saccade.tasks.drawing import SHAPES
from saccade.tasks.families.finding import MOST_ASKED, draw_finding
from saccade.tasks.palette import COLOUR_NAMES
from saccade.tasks.scene import _COLUMNS, _ROWS, Scene, place_of

DIFFICULTIES = (0.0, 0.5, 1.0)
PLACE_WORDS = {*_ROWS, *_COLUMNS}


def drawn(verb: str, difficulty: float, count: int = 40) -> list[Scene]:
    scenes = [draw_finding(generator_for(5, "finding", index), difficulty) for index in range(6 * count)]
    return [scene for scene in scenes if scene.asked.question.startswith(verb)][:count]


def cues(scene: Scene) -> list[str]:
    listed = scene.asked.question.split(": ", 1)[1].split(". Where")[0].split(". What")[0]
    return listed.split(", ")


def near(point: Point, reach: int = 12) -> set[str]:
    """Places of a point and of those around it: a triangle's box is not centred on the triangle's centre."""
    steps = (-reach, 0, reach)
    return {place_of(Point(point.x + dx, point.y + dy)) for dx in steps for dy in steps}


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_expert_says_where_each_thing_is_and_answers_with_the_last(difficulty: float) -> None:
    for scene in drawn("Find", difficulty):
        said, (target,) = scene.asked.turns[-1].thought, scene.asked.targets
        names = cues(scene)
        assert len(set(names)) == len(names) <= MOST_ASKED
        rest = said.split()
        for name in names:
            words = name.split()
            assert rest[: len(words)] == words
            row, column = rest[len(words) : len(words) + 2]
            assert row in _ROWS
            assert column in _COLUMNS
            rest = rest[len(words) + 2 :]
        assert not rest
        assert target.box is not None
        assert scene.asked.answer == f"{row} {column}"
        assert scene.asked.answer in near(target.box.center)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_places_that_are_asked_about_hold_one_thing_each_and_the_expert_names_it(difficulty: float) -> None:
    for scene in drawn("Look", difficulty):
        places, said, (target,) = cues(scene), scene.asked.turns[-1].thought, scene.asked.targets
        assert len(set(places)) == len(places) <= MOST_ASKED
        assert all(place in said for place in places)
        assert said.endswith(f"{places[-1]} {target.label}")
        assert scene.asked.answer == target.label
        assert target.box is not None
        assert places[-1] in near(target.box.center)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_lines_are_traced_from_their_left_end_to_their_right_end(difficulty: float) -> None:
    for scene in drawn("Trace", difficulty):
        columns = [word for word in scene.asked.turns[-1].thought.split() if word in _COLUMNS]
        assert len(columns) == 2 * len(cues(scene))
        assert all(_COLUMNS.index(left) <= _COLUMNS.index(right) for left, right in zip(columns[::2], columns[1::2]))
        assert set(cues(scene)) <= set(COLOUR_NAMES)


def test_easy_pictures_hold_less_than_hard_ones() -> None:
    counts = [sum(len(cues(scene)) for scene in drawn("Find", difficulty)) for difficulty in DIFFICULTIES]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_things_words_and_lines_all_come_up() -> None:
    labels = {target.label.split()[-1] for scene in drawn("", 0.5, 60) for target in scene.asked.targets}
    assert labels & set(SHAPES)
    assert labels & set(COLOUR_NAMES)
    assert any(label[0].isdigit() for label in labels)
