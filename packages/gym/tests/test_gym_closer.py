"""Families that need a closer look: a view of 64 pixels is the same whatever the fine print says, answers are not."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from saccade.gym.extras import missing_modules
from saccade.gym.family import GymFamily
from saccade.gym.fine import ARROWS, CANVAS_PX, DIGITS, LETTERS, TEXTURES, fine_block, tile
from saccade.gym.levels import Levels
from saccade.gym.registry import gym_families
from saccade.gym.state import Element, SceneState
from saccade.seeding import generator_for

MARKS = {"texture": TEXTURES, "letter": LETTERS, "digit": DIGITS, "arrow": ARROWS}
VIEW_PX = 64
SAME = 10
"""Keys below give every element the same mark, others each one a mark of its own."""
FINE = [
    family
    for family in gym_families().values()
    if family.needs_closer and family.name.startswith("fine_") and not any(map(missing_modules, family.renderers))
]
every_fine_family = pytest.mark.parametrize("family", FINE, ids=lambda family: family.name)


def _other_marks(state: SceneState, key: int) -> SceneState:
    """The state with other fine print."""
    rng = generator_for(key, "other marks")

    def other(one: Element) -> Element:
        found = {kind: values for kind, values in MARKS.items() if kind in one.attributes}
        marks = {
            kind: values[key % len(values)] if key < SAME else str(rng.choice(values)) for kind, values in found.items()
        }
        attributes = {**one.attributes, **marks}
        if "number" not in attributes:
            return replace(one, attributes=attributes)
        number = int(rng.integers(100, 1000))
        return replace(
            one, attributes={**attributes, "number": str(number)}, numbers={**one.numbers, "value": float(number)}
        )

    return replace(state, elements=tuple(other(one) for one in state.elements))


def _views(family: GymFamily, state: SceneState, renderer: int, resample: Image.Resampling) -> list[Image.Image]:
    images = family.renderers[renderer].render(state, generator_for(1, "render"), Levels()).images
    assert all(image.size == (CANVAS_PX, CANVAS_PX) for image in images)
    return [image.resize((VIEW_PX, VIEW_PX), resample) for image in images]


@every_fine_family
def test_a_view_is_the_same_whatever_the_fine_print_says(family: GymFamily) -> None:
    for index in range(len(family.renderers)):
        state = family.grammar.draw(generator_for(2, family.name), Levels(base=0.6))
        for key in (0, SAME):
            other = _other_marks(state, key)
            pairs = zip(*(_views(family, one, index, Image.Resampling.BOX) for one in (state, other)))
            assert all(one.tobytes() == two.tobytes() for one, two in pairs)
            shown = zip(*(_views(family, one, index, Image.Resampling.BICUBIC) for one in (state, other)))
            for one, two in shown:
                gap = np.abs(np.asarray(one, dtype=np.int16) - np.asarray(two, dtype=np.int16))
                assert gap.max() <= 12


@every_fine_family
def test_the_answer_depends_on_the_fine_print(family: GymFamily) -> None:
    for program in family.programs:
        sample = family.sample(generator_for(4, family.name, program.name), Levels(), program=program)
        assert program.solve is not None
        answers = set()
        for key in range(SAME + 4):
            try:
                answers.add(program.solve(_other_marks(sample.state, key), sample.asked.words))
            except (ValueError, KeyError, IndexError, StopIteration, AssertionError):
                answers.add("no longer a question")
        assert answers - {sample.asked.answer}, f"{family.name}/{program.name} is answered without the fine print"


def test_twenty_five_families_need_a_closer_look() -> None:
    assert sum(family.needs_closer for family in gym_families().values()) >= 25


@pytest.mark.parametrize("symbol", [*TEXTURES, *LETTERS, *DIGITS, *ARROWS])
def test_every_tile_has_the_mean_of_a_plain_one_and_its_own_ink(symbol: str) -> None:
    for base in (118, 128, 138):
        assert fine_block(symbol, 1, 1, base).mean() == base
    every = [tile(other).tobytes() for other in (*TEXTURES, *LETTERS, *DIGITS, *ARROWS)]
    assert every.count(tile(symbol).tobytes()) == 1
