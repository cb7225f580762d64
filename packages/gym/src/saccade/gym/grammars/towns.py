"""Towns: landmarks at the crossings of a grid of streets, and a walker.

Axes: ``clutter`` (how many streets and landmarks), ``steps`` (how long ways are).
"""

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

SIDE_PX = 256


def draw_town(rng: Generator, levels: Levels) -> SceneState:
    """Landmarks with names of their own at crossings, each at another; one crossing has the walker."""
    size = levels.whole("clutter", 4, 5, 6)
    count = levels.whole("clutter", 6, 10, 16)
    names = shuffled(rng, [(colour, shape) for colour in COLOUR_NAMES for shape in SHAPES])[:count]
    crossings = shuffled(rng, [(row, column) for row in range(size) for column in range(size)])
    pitch = SIDE_PX / size
    elements = []
    for index, (row, column) in enumerate(crossings[: count + 1]):
        is_walker = index == count
        colour, shape = ("", "") if is_walker else names[index]
        elements.append(
            Element(
                id="walker" if is_walker else f"landmark{index}",
                kind="walker" if is_walker else "landmark",
                name="walker" if is_walker else f"{colour} {shape}",
                attributes={} if is_walker else {"colour": colour, "shape": shape},
                numbers={"row": float(row), "column": float(column), "radius": pitch * 0.27, "size": float(size)},
                center=Point((column + 0.5) * pitch, (row + 0.5) * pitch),
            )
        )
    return SceneState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX)


TOWN = Grammar(name="towns", draw=draw_town, axes=("clutter", "steps"))
