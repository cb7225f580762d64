"""Looks of solids: rays cast by numpy, on grey tiles or on a coloured floor."""

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.gym.grammars.solids import SolidsState
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.looks.bodies import Body
from saccade.gym.looks.lighting import Floor
from saccade.gym.looks.raycast import GREY, cast_rays
from saccade.gym.rendering import Renderer, Rendering, SeenRegion, regions_of
from saccade.gym.state import Element, SceneState, as_state

GLOSS = 0.9
LEAST_PX = 12
"""A solid of which less is seen has no region."""

WOOD: Floor = ((196, 164, 124), (184, 150, 110))
SLATE: Floor = ((92, 100, 112), (82, 90, 102))


def body_of(element: Element) -> Body:
    """The body of an element of the kind "solid"."""
    numbers = element.numbers
    return Body(
        kind=element.attributes["shape"],
        x=numbers["x"],
        y=numbers["y"],
        z=numbers["z"],
        half=numbers["half"],
        yaw=numbers["yaw"],
        rgb=PALETTE[element.attributes["colour"]],
        gloss=GLOSS if element.attributes["finish"] == "shiny" else 0.0,
    )


def render_tiles(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On grey tiles."""
    return _render_on(as_state(state, SolidsState), GREY)


def render_floors(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On wood or on slate."""
    return _render_on(as_state(state, SolidsState), WOOD if rng.integers(2) else SLATE)


def _render_on(state: SolidsState, floor: Floor) -> Rendering:
    solids = state.of_kind("solid")
    bodies = [body_of(element) for element in solids]
    images: list[Image.Image] = []
    regions: list[SeenRegion] = []
    depths = []
    for index, viewpoint in enumerate(state.viewpoints):
        shot = cast_rays(bodies, viewpoint, state.width, floor)
        images.append(Image.fromarray(shot.pixels))
        depths.append(shot.depth)
        counts = np.bincount(shot.ids.ravel(), minlength=len(solids) + 1)
        found = regions_of(shot.ids, [element.id for element in solids], index)
        seen = {element.id: int(count) for element, count in zip(solids, counts[1:])}
        regions += [one for one in found if seen[one.element] >= LEAST_PX]
    return Rendering(images=tuple(images), regions=tuple(regions), depths=tuple(depths))


TILES = Renderer(name="tiles", render=render_tiles)
FLOORS = Renderer(name="floors", render=render_floors)
