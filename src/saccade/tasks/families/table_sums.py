"""Tables of goods with printed numbers: one number, or the sum of the two numbers of a row. Reading makes them easy.

Difficulty: rows 2 at 0, 4 at 0.5, 6 at 1; text 20, 15 and 12 px high.
"""

from numpy.random import Generator

from saccade.tasks.drawing import Canvas
from saccade.tasks.families.table_lookup import Table, draw_table
from saccade.tasks.scene import Scene, SceneQuestion, call, rectangle_target, whole_knob
from saccade.types import ExpertTurn


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
