"""Things of graded sizes: each of the same ratio larger than the last, so that any two can be told apart.

Axes: ``clutter`` (how many), ``margin`` (how little the sizes differ), ``likeness`` (how few colours and shapes).
"""

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.things import largest_radius, spread, thing
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import SceneState
from saccade.tasks.drawing import COLOUR_NAMES

SHAPES = ("circle", "square", "diamond")
"""Shapes whose areas differ by less than those of neighbours in the order of sizes: larger is larger by any measure."""
SIDE_PX = 256
LEAST_PX = 8.0


def draw_graded(rng: Generator, levels: Levels) -> SceneState:
    """Things whose radii grow by 1.8, 1.5 and 1.3 from each to the next, as far as there is room."""
    count = levels.whole("clutter", 3, 5, 7)
    ratio = levels.knob("margin", 1.8, 1.5, 1.3)
    largest = largest_radius(count, SIDE_PX)
    ratio = min(ratio, (largest / LEAST_PX) ** (1 / (count - 1)))
    colours = shuffled(rng, COLOUR_NAMES)[: levels.whole("likeness", 8, 6, 4)]
    shapes = shuffled(rng, SHAPES)[: levels.whole("likeness", 3, 3, 2)]
    ranks = rng.permutation(count)
    elements = [
        thing(
            index,
            colours[int(rng.integers(len(colours)))],
            shapes[int(rng.integers(len(shapes)))],
            center,
            float(largest / ratio ** int(rank)),
        )
        for index, (center, rank) in enumerate(zip(spread(rng, count, largest, SIDE_PX), ranks))
    ]
    return SceneState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX)


GRADED = Grammar(name="graded things", draw=draw_graded, axes=("clutter", "margin", "likeness"))
