"""Families of boards: sequences, matrices, squares, mosaics, tables, walks, sliding tiles."""

from saccade.gym.family import Grammar, GymFamily
from saccade.gym.fine import DIGITS, LETTERS
from saccade.gym.grammars.boards import (
    COLOUR_SUDOKU,
    DIGIT_SUDOKU,
    DIGIT_TABLE,
    LETTER_SEQUENCE,
    MATRIX,
    MOSAIC,
    SEQUENCE,
    WALK,
)
from saccade.gym.grammars.sliding import FINE_SLIDING, SLIDING
from saccade.gym.looks.boards import BOARD, FINE, FINE_WOODEN, WOODEN
from saccade.gym.program import Program
from saccade.gym.programs.digit_tables import TABLE_PROGRAMS
from saccade.gym.programs.holes import (
    by_lines,
    by_period,
    by_sudoku,
    count_value_program,
    empty_cells_program,
    far_program,
    hole_program,
    period_program,
    thing_program,
)
from saccade.gym.programs.mosaics import MOSAIC_PROGRAMS
from saccade.gym.programs.sliding import SLIDING_PROGRAMS
from saccade.gym.programs.walks import WALK_PROGRAMS
from saccade.tasks.drawing import COLOUR_NAMES, SHAPES

NEXT = (
    "The cells follow a pattern, row by row. Which {kind} belongs into the cell with the question mark?",
    "Read row by row, the pattern repeats. What is the {kind} of what the question mark hides?",
)
LINES = (
    "Rows and columns follow a rule. Which {kind} has the thing that belongs to the question mark?",
    "By the rule of the other cells, what {kind} must the thing at the question mark have?",
)
ONCE = (
    "Each row, each column and each quarter has every {kind} once. Which {kind} belongs to the question mark?",
    "No {kind} may occur twice in a row, a column or a quarter. Which one must the question mark be?",
)

COUNTS = (1, 2, 3, 4)
"""How many cells of a square may show one value."""


def _fine(name: str, about: str, domain: str, grammar: Grammar, programs: tuple[Program, ...]) -> GymFamily:
    return GymFamily(
        name=name,
        about=about,
        domain=domain,
        grammar=grammar,
        renderers=(FINE, FINE_WOODEN),
        programs=programs,
        is_fine_print=True,
        needs_closer=True,
    )


def _large(name: str, about: str, domain: str, grammar: Grammar, programs: tuple[Program, ...]) -> GymFamily:
    return GymFamily(
        name=name, about=about, domain=domain, grammar=grammar, renderers=(BOARD, WOODEN), programs=programs
    )


PUZZLES = "patterns and puzzles"

FAMILIES = (
    _large(
        "sequences",
        "things that repeat row by row: what is hidden, what comes far behind",
        PUZZLES,
        SEQUENCE,
        (
            hole_program("colour", COLOUR_NAMES, by_period, NEXT),
            hole_program("shape", SHAPES, by_period, NEXT),
            thing_program(
                by_period,
                (
                    "The cells follow a pattern, row by row. What belongs to the question mark?",
                    "Which thing does the question mark hide, if the pattern repeats row by row?",
                ),
            ),
            period_program("colour", "shape"),
            far_program("colour", COLOUR_NAMES),
            far_program("shape", SHAPES),
        ),
    ),
    _fine(
        "fine_sequences",
        "letters in fine print that repeat row by row",
        PUZZLES,
        LETTER_SEQUENCE,
        (
            hole_program("letter", LETTERS, by_period, NEXT),
            period_program("letter"),
            far_program("letter", LETTERS),
            count_value_program("letter"),
        ),
    ),
    _large(
        "matrices",
        "three by three things with a rule for colours and one for shapes",
        PUZZLES,
        MATRIX,
        (
            hole_program("colour", COLOUR_NAMES, by_lines, LINES),
            hole_program("shape", SHAPES, by_lines, LINES),
            thing_program(
                by_lines,
                (
                    "Rows and columns follow a rule. What belongs to the question mark?",
                    "Which thing completes the square at the question mark?",
                ),
            ),
            count_value_program("colour", (2, 3)),
            count_value_program("shape", (2, 3)),
        ),
    ),
    _large(
        "colour_squares",
        "four colours, each once in every row, column and quarter",
        PUZZLES,
        COLOUR_SUDOKU,
        (
            hole_program("colour", COLOUR_NAMES, by_sudoku, ONCE),
            count_value_program("colour", COUNTS),
            empty_cells_program(),
        ),
    ),
    _fine(
        "fine_squares",
        "digits in fine print, each once in every row, column and quarter",
        PUZZLES,
        DIGIT_SUDOKU,
        (hole_program("digit", DIGITS[1:5], by_sudoku, ONCE), count_value_program("digit", COUNTS)),
    ),
    _large("mosaics", "coloured cells: symmetric or not, and where not", PUZZLES, MOSAIC, MOSAIC_PROGRAMS),
    _fine(
        "fine_tables",
        "tables of digits in fine print: cells, sums, the largest",
        "search",
        DIGIT_TABLE,
        TABLE_PROGRAMS,
    ),
    _fine(
        "fine_walks",
        "arrows in fine print that lead from cell to cell",
        "grids and routes",
        WALK,
        WALK_PROGRAMS,
    ),
    _large(
        "sliding_tiles",
        "five to fifteen tiles and a gap: what can move, what is in place, what comes of moves",
        PUZZLES,
        SLIDING,
        SLIDING_PROGRAMS,
    ),
    _fine(
        "fine_sliding_tiles",
        "five to nine tiles with digits in fine print and a gap",
        PUZZLES,
        FINE_SLIDING,
        SLIDING_PROGRAMS,
    ),
)
