"""Chess boards (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.chess_boards import BOARD
from saccade.gym.looks.chess_boards import CHESS
from saccade.gym.programs.chess_boards import CHESS_PROGRAMS

FAMILIES = (
    GymFamily(
        name="chess_board",
        about="a chess position: what stands where, what attacks what",
        domain="chess",
        grammar=BOARD,
        renderers=(CHESS,),
        programs=CHESS_PROGRAMS,
        is_split_by_state=True,
    ),
)
