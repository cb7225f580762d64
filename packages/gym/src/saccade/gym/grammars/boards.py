"""Boards: cells in rows and columns that hold things, symbols or nothing; one may be a hole that a question is about.

Axes: ``clutter`` (how large the board is), ``rule`` (how hard its rule is).
"""

from dataclasses import dataclass, replace
from itertools import combinations

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.fine import ARROWS, CANVAS_PX, DIGITS, LETTERS
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

AXES = ("clutter", "rule")
SIDE_PX = 256
FINE_PX = 64
"""The side of the squares that crops of fine print are made of."""
HOLE = "hole"
"""The kind of a cell whose content is asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellBoardState(SceneState):
    """A board; its cells are elements with ``numbers["row"]`` and ``["column"]``, from 0."""

    rows: int = 0
    columns: int = 0
    hidden: tuple[tuple[str, str], ...] = ()
    """The attributes of what the hole hides."""

    def cell(self, row: int, column: int) -> Element:
        """The cell of a row and a column; KeyError off the board."""
        for one in self.elements:
            if (one.numbers["row"], one.numbers["column"]) == (row, column):
                return one
        raise KeyError((row, column))


def board_cell(row: int, column: int, kind: str = "cell", **attributes: str) -> Element:
    """A cell; its name says where it is."""
    return Element(
        id=f"cell{row}_{column}",
        kind=kind,
        name=f"row {row + 1} column {column + 1}",
        attributes=attributes,
        numbers={"row": float(row), "column": float(column)},
    )


def board_state(cells: list[Element], rows: int, columns: int, side_px: int = SIDE_PX) -> CellBoardState:
    """The board of these cells, on a square canvas. Fine print lies in the middle of squares that a crop shows."""
    grid = FINE_PX if side_px == CANVAS_PX else 8
    pitch = side_px // max(rows, columns) // grid * grid
    left, top = ((side_px - pitch * count) // (2 * grid) * grid for count in (columns, rows))
    middle = FINE_PX / 2 if side_px == CANVAS_PX else pitch / 2
    placed = tuple(
        replace(
            one,
            numbers={**one.numbers, "pitch": float(pitch)},
            center=Point(left + one.numbers["column"] * pitch + middle, top + one.numbers["row"] * pitch + middle),
        )
        for one in cells
    )
    return CellBoardState(elements=placed, width=side_px, height=side_px, rows=rows, columns=columns)


def with_hole(state: CellBoardState, row: int, column: int) -> CellBoardState:
    """The board with one cell made a hole."""
    one = state.cell(row, column)
    hole = replace(one, kind=HOLE, attributes={}, name="hole")
    elements = tuple(hole if other is one else other for other in state.elements)
    return replace(state, elements=elements, hidden=tuple(sorted(one.attributes.items())))


def draw_sequence(rng: Generator, levels: Levels) -> CellBoardState:
    """Two rows of things that repeat: their colours with one period, their shapes with the same or another."""
    periods = [int(rng.integers(2, levels.whole("rule", 3, 3, 4) + 1)) for _ in range(2)]
    if levels["rule"] < 0.7:
        periods[1] = periods[0]
    colours = shuffled(rng, COLOUR_NAMES)[: periods[0]]
    shapes = shuffled(rng, SHAPES)[: periods[1]]
    columns = levels.whole("clutter", 4, 5, 6)
    while 2 * columns < 2 * max(periods) + 1:
        columns += 1
    cells = [
        board_cell(*divmod(i, columns), colour=colours[i % periods[0]], shape=shapes[i % periods[1]])
        for i in range(2 * columns)
    ]
    state = board_state(cells, 2, columns)
    hole = 2 * columns - 1 if rng.integers(2) else int(rng.integers(2 * columns))
    return with_hole(state, *divmod(hole, columns))


def draw_letter_sequence(rng: Generator, levels: Levels) -> CellBoardState:
    """Letters in fine print that repeat, in three rows."""
    period = int(rng.integers(2, levels.whole("rule", 3, 4, 5) + 1))
    letters = shuffled(rng, LETTERS)[:period]
    columns = levels.whole("clutter", 4, 5, 6)
    cells = [board_cell(*divmod(i, columns), letter=letters[i % period]) for i in range(3 * columns)]
    state = board_state(cells, 3, columns, CANVAS_PX)
    hole = 3 * columns - 1 if rng.integers(2) else int(rng.integers(2 * period, 3 * columns))
    return with_hole(state, *divmod(hole, columns))


def _lines(rng: Generator, options: tuple[str, ...], rule: str) -> list[list[str]]:
    """A square of three by three values: one for each row, for each column, or each in every row and column."""
    three = shuffled(rng, options)[:3]
    steps = {"row": (1, 0), "column": (0, 1), "latin": (1, 1), "slant": (1, 2)}[rule]
    return [[three[(steps[0] * row + steps[1] * column) % 3] for column in range(3)] for row in range(3)]


def draw_matrix(rng: Generator, levels: Levels) -> CellBoardState:
    """Three by three things: a rule for their colours, another for their shapes, and a hole anywhere."""
    easy, hard = ("row", "column"), ("latin", "slant")
    rules = shuffled(rng, easy) if levels["rule"] < 0.35 else [chosen(rng, hard), chosen(rng, easy)]
    if levels["rule"] > 0.75:
        rules = shuffled(rng, hard)
    rules = shuffled(rng, rules)
    colours, shapes = _lines(rng, COLOUR_NAMES, rules[0]), _lines(rng, SHAPES, rules[1])
    cells = [board_cell(r, c, colour=colours[r][c], shape=shapes[r][c]) for r in range(3) for c in range(3)]
    return with_hole(board_state(cells, 3, 3), int(rng.integers(3)), int(rng.integers(3)))


def _latin(rng: Generator, options: tuple[str, ...]) -> list[list[str]]:
    """A four by four square with each value once in every row, column and quarter."""
    base = ((0, 1, 2, 3), (2, 3, 0, 1), (1, 0, 3, 2), (3, 2, 1, 0))
    four = shuffled(rng, options)[:4]
    rows = [2 * band + line for band in shuffled(rng, (0, 1)) for line in shuffled(rng, (0, 1))]
    columns = [2 * band + line for band in shuffled(rng, (0, 1)) for line in shuffled(rng, (0, 1))]
    return [[four[base[row][column]] for column in columns] for row in rows]


def _sudoku(rng: Generator, levels: Levels, attribute: str, options: tuple[str, ...], side_px: int) -> CellBoardState:
    """A square with some cells left empty and a hole that its row, its column and its quarter determine."""
    values = _latin(rng, options)
    hole = (int(rng.integers(4)), int(rng.integers(4)))
    count = int(rng.integers(levels.whole("rule", 1, 3, 6), levels.whole("rule", 4, 7, 10) + 1))
    empty = {divmod(int(i), 4) for i in rng.permutation(16)[:count]} - {hole}
    seen = {
        values[r][c] for r in range(4) for c in range(4) if (r, c) != hole and (r, c) not in empty and meets(hole, r, c)
    }
    for r, c in sorted(empty):
        if len(seen) < 3 and meets(hole, r, c):
            empty.discard((r, c))
            seen.add(values[r][c])
    cells = [
        board_cell(r, c, kind="empty") if (r, c) in empty else board_cell(r, c, **{attribute: values[r][c]})
        for r in range(4)
        for c in range(4)
    ]
    return with_hole(board_state(cells, 4, 4, side_px), *hole)


def meets(hole: tuple[int, int], row: int, column: int) -> bool:
    """Whether a cell shares a row, a column or a quarter with the hole."""
    quarter = (hole[0] // 2, hole[1] // 2) == (row // 2, column // 2)
    return quarter or hole[0] == row or hole[1] == column


def draw_colour_sudoku(rng: Generator, levels: Levels) -> CellBoardState:
    """Four colours, each once in every row, column and quarter."""
    return _sudoku(rng, levels, "colour", COLOUR_NAMES, SIDE_PX)


def draw_digit_sudoku(rng: Generator, levels: Levels) -> CellBoardState:
    """The digits 1 to 4 in fine print, each once in every row, column and quarter."""
    return _sudoku(rng, levels, "digit", DIGITS[1:5], CANVAS_PX)


def draw_mosaic(rng: Generator, levels: Levels) -> CellBoardState:
    """Coloured squares that are symmetric about the upright middle, but for some."""
    size = 2 * levels.whole("clutter", 2, 3, 4)
    colours = shuffled(rng, COLOUR_NAMES)[: levels.whole("rule", 4, 3, 3)]
    values = [[chosen(rng, colours) for _ in range(size // 2)] for _ in range(size)]
    grid = [row + row[::-1] for row in values]
    breaks = 0 if rng.integers(3) == 0 else int(rng.integers(1, 4))
    for place in rng.permutation(size * (size // 2))[:breaks]:
        row, column = divmod(int(place), size // 2)
        grid[row][column] = chosen(rng, [name for name in colours if name != grid[row][column]])
    cells = [board_cell(r, c, colour=grid[r][c]) for r in range(size) for c in range(size)]
    return board_state(cells, size, size)


def draw_digit_table(rng: Generator, levels: Levels) -> CellBoardState:
    """Digits in fine print, in rows and columns."""
    rows, columns = levels.whole("clutter", 2, 3, 4), levels.whole("clutter", 2, 3, 5)
    cells = [board_cell(r, c, digit=chosen(rng, DIGITS)) for r in range(rows) for c in range(columns)]
    return board_state(cells, rows, columns, CANVAS_PX)


def draw_walk(rng: Generator, levels: Levels) -> CellBoardState:
    """Arrows in fine print in cells with coloured frames; one walks from cell to cell as they point."""
    size = levels.whole("clutter", 3, 4, 5)
    cells = [
        board_cell(r, c, colour=chosen(rng, COLOUR_NAMES), arrow=chosen(rng, ARROWS))
        for r in range(size)
        for c in range(size)
    ]
    return board_state(cells, size, size, CANVAS_PX)


def _empty_cells(state: SceneState) -> float:
    return float(sum(one.kind == "empty" for one in state.elements))


def _rules_across(state: SceneState) -> float:
    """How many of colour and shape change along rows and along columns."""
    cells = [(one.numbers, one.attributes) for one in state.elements if one.kind != HOLE]
    found = 0
    for attribute in ("colour", "shape"):
        pairs = [(one, other) for (one, a), (other, b) in combinations(cells, 2) if a[attribute] != b[attribute]]
        found += all(any(one[line] == other[line] for one, other in pairs) for line in ("row", "column"))
    return float(found)


SEQUENCE = Grammar(name="sequences", draw=draw_sequence, axes=AXES)
LETTER_SEQUENCE = Grammar(name="sequences of letters", draw=draw_letter_sequence, axes=AXES)
MATRIX = Grammar(name="matrices", draw=draw_matrix, axes=("rule",), hardness=_rules_across)
COLOUR_SUDOKU = Grammar(name="squares of colours", draw=draw_colour_sudoku, axes=("rule",), hardness=_empty_cells)
DIGIT_SUDOKU = Grammar(name="squares of digits", draw=draw_digit_sudoku, axes=("rule",), hardness=_empty_cells)
MOSAIC = Grammar(name="mosaics", draw=draw_mosaic, axes=AXES)
DIGIT_TABLE = Grammar(name="tables of digits", draw=draw_digit_table, axes=("clutter",))
WALK = Grammar(name="walks by arrows", draw=draw_walk, axes=("clutter",))
