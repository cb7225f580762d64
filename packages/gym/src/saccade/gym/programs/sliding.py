"""Programs on sliding tiles: what can move, what is in place, where tiles are after some moves.

Axis: ``moves`` (how many moves of the gap are to be followed).
"""

from itertools import pairwise

from saccade.gym.grammars.boards import CellBoardState
from saccade.gym.program import Asking, ProgramQuestion, program
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


def _solve_neighbour(state: SceneState, words: Words) -> str:
    gap = _gap(state)
    down, across = _BESIDE[words["side"]]
    return board_of(state).cell(int(gap.numbers["row"]) + down, int(gap.numbers["column"]) + across).get("digit")


@program(
    "Which number is on the tile directly {side} the gap?",
    "Look at the tile directly {side} the gap. What is its number?",
    solve=_solve_neighbour,
)
def _beside_gap(asking: Asking) -> ProgramQuestion | None:
    gap, board = _gap(asking.state), board_of(asking.state)
    side = chosen(asking.rng, tuple(_BESIDE))
    down, across = _BESIDE[side]
    row, column = int(gap.numbers["row"]) + down, int(gap.numbers["column"]) + across
    if not (0 <= row < board.rows and 0 <= column < board.columns):
        return None
    one = board.cell(row, column)
    wrong = [int(other.get("digit")) for other in _movable(board)]
    return count_of(int(one.get("digit")), {"side": side}, [gap, one], one.get("digit"), wrong=wrong)


_BESIDE = {"above": (-1, 0), "below": (1, 0), "to the right of": (0, 1), "to the left of": (0, -1)}


@program(
    "What is the sum of the numbers on the tiles that can slide into the gap?",
    "Add up the numbers of all tiles that share a side with the gap.",
    solve=lambda state, words: str(sum(digits_of(_movable(state)))),
)
def _sum_of_movable(asking: Asking) -> ProgramQuestion:
    tiles = _movable(asking.state)
    digits = digits_of(tiles)
    return count_of(sum(digits), {}, [_gap(asking.state), *tiles], " ".join(map(str, digits)), wrong=[len(digits)])


@program(
    "Can the tile with the number {digit} slide into the gap?",
    "Does the tile with the number {digit} share a side with the gap?",
    solve=lambda state, words: whether(words["digit"] in [one.get("digit") for one in _movable(state)]),
)
def _can_move(asking: Asking) -> ProgramQuestion | None:
    one = chosen(asking.rng, seen_cells(asking.state))
    can = one in _movable(asking.state)
    if can != asking.is_wanted:
        return None
    return yes_or_no(can, {"digit": one.get("digit")}, [one, _gap(asking.state)])


def _home(board: CellBoardState, one: Element) -> bool:
    return int(one.get("digit")) == board.columns * one.numbers["row"] + one.numbers["column"] + 1


@program(
    "How many tiles are in place, if they are to read 1 to {last} row by row and the gap comes last?",
    "Solved, the tiles read 1 to {last} row by row, then comes the gap. How many are in their place now?",
    solve=lambda state, words: str(sum(_home(board_of(state), one) for one in seen_cells(state))),
)
def _count_at_home(asking: Asking) -> ProgramQuestion | None:
    board = board_of(asking.state)
    tiles = seen_cells(board)
    meant = [one for one in tiles if _home(board, one)]
    if len(meant) != asking.wanted(range(4)):
        return None
    return count_of(len(meant), {"last": str(len(tiles))}, tiles, wrong=[len(tiles) - len(meant)])


@program(
    "Which number do the numbers in row {row} make, written one after the other from left to right?",
    "Read row {row} from left to right as one number, without spaces. What is it?",
    solve=lambda state, words: "".join(one.get("digit") for one in line_of(state, "row", int(words["row"]) - 1)),
)
def _row_number(asking: Asking) -> ProgramQuestion | None:
    board = board_of(asking.state)
    row = int(asking.rng.integers(board.rows))
    cells = line_of(board, "row", row)
    if len(cells) < board.columns:
        return None
    said = [one.get("digit") for one in cells]
    wrong = [int("".join(said[::-1])), int("".join(shuffled(asking.rng, said)))]
    return count_of(int("".join(said)), {"row": str(row + 1)}, cells, " ".join(said), wrong=wrong)


def _solve_after_moves(state: SceneState, words: Words) -> str:
    """Follows the tile that is asked for back through the moves."""
    gap = _gap(state)
    path = [(int(gap.numbers["row"]), int(gap.numbers["column"]))]
    for way in words["moves"].split(", "):
        path.append(_stepped(path[-1], way))
    place = _place_beside(path[-1], words["side"])
    for left, entered in reversed(list(pairwise(path))):
        place = entered if place == left else place
    return board_of(state).cell(*place).get("digit")


@program(
    "Move the gap {moves}: each time it changes places with a tile. Which number is then directly {side} it?",
    "The gap moves {moves}, one place each time. What number is on the tile directly {side} it afterwards?",
    solve=_solve_after_moves,
    axes=("moves",),
)
def _after_moves(asking: Asking) -> ProgramQuestion | None:
    board, gap = board_of(asking.state), _gap(asking.state)
    tiles = {(int(one.numbers["row"]), int(one.numbers["column"])): one for one in board.elements}
    place = start = (int(gap.numbers["row"]), int(gap.numbers["column"]))
    moves: list[str] = []
    met: list[Element] = []
    while len(moves) < asking.levels.whole("moves", 1, 2, 4):
        ways = [way for way in _WAYS if _stepped(place, way) in tiles and not (moves and way == _BACK[moves[-1]])]
        moves.append(chosen(asking.rng, ways))
        to = _stepped(place, moves[-1])
        met.append(tiles[to])
        tiles[place], tiles[to], place = tiles[to], gap, to
    side = chosen(asking.rng, tuple(_BESIDE))
    # The tile that moved last lies where the gap came from: nothing would have to be followed.
    if _BESIDE[side] == _WAYS[_BACK[moves[-1]]] or _place_beside(place, side) not in tiles:
        return None
    one = tiles[_place_beside(place, side)]
    unmoved = [board.cell(*_place_beside(at, side)) for at in (start, place) if _is_on(board, _place_beside(at, side))]
    wrong = [int(other.get("digit")) for other in (*unmoved, met[-1]) if other.get("digit")]
    words = {"moves": ", ".join(moves), "side": side}
    return count_of(int(one.get("digit")), words, [gap, *met, one], one.get("digit"), wrong=wrong)


_WAYS = {"up": (-1, 0), "down": (1, 0), "right": (0, 1), "left": (0, -1)}
_BACK = {"up": "down", "down": "up", "right": "left", "left": "right"}


def _stepped(place: tuple[int, int], way: str) -> tuple[int, int]:
    return place[0] + _WAYS[way][0], place[1] + _WAYS[way][1]


def _place_beside(place: tuple[int, int], side: str) -> tuple[int, int]:
    return place[0] + _BESIDE[side][0], place[1] + _BESIDE[side][1]


def _is_on(board: CellBoardState, place: tuple[int, int]) -> bool:
    return 0 <= place[0] < board.rows and 0 <= place[1] < board.columns


SLIDING_PROGRAMS = (
    _beside_gap,
    _sum_of_movable,
    _can_move,
    _count_at_home,
    _row_number,
    _after_moves,
)
