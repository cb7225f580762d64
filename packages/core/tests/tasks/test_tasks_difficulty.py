"""Difficulty changes what each family's module says it changes."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from saccade.gym.drawn import FAMILIES
from saccade.seeding import generator_for
from saccade.tasks.drawing import COLOURS, INK
from saccade.tasks.scene import Scene


def colours_in(scene: Scene) -> int:
    """How many of the named colours the first picture shows."""
    pixels = np.asarray(scene.images[0]).reshape(-1, 3)
    return sum(bool((pixels == np.array(colour)).all(axis=1).any()) for colour in COLOURS.values())


def counted(scene: Scene) -> int:
    return int(scene.asked.answer)


def coloured_area(scene: Scene) -> float:
    """Negative area of the first target: smaller ones are harder."""
    return -scene.asked.targets[0].box.area


def text_smallness(scene: Scene) -> float:
    return -max(target.box.height for target in scene.asked.targets)


def ruled_rows(scene: Scene) -> int:
    """Rows of a table, from the lines that cross its middle column of pixels."""
    pixels = np.asarray(scene.images[0])
    is_ink = (pixels == np.array(INK)).all(axis=2)
    return int((is_ink.sum(axis=1) > 80).sum())


def frames(scene: Scene) -> int:
    return len(scene.images)


def fineness(scene: Scene) -> int:
    """How fine the steps between possible answers are, from the question."""
    return -int(re.findall(r"multiple of (\d+)", scene.asked.question)[0])


@pytest.mark.parametrize(
    ("family", "hardness"),
    [
        ("visual_search", colours_in),
        ("attributes", coloured_area),
        ("counting", counted),
        ("spatial_relation", colours_in),
        ("chart_bars", colours_in),
        ("chart_lines", colours_in),
        ("chart_pie", colours_in),
        ("table_lookup", ruled_rows),
        ("table_lookup", text_smallness),
        ("document_text", text_smallness),
        ("geometry_angle", fineness),
        ("geometry_length", fineness),
        ("geometry_length", colours_in),
        ("map_regions", colours_in),
        ("video_event", frames),
        ("video_event", coloured_area),
    ],
)
def test_higher_difficulty_is_harder_by_what_the_module_says(family: str, hardness: Callable[[Scene], float]) -> None:
    means = []
    for difficulty in (0.0, 0.5, 1.0):
        scenes = [FAMILIES[family](generator_for(4, "difficulty", index), difficulty) for index in range(12)]
        means.append(math.fsum(hardness(scene) for scene in scenes) / len(scenes))
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_difficulty_between_can_be_drawn(family: str) -> None:
    for step in range(11):
        scene = FAMILIES[family](generator_for(5, "difficulty", step), step / 10)
        assert scene.asked.targets
        assert np.asarray(scene.images[0]).std() > 0
