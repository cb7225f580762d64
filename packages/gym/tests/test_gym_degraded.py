"""Worn looks: regions move with what they name, and bytes are a function of the generator."""

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from saccade.geometry import Point
from saccade.gym import Element, Levels, Painter, Renderer, Rendering, SceneState
from saccade.gym.looks.degraded import WEAR, degraded

STATE = SceneState(elements=(Element(id="spot", kind="thing", name="spot", center=Point(60, 200)),))


def _spot(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    painter = Painter(256, 256, (240, 240, 240))
    painter.disc("spot", Point(60, 200), 12, (10, 10, 10))
    return Rendering(images=(painter.image,), regions=painter.regions())


PLAIN = Renderer(name="plain", render=_spot)


@pytest.mark.parametrize("name", WEAR)
@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_region_lies_on_its_element_after_the_wear(name: str, level: float) -> None:
    look = degraded(PLAIN, name, WEAR[name])
    rendering = look.render(STATE, default_rng(4), Levels(base=level))
    (region,) = rendering.of("spot")
    image = rendering.images[0]
    mask = region.mask(*image.size).to_array()
    grey = np.asarray(image.convert("L"), dtype=np.float64)
    inside, around = grey[mask].mean(), grey[100:160, 100:160].mean()
    assert inside < 0.5 * around
    dark = grey[165:240, 30:100] < 0.35 * around
    assert mask[165:240, 30:100][dark].mean() > 0.9
    assert look.name == f"plain_{name}"
    assert look.axes == ("wear",)


@pytest.mark.parametrize("name", WEAR)
def test_the_same_generator_wears_a_picture_the_same_way(name: str) -> None:
    look = degraded(PLAIN, name, WEAR[name])
    first, second = (look.render(STATE, default_rng(7), Levels()).images[0].tobytes() for _ in range(2))
    assert first == second
    assert first != PLAIN.render(STATE, default_rng(7), Levels()).images[0].tobytes()
