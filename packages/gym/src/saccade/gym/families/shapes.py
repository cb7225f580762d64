"""Families of coloured shapes that lie apart: counted, compared, described, placed, missed."""

from dataclasses import replace

from saccade.gym.family import Grammar, GymFamily
from saccade.gym.grammars.graded import GRADED
from saccade.gym.grammars.graded import SHAPES as GRADED_SHAPES
from saccade.gym.grammars.things import ThingsLayout, things_grammar
from saccade.gym.looks.flat import PAPER, PLAIN
from saccade.gym.program import Program
from saccade.gym.programs.absence import absence_programs
from saccade.gym.programs.attributes import attribute_programs
from saccade.gym.programs.choosing import THINGS, Population
from saccade.gym.programs.comparing import comparing_programs
from saccade.gym.programs.counting import counting_programs
from saccade.gym.programs.extremes import DOWN, RIGHT, SIZE, ThingOrder, extreme_programs, ordinal_program
from saccade.gym.programs.places import place_programs

MANY = things_grammar("things", ThingsLayout(large=1.0))
COMPARED = things_grammar("compared things", ThingsLayout(large=1.0, kinds=(6, 6, 5), fewer=4))
FEW = things_grammar("few things", ThingsLayout(counts=(3, 6, 9), radii_px=(28, 18, 10), large=1.0))

COUNTING, PLACES = "counting", "space in two dimensions"


def _family(name: str, about: str, domain: str, grammar: Grammar, programs: tuple[Program, ...]) -> GymFamily:
    return GymFamily(
        name=name,
        about=about,
        domain=domain,
        grammar=grammar,
        renderers=(PLAIN, PAPER),
        programs=programs,
    )


def _in_order(order: ThingOrder, population: Population = THINGS) -> tuple[Program, ...]:
    return (*extreme_programs(population, order), ordinal_program(population, order))


FAMILIES = (
    _family(
        "shape_counts",
        "coloured shapes that lie apart: how many there are of which",
        COUNTING,
        MANY,
        counting_programs(THINGS),
    ),
    _family(
        "shape_comparisons",
        "coloured shapes that lie apart: which are more, by how many, of how many kinds",
        COUNTING,
        COMPARED,
        comparing_programs(THINGS),
    ),
    _family(
        "shape_attributes",
        "coloured shapes: what single ones are, and which are alike",
        "attributes",
        FEW,
        attribute_programs(THINGS),
    ),
    _family(
        "shape_absence", "coloured shapes: what is there and what is not", "absence", MANY, absence_programs(THINGS)
    ),
    _family(
        "shape_places", "coloured shapes: directions, distances, what lies between", PLACES, FEW, place_programs(THINGS)
    ),
    _family(
        "shape_order",
        "coloured shapes in order from left to right and from top to bottom",
        PLACES,
        FEW,
        (*_in_order(RIGHT), *_in_order(DOWN)),
    ),
    _family(
        "shape_sizes",
        "coloured shapes of graded sizes: largest, smallest, larger of two, the n-th",
        "size and distance",
        GRADED,
        _in_order(SIZE, replace(THINGS, sorts=GRADED_SHAPES)),
    ),
)
