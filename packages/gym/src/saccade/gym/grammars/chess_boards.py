"""Chess boards: pieces on squares, as a position might be; which of them attack which is worked out.

Axes: ``pieces`` (how many).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState

AXES = ("pieces",)
FILES = "abcdefgh"
SIDES = ("white", "black")
WORTH = {"queen": 9, "rook": 5, "bishop": 3, "knight": 3, "pawn": 1}
SET = ("queen", "rook", "rook", "bishop", "bishop", "knight", "knight", *["pawn"] * 8)
STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))
SLANTED = ((1, 1), (1, -1), (-1, 1), (-1, -1))
JUMPS = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))


@dataclass(frozen=True, kw_only=True, slots=True)
class ChessState(SceneState):
    """Elements of the kind "piece", whose id is their square ("e4"), with ``side`` and ``piece``."""

    def piece_on(self, square: str) -> Element | None:
        return next((one for one in self.elements if one.id == square), None)


def draw_board(rng: Generator, levels: Levels) -> ChessState:
    """Both kings, not beside each other, and pieces of the usual set; no pawn on the first or the last rank."""
    most = levels.whole("pieces", 6, 12, 24)
    count = int(rng.integers(max(4, most - 4), most + 1))
    wanted = [(side, "king") for side in SIDES]
    rest = [(side, piece) for side in SIDES for piece in SET]
    wanted += [rest[int(at)] for at in rng.permutation(len(rest))[: count - 2]]
    found: dict[str, tuple[str, str]] = {}
    for side, piece in wanted:
        while True:
            column, row = (int(v) for v in rng.integers(0, 8, size=2))
            square = square_of(column, row)
            is_free = square not in found and not (piece == "pawn" and row in (0, 7))
            if is_free and not (piece == "king" and _beside_king(found, column, row)):
                found[square] = (side, piece)
                break
    elements = tuple(
        Element(id=square, kind="piece", name=f"{side} {piece}", attributes={"side": side, "piece": piece})
        for square, (side, piece) in sorted(found.items())
    )
    return ChessState(elements=elements, width=400, height=400)


def square_of(column: int, row: int) -> str:
    """The square's name; both count from 0, from a1."""
    return f"{FILES[column]}{row + 1}"


def place_of_square(square: str) -> tuple[int, int]:
    """Column and row of a square, from 0."""
    return FILES.index(square[0]), int(square[1]) - 1


def _beside_king(found: dict[str, tuple[str, str]], column: int, row: int) -> bool:
    kings = [place_of_square(square) for square, (_, piece) in found.items() if piece == "king"]
    return any(abs(column - x) <= 1 and abs(row - y) <= 1 for x, y in kings)


def attacked_from(state: ChessState, square: str) -> set[str]:
    """The squares that the piece on a square attacks or guards."""
    piece = state.piece_on(square)
    assert piece is not None
    kind, (x, y) = piece.attributes["piece"], place_of_square(square)
    if kind == "pawn":
        ahead = 1 if piece.attributes["side"] == "white" else -1
        steps: tuple[tuple[int, int], ...] = ((1, ahead), (-1, ahead))
    else:
        steps = {"rook": STRAIGHT, "bishop": SLANTED, "knight": JUMPS}.get(kind, STRAIGHT + SLANTED)
    reach = 7 if kind in ("queen", "rook", "bishop") else 1
    found = set()
    for step_x, step_y in steps:
        for far in range(1, reach + 1):
            column, row = x + far * step_x, y + far * step_y
            if not (0 <= column < 8 and 0 <= row < 8):
                break
            found.add(square_of(column, row))
            if state.piece_on(square_of(column, row)) is not None:
                break
    return found


BOARD = Grammar(name="chess_board", draw=draw_board, axes=AXES)
