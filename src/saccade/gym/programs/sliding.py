"""Programs on sliding tiles: what can move, what is in place."""

from saccade.gym.program import Asking, Program, ProgramQuestion
from saccade.gym.programs.answers import Words, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.programs.digit_tables import digits_of, line_of
from saccade.gym.programs.holes import board_of, seen_cells
from saccade.gym.state import Element, SceneState


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
    digits = digits_of(tiles)
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
    cells = line_of(asking.state, "row", row)
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
        solve=lambda state, words: str(sum(digits_of(_movable(state)))),
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
        solve=lambda state, words: "".join(one.get("digit") for one in line_of(state, "row", int(words["row"]) - 1)),
    ),
)
