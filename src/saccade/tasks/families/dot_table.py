"""Tables whose cells hold dots instead of digits: the sum of a row or of a column, a product of two cells.

Difficulty: rows and columns 2 at 0, 3 at 0.5, 4 at 1. A cell holds 1 to 9 dots.
"""

import numpy as np
from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.code_experts import one_run
from saccade.tasks.code_methods import COLUMN, PRODUCT, ROW
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import COLOURS, INK
from saccade.tasks.scene import Scene, SceneQuestion, pick, rectangle_target, whole_knob
from saccade.types import Target

LEFT_PX, WIDTH_PX = 16, 224
MOST = 9
"""Dots in a cell: one in each place of a 3 x 3 grid."""


def draw_dot_table(rng: Generator, difficulty: float) -> Scene:
    """A square table of black lines with blue dots in its cells; rows count from the top, columns from the left."""
    side = whole_knob(difficulty, 2, 3, 4)
    cell_px = WIDTH_PX // side
    dots = rng.integers(1, MOST + 1, size=(side, side))
    canvas = Canvas()
    start, end = LEFT_PX, LEFT_PX + cell_px * side
    for line in range(side + 1):
        at = LEFT_PX + line * cell_px
        canvas.rectangle(Box(start, at, end + 1, at + 1), INK)
        canvas.rectangle(Box(at, start, at + 1, end + 1), INK)
    for (row, column), count in np.ndenumerate(dots):
        place_px = cell_px / 3
        for place in rng.permutation(MOST)[: int(count)]:
            down, across = divmod(int(place), 3)
            x = LEFT_PX + column * cell_px + (across + 0.5) * place_px
            center = Point(x, LEFT_PX + row * cell_px + (down + 0.5) * place_px)
            canvas.shape("circle", center, place_px * float(rng.uniform(0.22, 0.34)), COLOURS["blue"])
    number = int(rng.integers(side))
    kind = pick(rng, ("row", "column", "product"))
    if kind == "row":
        method, answer, cells = ROW, dots[number].sum(), [(number, column) for column in range(side)]
    elif kind == "column":
        method, answer, cells = COLUMN, dots[:, number].sum(), [(row, number) for row in range(side)]
    else:
        method, answer, cells = PRODUCT, dots[number, 0] * dots[number, -1], [(number, 0), (number, side - 1)]
    question = method.asked(number=str(number + 1))
    asked = SceneQuestion(
        question=question,
        answer=str(answer),
        answer_kind="integer",
        targets=tuple(_cell(row, column, cell_px) for row, column in cells),
        looks=one_run(question),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)


def _cell(row: int, column: int, cell_px: int) -> Target:
    x, y = LEFT_PX + column * cell_px, LEFT_PX + row * cell_px
    return rectangle_target(f"row {row + 1} column {column + 1}", Box(x, y, x + cell_px, y + cell_px))
