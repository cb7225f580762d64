"""Coded plates: three digits in fine print in a row, which make a number.

Axes: ``clutter`` (how many plates), ``margin`` (how much the numbers are alike: at 1 they share their first digit).
"""

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.fine import CANVAS_PX
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

WIDTH_PX, HEIGHT_PX = 104, 40
ACROSS, DOWN = 4, 8


def draw_codes(rng: Generator, levels: Levels) -> SceneState:
    """Plates of different colours with different numbers from 100 to 999."""
    count = int(rng.integers(2, levels.whole("clutter", 3, 5, 8) + 1))
    low = 100 * int(rng.integers(1, 10)) if levels["margin"] > 0.6 else 100
    high = low + 99 if levels["margin"] > 0.6 else 999
    codes = rng.permutation(high - low + 1)[:count] + low
    cells = rng.permutation(ACROSS * DOWN)[:count]
    elements = []
    for index, (colour, code, cell) in enumerate(zip(shuffled(rng, COLOUR_NAMES), codes, cells)):
        row, column = divmod(int(cell), ACROSS)
        x, y = (8 * int(shift) for shift in rng.integers(0, 3, size=2))
        left, top = column * CANVAS_PX // ACROSS + x, row * CANVAS_PX // DOWN + y
        numbers = {"value": float(code), "low": 100.0, "high": 999.0, "minor": 1.0, "major": 100.0}
        elements.append(
            Element(
                id=f"coded{index}",
                kind="coded",
                name=f"{colour} plate",
                attributes={"colour": colour, "number": str(int(code))},
                numbers=numbers,
                center=Point(left + WIDTH_PX / 2, top + HEIGHT_PX / 2),
            )
        )
    return SceneState(elements=tuple(elements), width=CANVAS_PX, height=CANVAS_PX)


CODES = Grammar(name="coded plates", draw=draw_codes, axes=("clutter", "margin"))
