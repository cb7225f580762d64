"""Families of pictures compared, and of the one thing that differs from all others."""

from saccade.gym.family import GymFamily
from saccade.gym.fine import LETTERS
from saccade.gym.grammars.pairs import PAIRS, PLATE_PAIRS
from saccade.gym.grammars.squares import PLATE_SQUARES, SQUARES
from saccade.gym.looks.flat import PAPER, PLAIN
from saccade.gym.looks.plates import PLATES, TABLE
from saccade.gym.programs.pairs import THING_PROGRAMS, plate_pair_programs
from saccade.gym.programs.squares import PLATE_SQUARE_PROGRAMS, SQUARE_PROGRAMS

FAMILIES = (
    GymFamily(
        name="spot_the_difference",
        about="two pictures of the same things: what has changed",
        domain="comparison",
        grammar=PAIRS,
        renderers=(PLAIN, PAPER),
        programs=THING_PROGRAMS,
    ),
    GymFamily(
        name="fine_differences",
        about="two pictures of the same plates: which letters have changed",
        domain="comparison",
        grammar=PLATE_PAIRS,
        renderers=(PLATES, TABLE),
        programs=plate_pair_programs(LETTERS),
        is_fine_print=True,
        needs_closer=True,
    ),
    GymFamily(
        name="odd_one_out",
        about="things in rows and columns that are alike but for one",
        domain="comparison",
        grammar=SQUARES,
        renderers=(PLAIN, PAPER),
        programs=SQUARE_PROGRAMS,
    ),
    GymFamily(
        name="fine_odd_one_out",
        about="plates that bear the same letter but for one",
        domain="search",
        grammar=PLATE_SQUARES,
        renderers=(PLATES, TABLE),
        programs=PLATE_SQUARE_PROGRAMS,
        is_fine_print=True,
        needs_closer=True,
    ),
)
