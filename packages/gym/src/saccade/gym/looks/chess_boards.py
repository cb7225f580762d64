"""Chess boards with figures from DejaVu Sans, in several woods."""

from numpy.random import Generator

from saccade.gym.grammars.chess_boards import FILES, ChessState, place_of_square
from saccade.gym.levels import Levels
from saccade.gym.looks.sheets import MODULES, Sheet
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state

WOODS = (("#f0d9b5", "#b58863"), ("#eeeed2", "#769656"), ("#dee3e6", "#8ca2ad"), ("#f5f5f5", "#a9a9a9"))
FIGURES = {
    "king": "\u265a",
    "queen": "\u265b",
    "rook": "\u265c",
    "bishop": "\u265d",
    "knight": "\u265e",
    "pawn": "\u265f",
}
EDGE_PX = 24
OUTLINED = 6
"""The outlined figures stand so many places before the filled ones."""


def render_board(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """White plays upwards; files and ranks are named at the edge."""
    known = as_state(state, ChessState)
    light, dark = WOODS[int(rng.integers(len(WOODS)))]
    side = (known.width - 2 * EDGE_PX) / 8
    sheet = Sheet(known.width, known.height, "#3a3632")
    for row in range(8):
        for column in range(8):
            x, y = EDGE_PX + column * side, EDGE_PX + (7 - row) * side
            sheet.rect("", x, y, side, side, fill=light if (row + column) % 2 else dark)
        middle = EDGE_PX + (row + 0.5) * side
        sheet.text("", FILES[row], middle, known.height - EDGE_PX / 2, 13, fill="#f0ece6")
        sheet.text("", str(8 - row), EDGE_PX / 2, middle, 13, fill="#f0ece6")
    for piece in known.of_kind("piece"):
        column, row = place_of_square(piece.id)
        x, y = EDGE_PX + (column + 0.5) * side, EDGE_PX + (7.5 - row) * side
        is_white = piece.attributes["side"] == "white"
        figure = FIGURES[piece.attributes["piece"]]
        sheet.text(piece.id, figure, x, y, side * 0.86, fill="#ffffff" if is_white else "#161616")
        if is_white:  # the outlined figure over the filled one, which is its ground
            sheet.text(piece.id, chr(ord(figure) - OUTLINED), x, y, side * 0.86, fill="#161616")
    return sheet.rendering()


CHESS = Renderer(name="board", render=render_board, extra="gym", modules=MODULES)
