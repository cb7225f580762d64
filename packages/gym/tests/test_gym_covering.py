"""What a picture hides, and what its regions hold."""

from dataclasses import replace

import numpy as np

from saccade.geometry import Point
from saccade.gym.covering import COVER
from saccade.gym.levels import Levels
from saccade.gym.looks.sheets import Sheet
from saccade.gym.registry import gym_families
from saccade.gym.sample import GymSample
from saccade.seeding import generator_for


def striped(sample: GymSample) -> bool:
    pixels = [np.asarray(image.convert("RGB")) for image in sample.scene.images]
    return all(any(int((one == colour).all(-1).sum()) > 20 for one in pixels) for colour in COVER)


def test_stripes_are_seen_in_pictures_that_answer_their_question_as_well() -> None:
    family, seen = gym_families()["shape_counts"], {True: 0, False: 0}
    program = family.program("count_by_both")
    for index in range(12):
        rng = generator_for(2, "stripes", index)
        sample = family.sample(rng, Levels(), program=program, unanswerable=0.5)
        if sample.scene.asked.targets:
            seen[sample.is_answerable] += 1
            assert striped(sample)
    assert min(seen.values()) > 0
    assert not striped(family.sample(generator_for(2), Levels(), program=program))


def test_letters_with_a_halo_are_no_part_of_other_elements() -> None:
    sheet = Sheet(300, 60)
    for place in range(40):
        sheet.circle(f"spot{place}", 5 + 7 * place, 5, 2, fill="#000000")
    sheet.text("town", "Penrith", 150, 40, 24, fill="#000000", halo="#ffffff", halo_width=3)
    boxes = {region.element: region.box for region in sheet.rendering().regions}
    assert all(box.y2 <= 8 for element, box in boxes.items() if element != "town")
    assert boxes["town"].y1 > 20


def test_the_outline_of_a_cross_is_as_wide_along_its_arms_as_at_their_ends() -> None:
    family = gym_families()["shape_counts"]
    look = family.renderer("paper")
    state = family.grammar.draw(generator_for(1), Levels(base=0.0))
    cross = next(one for one in state.elements if one.center is not None)
    cross = replace(
        cross, attributes={**cross.attributes, "shape": "cross", "colour": "yellow"}, center=Point(128, 128)
    )
    shown = look.render(replace(state, elements=(cross,)), generator_for(1), Levels()).images[0]
    is_ink = np.asarray(shown.convert("RGB")).max(axis=-1) < 70
    at_end = is_ink[:, 128].sum() / 2
    along = is_ink[128 - round(0.6 * cross.numbers["radius"])].sum() / 2
    assert abs(int(at_end) - int(along)) <= 1
