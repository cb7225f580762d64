"""Families of coloured shapes that lie apart: counted, compared, described, placed, missed."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.graded import GRADED
from saccade.gym.grammars.things import ThingsLayout, things_grammar
from saccade.gym.looks.flat import PAPER, PLAIN
from saccade.gym.programs.absence import absence_programs
from saccade.gym.programs.attributes import attribute_programs
from saccade.gym.programs.choosing import THINGS
from saccade.gym.programs.comparing import comparing_programs
from saccade.gym.programs.counting import counting_programs
from saccade.gym.programs.extremes import DOWN, RIGHT, SIZE, extreme_programs, ordinal_program
from saccade.gym.programs.places import place_programs

MANY = things_grammar("things", ThingsLayout(large=1.0))
COMPARED = things_grammar("compared things", ThingsLayout(large=1.0, kinds=(6, 6, 5), fewer=4))
FEW = things_grammar("few things", ThingsLayout(counts=(3, 6, 9), radii_px=(28, 18, 10), large=1.0))

FAMILIES = (
    GymFamily(
        name="shape_counts",
        about="coloured shapes that lie apart: how many there are of which",
        domain="counting",
        grammar=MANY,
        renderers=(PLAIN, PAPER),
        programs=counting_programs(THINGS),
    ),
    GymFamily(
        name="shape_comparisons",
        about="coloured shapes that lie apart: which are more, by how many, of how many kinds",
        domain="counting",
        grammar=COMPARED,
        renderers=(PLAIN, PAPER),
        programs=comparing_programs(THINGS),
    ),
    GymFamily(
        name="shape_attributes",
        about="coloured shapes: what single ones are, and which are alike",
        domain="attributes",
        grammar=FEW,
        renderers=(PLAIN, PAPER),
        programs=attribute_programs(THINGS),
    ),
    GymFamily(
        name="shape_absence",
        about="coloured shapes: what is there and what is not",
        domain="absence",
        grammar=MANY,
        renderers=(PLAIN, PAPER),
        programs=absence_programs(THINGS),
    ),
    GymFamily(
        name="shape_places",
        about="coloured shapes: directions, distances, what lies between",
        domain="space in two dimensions",
        grammar=FEW,
        renderers=(PLAIN, PAPER),
        programs=place_programs(THINGS),
    ),
    GymFamily(
        name="shape_order",
        about="coloured shapes in order from left to right and from top to bottom",
        domain="space in two dimensions",
        grammar=FEW,
        renderers=(PLAIN, PAPER),
        programs=(
            *extreme_programs(THINGS, RIGHT),
            ordinal_program(THINGS, RIGHT),
            *extreme_programs(THINGS, DOWN),
            ordinal_program(THINGS, DOWN),
        ),
    ),
    GymFamily(
        name="shape_sizes",
        about="coloured shapes of graded sizes: largest, smallest, larger of two, the n-th",
        domain="size and distance",
        grammar=GRADED,
        renderers=(PLAIN, PAPER),
        programs=(*extreme_programs(THINGS, SIZE), ordinal_program(THINGS, SIZE)),
    ),
)
