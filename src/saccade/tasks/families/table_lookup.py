"""Tables: the number in a cell, the row that holds a number, the row with the largest or smallest number.

Difficulty: rows 2 at 0, 4 at 0.5, 8 at 1; columns of numbers 1, 2 and 4; text 20, 15 and 11 px high.
"""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point, enclosing_box
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import INK
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    crop_turn,
    look_box,
    pick,
    pick_several,
    rectangle_target,
    whole_knob,
)
from saccade.tasks.words import COLUMNS, ITEMS

WIDEST_CROP_PX = 160
"""A name and a number further apart than this are cropped one after the other."""


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
