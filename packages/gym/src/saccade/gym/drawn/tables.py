"""Tables: a number, a row or a sum to be found, in cells that hold printed numbers or dots.

Difficulty of ``table_lookup``: rows 2 at 0, 4 at 0.5, 8 at 1; columns of numbers 1, 2 and 4; text 20, 15 and 11 px
high.

Difficulty of ``table_sums``: rows 2 at 0, 4 at 0.5, 6 at 1; text 20, 15 and 12 px high. Reading makes them easy.

Difficulty of ``dot_table``: rows and columns 2 at 0, 3 at 0.5, 4 at 1. A cell holds 1 to 9 dots.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from saccade.geometry import Box, Point, enclosing_box
from saccade.gym.code_experts import COLUMN, PRODUCT, ROW, coded_scene
from saccade.tasks.drawing import COLOURS, COLUMNS, INK, ITEMS, Canvas
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    call,
    crop_turn,
    look_box,
    pick,
    pick_several,
    rectangle_target,
    whole_knob,
)
from saccade.types import ExpertTurn, Target

WIDEST_CROP_PX = 160
"""A name and a number further apart than this are cropped one after the other."""

LEFT_PX, WIDTH_PX = 16, 224
MOST_DOTS = 9
"""Dots in a cell: one in each place of a 3 x 3 grid."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of an item and its numbers; numbers differ inside a column. Boxes are those of the text."""

    items: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[tuple[int, ...], ...]
    item_boxes: tuple[Box, ...]
    number_boxes: tuple[tuple[Box, ...], ...]

    def column(self, index: int) -> list[int]:
        return [row[index] for row in self.numbers]


def draw_table_lookup(rng: Generator, difficulty: float) -> Scene:
    """A ruled table of goods with whole numbers from 1 to 99."""
    rows, columns = whole_knob(difficulty, 2, 4, 8), whole_knob(difficulty, 1, 2, 4)
    canvas = Canvas()
    table = draw_table(rng, canvas, rows, columns, whole_knob(difficulty, 20, 15, 11))
    asked = _ASKS[int(rng.integers(len(_ASKS)))](rng, table)
    return Scene(images=(canvas.image,), asked=asked)


def draw_table(rng: Generator, canvas: Canvas, rows: int, columns: int, text_px: int) -> Table:
    items, names = pick_several(rng, ITEMS, rows), pick_several(rng, COLUMNS, columns)
    by_column = [rng.permutation(99)[:rows] + 1 for _ in range(columns)]
    numbers = tuple(tuple(int(column[row]) for column in by_column) for row in range(rows))
    cell_width = min(72, (SIZE_PX - 16) // (columns + 1))
    cell_height = text_px + 14
    left = int(rng.integers(6, SIZE_PX - 6 - cell_width * (columns + 1)))
    top = int(rng.integers(6, SIZE_PX - 6 - cell_height * (rows + 1)))
    _rule(canvas, Box(left, top, left + cell_width * (columns + 1), top + cell_height * (rows + 1)), cell_height)

    def write(words: str, row: int, column: int) -> Box:
        middle = Point(left + (column + 0.5) * cell_width, top + (row + 0.5) * cell_height)
        return canvas.text(words, middle, text_px)

    for column, name in enumerate(("item", *names)):
        write(name, 0, column)
    return Table(
        items=items,
        columns=names,
        numbers=numbers,
        item_boxes=tuple(write(item, row + 1, 0) for row, item in enumerate(items)),
        number_boxes=tuple(
            tuple(write(str(number), row + 1, column + 1) for column, number in enumerate(line))
            for row, line in enumerate(numbers)
        ),
    )


def _rule(canvas: Canvas, around: Box, cell_height: int) -> None:
    """Lines above and below each row, a heavier one below the heading."""
    for row, y in enumerate(range(int(around.y1), int(around.y2) + 1, cell_height)):
        canvas.rectangle(Box(around.x1, y, around.x2, y + (2 if row == 1 else 1)), INK)


def _ask(table: Table, row: int, column: int, question: str, *, is_number_asked: bool) -> SceneQuestion:
    """A question on one cell, whose answer is its number or the item of its row."""
    item, number = table.items[row], str(table.numbers[row][column])
    item_box, number_box = table.item_boxes[row], table.number_boxes[row][column]
    both = look_box(enclosing_box([item_box, number_box]))
    read_both = (
        crop_turn(look_box(item_box), "name"),
        crop_turn(look_box(number_box), "number"),
    )
    return SceneQuestion(
        question=question,
        answer=number if is_number_asked else item,
        answer_kind="integer" if is_number_asked else "exact",
        targets=(rectangle_target(item, item_box), rectangle_target(number, number_box)),
        looks=(crop_turn(both, item if is_number_asked else number),) if both.width <= WIDEST_CROP_PX else read_both,
        conclusion=f"{item} {number}",
    )


def _ask_number(rng: Generator, table: Table) -> SceneQuestion:
    row, column = int(rng.integers(len(table.items))), int(rng.integers(len(table.columns)))
    template = pick(rng, ("What is the {} of {}?", "Which {} does {} have?"))
    question = (
        f"Which number is in column {table.columns[column]} of row {table.items[row]}?"
        if rng.integers(2)
        else template.format(table.columns[column], table.items[row])
    )
    return _ask(table, row, column, question, is_number_asked=True)


def _ask_item(rng: Generator, table: Table) -> SceneQuestion:
    row, column = int(rng.integers(len(table.items))), int(rng.integers(len(table.columns)))
    question = f"Which item has {table.numbers[row][column]} in column {table.columns[column]}?"
    return _ask(table, row, column, question, is_number_asked=False)


def _ask_extreme(rng: Generator, table: Table) -> SceneQuestion:
    column = int(rng.integers(len(table.columns)))
    word = pick(rng, ("largest", "smallest"))
    numbers = table.column(column)
    row = numbers.index(max(numbers) if word == "largest" else min(numbers))
    question = f"Which item has the {word} number in column {table.columns[column]}?"
    return _ask(table, row, column, question, is_number_asked=False)


_ASKS: tuple[Callable[[Generator, Table], SceneQuestion], ...] = (_ask_number, _ask_item, _ask_extreme)


def draw_table_sums(rng: Generator, difficulty: float) -> Scene:
    """A ruled table with two columns of whole numbers from 1 to 99."""
    canvas = Canvas()
    table = draw_table(rng, canvas, whole_knob(difficulty, 2, 4, 6), 2, whole_knob(difficulty, 20, 15, 12))
    row = int(rng.integers(len(table.items)))
    asked = _sum(table, row) if rng.integers(2) else _number(table, row, int(rng.integers(2)))
    return Scene(images=(canvas.image,), asked=asked)


def _number(table: Table, row: int, column: int) -> SceneQuestion:
    item, name, number = table.items[row], table.columns[column], table.numbers[row][column]
    return SceneQuestion(
        question=f"What is the {name} of {item}?",
        answer=str(number),
        answer_kind="integer",
        targets=(rectangle_target(str(number), table.number_boxes[row][column]),),
        looks=(_read(f"{name} {item}"),),
        conclusion=f"{item} {number}",
    )


def _sum(table: Table, row: int) -> SceneQuestion:
    """The sum stays below 200."""
    item, (one, other) = table.items[row], table.numbers[row]
    return SceneQuestion(
        question=f"What do {table.columns[0]} and {table.columns[1]} of {item} add up to?",
        answer=str(one + other),
        answer_kind="integer",
        targets=tuple(rectangle_target(str(number), box) for number, box in zip((one, other), table.number_boxes[row])),
        looks=(
            _read(f"sum {item}"),
            call(f"{item} {one} {other}", "algebra", task="evaluate", equations=f"{one}+{other}"),
        ),
        conclusion="sum",
    )


def _read(thought: str) -> ExpertTurn:
    return call(thought, "read_text", layout="rows")


def draw_dot_table(rng: Generator, difficulty: float) -> Scene:
    """A square table of black lines with blue dots in its cells; rows count from the top, columns from the left."""
    side = whole_knob(difficulty, 2, 3, 4)
    cell_px = WIDTH_PX // side
    dots = rng.integers(1, MOST_DOTS + 1, size=(side, side))
    canvas = Canvas()
    start, end = LEFT_PX, LEFT_PX + cell_px * side
    for line in range(side + 1):
        at = LEFT_PX + line * cell_px
        canvas.rectangle(Box(start, at, end + 1, at + 1), INK)
        canvas.rectangle(Box(at, start, at + 1, end + 1), INK)
    for (row, column), count in np.ndenumerate(dots):
        place_px = cell_px / 3
        for place in rng.permutation(MOST_DOTS)[: int(count)]:
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
    targets = [_dots_cell(row, column, cell_px) for row, column in cells]
    return coded_scene(canvas, method.asked(number=str(number + 1)), answer, targets)


def _dots_cell(row: int, column: int, cell_px: int) -> Target:
    x, y = LEFT_PX + column * cell_px, LEFT_PX + row * cell_px
    return rectangle_target(f"row {row + 1} column {column + 1}", Box(x, y, x + cell_px, y + cell_px))
