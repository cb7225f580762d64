"""Sliding puzzles: numbered tiles on a board with one gap, in any order.

Axis: ``clutter`` (how many tiles the board has). How many moves are to be followed is a program's axis.
"""

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.fine import CANVAS_PX
from saccade.gym.grammars.boards import SIDE_PX, CellBoardState, board_cell, board_state
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled

AXES = ("clutter",)
BOARDS = ((2, 3), (2, 4), (3, 3), (3, 4), (4, 4))
"""Rows and columns at the levels 0, 0.25, 0.5, 0.75 and 1."""
FINE_BOARDS = ((2, 3), (2, 4), (3, 3), (3, 3), (2, 5))
"""The same for fine print, in which a tile bears one digit."""


def draw_sliding(rng: Generator, levels: Levels) -> CellBoardState:
    """Five to fifteen tiles with numbers from 1, and a gap."""
    return _sliding(rng, BOARDS[round(4 * levels["clutter"])], SIDE_PX)


def draw_fine_sliding(rng: Generator, levels: Levels) -> CellBoardState:
    """Five to nine tiles with digits in fine print, and a gap."""
    return _sliding(rng, FINE_BOARDS[round(4 * levels["clutter"])], CANVAS_PX)


def _sliding(rng: Generator, shape: tuple[int, int], side_px: int) -> CellBoardState:
    rows, columns = shape
    order = shuffled(rng, range(rows * columns))
    cells = [
        board_cell(*divmod(place, columns), digit=str(number))
        if number
        else board_cell(*divmod(place, columns), kind="empty")
        for place, number in enumerate(order)
    ]
    return board_state(cells, rows, columns, side_px)


SLIDING = Grammar(name="sliding tiles", draw=draw_sliding, axes=AXES)
FINE_SLIDING = Grammar(name="sliding tiles in fine print", draw=draw_fine_sliding, axes=AXES)
