"""Programs on tables of digits: cells, sums of lines, the largest."""

from collections import Counter
from collections.abc import Callable, Sequence

from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, count_of
from saccade.gym.programs.choosing import chosen
from saccade.gym.programs.holes import board_of, seen_cells
from saccade.gym.state import Element, SceneState


def line_of(state: SceneState, axis: str, number: int) -> list[Element]:
    """The cells of a row or a column, by its number from 0, that show something."""
    return [one for one in seen_cells(state) if one.numbers[axis] == number]


def digits_of(cells: list[Element]) -> list[int]:
    """What cells show."""
    return [int(one.get("digit")) for one in cells]


def _of_line(
    name: str, what: str, axis: str, value: Callable[[list[int]], int], answers: Sequence[int] = ()
) -> Program:
    """A program on a line's digits; ``answers`` are asked for equally often where they are named."""

    def solve(state: SceneState, words: Words) -> str:
        return str(value(digits_of(line_of(state, axis, int(words["number"]) - 1))))

    @program(
        "What is the {what} of the digits in {axis} {number}?",
        "Read the digits in {axis} {number}, from the top left. What is their {what}?",
        name=name,
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        board = board_of(asking.state)
        number = int(asking.rng.integers(board.rows if axis == "row" else board.columns))
        cells = line_of(board, axis, number)
        if answers and value(digits_of(cells)) != asking.wanted(answers):
            return None
        words = {"number": str(number + 1), "what": what, "axis": axis}
        said = " ".join(one.get("digit") for one in cells)
        return count_of(value(digits_of(cells)), words, cells, said, wrong=[sum(digits_of(cells)), digits_of(cells)[0]])

    return ask


def _solve_cell(state: SceneState, words: Words) -> str:
    return board_of(state).cell(int(words["row"]) - 1, int(words["column"]) - 1).get("digit")


@program(
    "Which digit is in row {row}, column {column}?",
    "Go to row {row} and column {column}: which digit is there?",
    solve=_solve_cell,
)
def _cell(asking: Asking) -> ProgramQuestion:
    one = chosen(asking.rng, seen_cells(asking.state))
    row, column = int(one.numbers["row"]) + 1, int(one.numbers["column"]) + 1
    words = {"row": str(row), "column": str(column)}
    return count_of(int(one.get("digit")), words, [one], one.get("digit"))


def _solve_best_row(state: SceneState, words: Words) -> str:
    rows = range(board_of(state).rows)
    return str(max(rows, key=lambda row: sum(digits_of(line_of(state, "row", row)))) + 1)


@program(
    "Which row, counted from the top, has the largest sum?",
    "Add up each row. The number of which row, from the top, has the largest sum?",
    solve=_solve_best_row,
    spread=6,
)
def _best_row(asking: Asking) -> ProgramQuestion | None:
    board = board_of(asking.state)
    sums = [sum(digits_of(line_of(board, "row", row))) for row in range(board.rows)]
    best = max(sums)
    if sums.count(best) > 1:
        return None
    return count_of(sums.index(best) + 1, {}, seen_cells(board), " ".join(map(str, sums)))


@program(
    "How often does the digit {digit} occur in the table?",
    "In how many cells is the digit {digit}?",
    solve=lambda state, words: str(digits_of(list(seen_cells(state))).count(int(words["digit"]))),
)
def _how_often(asking: Asking) -> ProgramQuestion | None:
    cells = seen_cells(asking.state)
    counts = Counter(one.get("digit") for one in cells)
    digits = [digit for digit, count in counts.items() if count == asking.wanted((1, 2, 3))]
    if not digits:
        return None
    digit = chosen(asking.rng, digits)
    meant = [one for one in cells if one.get("digit") == digit]
    return count_of(len(meant), {"digit": digit}, [*meant, *(one for one in cells if one not in meant)])


TABLE_PROGRAMS = (
    _cell,
    _of_line("row_sum", "sum", "row", sum),
    _of_line("column_sum", "sum", "column", sum),
    _of_line("row_largest", "largest", "row", max, range(4, 10)),
    _of_line("column_smallest", "smallest", "column", min, range(6)),
    _best_row,
    _how_often,
)
