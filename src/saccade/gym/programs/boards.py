"""Programs on boards without a hole: mosaics, tables of digits, walks by arrows, sliding tiles."""

from collections.abc import Callable

from saccade.gym.fine import ARROWS, MEANINGS
from saccade.gym.grammars.boards import BoardState
from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.programs.holes import board_of, seen_cells
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

SIDES = ("top", "right", "bottom", "left")
MOST_STEPS = 60


# Mosaics


def _broken(state: SceneState) -> list[tuple[Element, Element]]:
    """Cells on the left whose mirror image on the right has another colour."""
    board = board_of(state)
    pairs = [
        (board.cell(row, column), board.cell(row, board.columns - 1 - column))
        for row in range(board.rows)
        for column in range(board.columns // 2)
    ]
    return [(one, other) for one, other in pairs if one.get("colour") != other.get("colour")]


def _ask_symmetric(asking: Asking) -> ProgramQuestion | None:
    broken = _broken(asking.state)
    if (not broken) != asking.is_wanted:
        return None
    return yes_or_no(not broken, {}, [one for pair in broken for one in pair] or asking.state.elements)


def _ask_breaks(asking: Asking) -> ProgramQuestion:
    broken = _broken(asking.state)
    return count_of(len(broken), {}, [one for pair in broken for one in pair] or asking.state.elements)


def _ask_broken_row(asking: Asking) -> ProgramQuestion | None:
    broken = _broken(asking.state)
    if len(broken) != 1:
        return None
    row = int(broken[0][0].numbers["row"]) + 1
    return count_of(row, {}, broken[0], "there", wrong=[board_of(asking.state).rows + 1 - row])


def _ask_commonest(asking: Asking) -> ProgramQuestion | None:
    counts = {name: _count(asking.state, name) for name in COLOUR_NAMES}
    ranked = sorted(COLOUR_NAMES, key=lambda name: -counts[name])
    if counts[ranked[0]] < counts[ranked[1]] + 2:
        return None
    meant = [one for one in seen_cells(asking.state) if one.get("colour") == ranked[0]]
    return choice_of(ranked[0], COLOUR_NAMES, {}, meant, ranked[0], wrong=ranked[1:3])


def _count(state: SceneState, colour: str) -> int:
    return sum(one.get("colour") == colour for one in seen_cells(state))


MOSAIC_PROGRAMS = (
    Program(
        name="is_symmetric",
        wordings=(
            "Is the left half of the mosaic the mirror image of the right half?",
            "Is the mosaic symmetric about its upright middle line?",
        ),
        ask=_ask_symmetric,
        solve=lambda state, words: whether(not _broken(state)),
    ),
    Program(
        name="count_breaks",
        wordings=(
            "How many cells must be painted anew to make left and right mirror images of each other?",
            "At how many places of the left half does the mirror image on the right have another colour?",
        ),
        ask=_ask_breaks,
        solve=lambda state, words: str(len(_broken(state))),
    ),
    Program(
        name="broken_row",
        wordings=(
            "In one row alone left and right are no mirror images. Which row is it, counted from the top?",
            "Counting rows from the top, which one breaks the symmetry of left and right?",
        ),
        ask=_ask_broken_row,
        solve=lambda state, words: str(int(_broken(state)[0][0].numbers["row"]) + 1),
    ),
    Program(
        name="commonest_colour",
        wordings=("Which colour do most cells have?", "Which colour covers the largest part of the mosaic?"),
        ask=_ask_commonest,
        solve=lambda state, words: max(COLOUR_NAMES, key=lambda name: _count(state, name)),
        experts=("glance",),
    ),
)


# Tables of digits


def _line(state: SceneState, axis: str, number: int) -> list[Element]:
    return [one for one in seen_cells(state) if one.numbers[axis] == number]


def _digits(cells: list[Element]) -> list[int]:
    return [int(one.get("digit")) for one in cells]


def _of_line(name: str, what: str, axis: str, value: Callable[[list[int]], int]) -> Program:
    def ask(asking: Asking) -> ProgramQuestion:
        board = board_of(asking.state)
        number = int(asking.rng.integers(board.rows if axis == "row" else board.columns))
        cells = _line(board, axis, number)
        words = {"number": str(number + 1), "what": what, "axis": axis}
        said = " ".join(one.get("digit") for one in cells)
        return count_of(value(_digits(cells)), words, cells, said, wrong=[sum(_digits(cells)), _digits(cells)[0]])

    def solve(state: SceneState, words: Words) -> str:
        return str(value(_digits(_line(state, axis, int(words["number"]) - 1))))

    return Program(
        name=name,
        wordings=(
            "What is the {what} of the digits in {axis} {number}?",
            "Read the digits in {axis} {number}, from the top left. What is their {what}?",
        ),
        ask=ask,
        solve=solve,
    )


def _ask_cell(asking: Asking) -> ProgramQuestion:
    one = chosen(asking.rng, seen_cells(asking.state))
    row, column = int(one.numbers["row"]) + 1, int(one.numbers["column"]) + 1
    words = {"row": str(row), "column": str(column)}
    return count_of(int(one.get("digit")), words, [one], one.get("digit"))


def _solve_cell(state: SceneState, words: Words) -> str:
    return board_of(state).cell(int(words["row"]) - 1, int(words["column"]) - 1).get("digit")


def _ask_best_row(asking: Asking) -> ProgramQuestion | None:
    board = board_of(asking.state)
    sums = [sum(_digits(_line(board, "row", row))) for row in range(board.rows)]
    best = max(sums)
    if sums.count(best) > 1:
        return None
    return count_of(sums.index(best) + 1, {}, seen_cells(board), " ".join(map(str, sums)))


def _solve_best_row(state: SceneState, words: Words) -> str:
    rows = range(board_of(state).rows)
    return str(max(rows, key=lambda row: sum(_digits(_line(state, "row", row)))) + 1)


def _ask_how_often(asking: Asking) -> ProgramQuestion:
    cells = seen_cells(asking.state)
    digit = chosen(asking.rng, cells).get("digit")
    meant = [one for one in cells if one.get("digit") == digit]
    return count_of(len(meant), {"digit": digit}, [*meant, *(one for one in cells if one not in meant)])


TABLE_PROGRAMS = (
    Program(
        name="cell",
        wordings=(
            "Which digit is in row {row}, column {column}?",
            "Go to row {row} and column {column}: which digit is there?",
        ),
        ask=_ask_cell,
        solve=_solve_cell,
    ),
    _of_line("row_sum", "sum", "row", sum),
    _of_line("column_sum", "sum", "column", sum),
    _of_line("row_largest", "largest", "row", max),
    _of_line("column_smallest", "smallest", "column", min),
    Program(
        name="best_row",
        wordings=(
            "Which row, counted from the top, has the largest sum?",
            "Add up each row. The number of which row, from the top, has the largest sum?",
        ),
        ask=_ask_best_row,
        solve=_solve_best_row,
    ),
    Program(
        name="how_often",
        wordings=("How often does the digit {digit} occur in the table?", "In how many cells is the digit {digit}?"),
        ask=_ask_how_often,
        solve=lambda state, words: str(_digits(list(seen_cells(state))).count(int(words["digit"]))),
    ),
)


# Walks by arrows


def _path(board: BoardState, start: Element) -> tuple[list[Element], str]:
    """The cells of a walk, and the side at which it leaves the board; "" where it goes in circles."""
    path, one = [start], start
    for _ in range(MOST_STEPS):
        across, down = MEANINGS[one.get("arrow")]
        row, column = int(one.numbers["row"]) + down, int(one.numbers["column"]) + across
        if not (0 <= row < board.rows and 0 <= column < board.columns):
            return path, SIDES[ARROWS.index(one.get("arrow"))]
        one = board.cell(row, column)
        if one in path:
            return path, ""
        path.append(one)
    return path, ""


def _start(asking: Asking) -> tuple[Element, list[Element], str]:
    start = chosen(asking.rng, seen_cells(asking.state))
    return (start, *_path(board_of(asking.state), start))


def _from(state: SceneState, words: Words) -> tuple[list[Element], str]:
    board = board_of(state)
    return _path(board, board.cell(int(words["row"]) - 1, int(words["column"]) - 1))


def _where(start: Element) -> dict[str, str]:
    return {"row": str(int(start.numbers["row"]) + 1), "column": str(int(start.numbers["column"]) + 1)}


def _ask_exit(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if side != asking.wanted(SIDES) or len(path) < 2:
        return None
    return choice_of(side, SIDES, _where(start), path, " ".join(one.get("arrow") for one in path))


def _ask_length(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if not side:
        return None
    return count_of(len(path), _where(start), path, " ".join(one.get("arrow") for one in path))


def _ask_last(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if not side or len(path) < 2:
        return None
    said = " ".join(one.get("arrow") for one in path)
    wrong = [one.get("colour") for one in path]
    return choice_of(path[-1].get("colour"), COLOUR_NAMES, _where(start), path, said, wrong=wrong)


def _ask_after(asking: Asking) -> ProgramQuestion | None:
    start, path, _ = _start(asking)
    if len(path) < 3:
        return None
    steps = int(asking.rng.integers(2, len(path)))
    words = {**_where(start), "steps": str(steps)}
    said = " ".join(one.get("arrow") for one in path[:steps])
    wrong = [path[steps - 1].get("colour")]
    return choice_of(path[steps].get("colour"), COLOUR_NAMES, words, path[: steps + 1], said, wrong=wrong)


def _ask_circles(asking: Asking) -> ProgramQuestion | None:
    start, path, side = _start(asking)
    if (side == "") != asking.is_wanted or len(path) < 2:
        return None
    return yes_or_no(side == "", _where(start), path, " ".join(one.get("arrow") for one in path))


_GO = "Start in row {row}, column {column} and go from cell to cell as the arrows point."
_FOLLOW = "Follow the arrows from the cell in row {row}, column {column}."
WALK_PROGRAMS = (
    Program(
        name="exit",
        wordings=(
            f"{_GO} At which side do you leave the board?",
            f"{_FOLLOW} Which side of the board do they lead out of?",
        ),
        ask=_ask_exit,
        solve=lambda state, words: _from(state, words)[1],
    ),
    Program(
        name="length",
        wordings=(
            f"{_GO} How many cells do you visit, the first among them, before you leave the board?",
            f"{_FOLLOW} How many cells, with the first, are on the way out?",
        ),
        ask=_ask_length,
        solve=lambda state, words: str(len(_from(state, words)[0])),
    ),
    Program(
        name="last_colour",
        wordings=(
            f"{_GO} What colour is the frame of the last cell before you leave the board?",
            f"{_FOLLOW} Which colour has the last frame before they lead off the board?",
        ),
        ask=_ask_last,
        solve=lambda state, words: _from(state, words)[0][-1].get("colour"),
    ),
    Program(
        name="after_steps",
        wordings=(
            f"{_GO} What colour is the frame of the cell that you are in after {{steps}} steps?",
            f"{_FOLLOW} Which colour has the frame that you come to with step {{steps}}?",
        ),
        ask=_ask_after,
        solve=lambda state, words: _from(state, words)[0][int(words["steps"])].get("colour"),
    ),
    Program(
        name="goes_in_circles",
        wordings=(
            f"{_GO} Do you come back to a cell where you were before?",
            f"{_FOLLOW} Do they lead to a cell for the second time?",
        ),
        ask=_ask_circles,
        solve=lambda state, words: whether(_from(state, words)[1] == ""),
    ),
)


# Sliding tiles


def _gap(state: SceneState) -> Element:
    return state.of_kind("empty")[0]


def _movable(state: SceneState) -> list[Element]:
    gap = _gap(state)
    return [
        one
        for one in seen_cells(state)
        if abs(one.numbers["row"] - gap.numbers["row"]) + abs(one.numbers["column"] - gap.numbers["column"]) == 1
    ]


def _ask_neighbour(asking: Asking) -> ProgramQuestion | None:
    gap, board = _gap(asking.state), board_of(asking.state)
    side = chosen(asking.rng, tuple(_BESIDE))
    down, across = _BESIDE[side]
    row, column = int(gap.numbers["row"]) + down, int(gap.numbers["column"]) + across
    if not (0 <= row < 3 and 0 <= column < 3):
        return None
    one = board.cell(row, column)
    wrong = [int(other.get("digit")) for other in _movable(board)]
    return count_of(int(one.get("digit")), {"side": side}, [gap, one], one.get("digit"), wrong=wrong)


def _solve_neighbour(state: SceneState, words: Words) -> str:
    gap = _gap(state)
    down, across = _BESIDE[words["side"]]
    return board_of(state).cell(int(gap.numbers["row"]) + down, int(gap.numbers["column"]) + across).get("digit")


_BESIDE = {"above": (-1, 0), "below": (1, 0), "to the right of": (0, 1), "to the left of": (0, -1)}


def _ask_movable_sum(asking: Asking) -> ProgramQuestion:
    tiles = _movable(asking.state)
    digits = _digits(tiles)
    return count_of(sum(digits), {}, [_gap(asking.state), *tiles], " ".join(map(str, digits)), wrong=[len(digits)])


def _ask_can_move(asking: Asking) -> ProgramQuestion | None:
    one = chosen(asking.rng, seen_cells(asking.state))
    can = one in _movable(asking.state)
    if can != asking.is_wanted:
        return None
    return yes_or_no(can, {"digit": one.get("digit")}, [one, _gap(asking.state)])


def _home(one: Element) -> bool:
    return int(one.get("digit")) == 3 * one.numbers["row"] + one.numbers["column"] + 1


def _ask_home(asking: Asking) -> ProgramQuestion:
    meant = [one for one in seen_cells(asking.state) if _home(one)]
    return count_of(len(meant), {}, seen_cells(asking.state), wrong=[8 - len(meant)])


def _ask_order(asking: Asking) -> ProgramQuestion | None:
    row = int(asking.rng.integers(3))
    cells = _line(asking.state, "row", row)
    if len(cells) < 3:
        return None
    number = "".join(one.get("digit") for one in cells)
    wrong = [int(number[::-1]), int("".join(shuffled(asking.rng, list(number))))]
    return count_of(int(number), {"row": str(row + 1)}, cells, number, wrong=wrong)


SLIDING_PROGRAMS = (
    Program(
        name="beside_gap",
        wordings=(
            "Which digit is on the tile directly {side} the gap?",
            "Look at the tile directly {side} the gap. What is its digit?",
        ),
        ask=_ask_neighbour,
        solve=_solve_neighbour,
    ),
    Program(
        name="sum_of_movable",
        wordings=(
            "What is the sum of the digits on the tiles that can slide into the gap?",
            "Add up the digits of all tiles that share a side with the gap.",
        ),
        ask=_ask_movable_sum,
        solve=lambda state, words: str(sum(_digits(_movable(state)))),
    ),
    Program(
        name="can_move",
        wordings=(
            "Can the tile with the digit {digit} slide into the gap?",
            "Does the tile with the digit {digit} share a side with the gap?",
        ),
        ask=_ask_can_move,
        solve=lambda state, words: whether(words["digit"] in [one.get("digit") for one in _movable(state)]),
    ),
    Program(
        name="count_at_home",
        wordings=(
            "Read row by row, how many tiles are where they belong, if the order is 1 to 8 and the gap comes last?",
            "In the solved puzzle the tiles read 1 to 8 row by row, then the gap. How many are in their place now?",
        ),
        ask=_ask_home,
        solve=lambda state, words: str(sum(_home(one) for one in seen_cells(state))),
    ),
    Program(
        name="row_number",
        wordings=(
            "Which number do the three digits in row {row} make, from left to right?",
            "Read row {row} from left to right as one number. What is it?",
        ),
        ask=_ask_order,
        solve=lambda state, words: "".join(one.get("digit") for one in _line(state, "row", int(words["row"]) - 1)),
    ),
)
