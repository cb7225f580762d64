"""Families of plates with fine print: all that they ask needs a closer look."""

from collections.abc import Iterable
from dataclasses import replace

from saccade.gym.family import GymFamily
from saccade.gym.fine import ARROWS, DIGITS, LETTERS, TEXTURES
from saccade.gym.grammars.codes import CODES
from saccade.gym.grammars.plates import PlateMarks, plates_grammar
from saccade.gym.looks.codes import CODED, CODED_TABLE
from saccade.gym.looks.plates import PLATES, TABLE
from saccade.gym.program import Program
from saccade.gym.programs.absence import absence_programs
from saccade.gym.programs.attributes import attribute_programs
from saccade.gym.programs.choosing import Population
from saccade.gym.programs.comparing import comparing_programs
from saccade.gym.programs.counting import counting_programs
from saccade.gym.programs.extremes import DOWN, RIGHT, extreme_programs, ordinal_program
from saccade.gym.programs.marks import ARROWED, LETTERED, NUMBERED, TEXTURED, digit_programs
from saccade.gym.programs.places import place_programs
from saccade.gym.programs.readings import Readings, reading_programs

SEEN_FROM_AFAR = {
    "count_all",
    "count_by_colour",
    "most_common_colour",
    "count_colours",
    "missing_colour",
    "which_of_two_across",
    "which_of_two_down",
    "is_more_across",
    "is_more_down",
    "count_beyond_across",
    "count_beyond_down",
    "direction",
    "closer_of_two",
    "corner",
    "count_in_half",
}
"""Programs whose answer is in the colours and places of plates."""


def _close(programs: Iterable[Program]) -> tuple[Program, ...]:
    return tuple(one for one in programs if one.name not in SEEN_FROM_AFAR)


def _family(name: str, about: str, domain: str, marks: PlateMarks, programs: Iterable[Program]) -> GymFamily:
    return GymFamily(
        name=name,
        about=about,
        domain=domain,
        grammar=plates_grammar(marks),
        renderers=(PLATES, TABLE),
        programs=_close(programs),
        is_fine_print=True,
        needs_closer=True,
    )


def _place_and_order_programs(population: Population) -> tuple[Program, ...]:
    return (
        *place_programs(population),
        *extreme_programs(population, RIGHT),
        ordinal_program(population, RIGHT),
        *extreme_programs(population, DOWN),
        ordinal_program(population, DOWN),
    )


TEXTURE_MARKS = PlateMarks(attribute="texture", symbols=TEXTURES, kinds=(6, 5, 3))
LETTER_MARKS = PlateMarks(attribute="letter", symbols=LETTERS)
FEW_LETTERS = PlateMarks(attribute="letter", symbols=LETTERS, counts=(3, 6, 10))
KINDS_COMPARED = (8, 6, 5)
DIGIT_MARKS = PlateMarks(attribute="digit", symbols=DIGITS, counts=(3, 6, 10), kinds=(10, 8, 6))
ARROW_MARKS = PlateMarks(attribute="arrow", symbols=ARROWS, kinds=(4, 4, 3))

FAMILIES = (
    _family(
        "fine_textures",
        "plates with textures: what single ones bear, and which are alike",
        "search",
        PlateMarks(attribute="texture", symbols=TEXTURES, counts=(3, 6, 9), kinds=(6, 5, 4)),
        attribute_programs(TEXTURED),
    ),
    _family(
        "fine_texture_counts",
        "plates with textures: how many bear which",
        "counting",
        TEXTURE_MARKS,
        counting_programs(TEXTURED),
    ),
    _family(
        "fine_texture_comparisons",
        "plates with textures: which are more, by how many, of how many kinds",
        "comparison",
        replace(TEXTURE_MARKS, kinds=KINDS_COMPARED, fewer=4),
        comparing_programs(TEXTURED),
    ),
    _family(
        "fine_letters",
        "plates with letters: what single ones bear, and which are alike",
        "search",
        FEW_LETTERS,
        attribute_programs(LETTERED),
    ),
    _family(
        "fine_letter_counts",
        "plates with letters: how many bear which",
        "counting",
        LETTER_MARKS,
        counting_programs(LETTERED),
    ),
    _family(
        "fine_letter_absence",
        "plates with letters: which are there and which are not",
        "absence",
        LETTER_MARKS,
        absence_programs(LETTERED),
    ),
    _family(
        "fine_letter_places",
        "plates with letters: what is borne by the plate that lies somewhere",
        "space in two dimensions",
        FEW_LETTERS,
        _place_and_order_programs(LETTERED),
    ),
    _family(
        "fine_digits",
        "plates with digits: sums, differences, the larger of two",
        "search",
        DIGIT_MARKS,
        digit_programs(),
    ),
    _family(
        "fine_digit_attributes",
        "plates with digits: what single ones bear, and which are alike",
        "attributes",
        DIGIT_MARKS,
        attribute_programs(NUMBERED),
    ),
    _family(
        "fine_arrows",
        "plates with arrows: where single ones point, and which agree",
        "search",
        PlateMarks(attribute="arrow", symbols=ARROWS, counts=(3, 6, 9), kinds=(4, 4, 4)),
        attribute_programs(ARROWED),
    ),
    _family(
        "fine_arrow_counts",
        "plates with arrows: how many point which way",
        "counting",
        replace(ARROW_MARKS, kinds=(4, 4, 4), fewer=2),
        (*counting_programs(ARROWED), *comparing_programs(ARROWED)),
    ),
    _family(
        "fine_texture_absence",
        "plates with textures: which are there and which are not",
        "absence",
        PlateMarks(attribute="texture", symbols=TEXTURES, kinds=(4, 4, 3)),
        absence_programs(TEXTURED),
    ),
    _family(
        "fine_texture_places",
        "plates with textures: what is borne by the plate that lies somewhere",
        "space in two dimensions",
        PlateMarks(attribute="texture", symbols=TEXTURES, counts=(3, 6, 10), kinds=(6, 6, 4)),
        _place_and_order_programs(TEXTURED),
    ),
    _family(
        "fine_arrow_places",
        "plates with arrows: where the plate points that lies somewhere",
        "space in two dimensions",
        PlateMarks(attribute="arrow", symbols=ARROWS, counts=(3, 6, 10), kinds=(4, 4, 4)),
        _place_and_order_programs(ARROWED),
    ),
    _family(
        "fine_digit_counts",
        "plates with digits: how many bear which",
        "counting",
        PlateMarks(attribute="digit", symbols=DIGITS, kinds=KINDS_COMPARED, fewer=4),
        (*counting_programs(NUMBERED), *comparing_programs(NUMBERED)),
    ),
    _family(
        "fine_digit_absence",
        "plates with digits: which are there and which are not",
        "absence",
        PlateMarks(attribute="digit", symbols=DIGITS, kinds=(6, 5, 4)),
        absence_programs(NUMBERED),
    ),
    _family(
        "fine_digit_places",
        "plates with digits: what is borne by the plate that lies somewhere",
        "space in two dimensions",
        PlateMarks(attribute="digit", symbols=DIGITS, counts=(3, 6, 10), kinds=(10, 8, 5)),
        _place_and_order_programs(NUMBERED),
    ),
    _family(
        "fine_letter_comparisons",
        "plates with letters: which are more, by how many, of how many kinds",
        "comparison",
        replace(LETTER_MARKS, kinds=KINDS_COMPARED, fewer=4),
        comparing_programs(LETTERED),
    ),
    GymFamily(
        name="fine_codes",
        about="plates with numbers of three digits: what they read, which is larger",
        domain="search",
        grammar=CODES,
        renderers=(CODED, CODED_TABLE),
        programs=reading_programs(
            Readings(kind="coded", many="plates", value="number", most="largest", least="smallest")
        ),
        is_fine_print=True,
        needs_closer=True,
    ),
)
