"""Families of coloured shapes that lie apart: counted and compared."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.things import ThingsLayout, things_grammar
from saccade.gym.looks.flat import PAPER, PLAIN
from saccade.gym.programs.choosing import THINGS
from saccade.gym.programs.comparing import comparing_programs
from saccade.gym.programs.counting import counting_programs

FAMILIES = (
    GymFamily(
        name="shape_counts",
        about="coloured shapes that lie apart: how many there are of which",
        domain="counting",
        grammar=things_grammar("things", ThingsLayout()),
        renderers=(PLAIN, PAPER),
        programs=counting_programs(THINGS),
    ),
    GymFamily(
        name="shape_comparisons",
        about="coloured shapes that lie apart: which are more, by how many, of how many kinds",
        domain="counting",
        grammar=things_grammar("things", ThingsLayout()),
        renderers=(PLAIN, PAPER),
        programs=comparing_programs(THINGS),
    ),
)
