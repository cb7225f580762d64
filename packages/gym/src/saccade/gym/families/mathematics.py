"""Graphs of functions, and figures marked as textbooks do."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.function_plots import FUNCTIONS
from saccade.gym.grammars.marked_figures import MARKED
from saccade.gym.looks.function_plots import CHALK, SQUARED
from saccade.gym.looks.marked_figures import FILLED, LINES
from saccade.gym.programs.function_plots import FUNCTION_PROGRAMS
from saccade.gym.programs.marked_figures import MARKED_PROGRAMS

FAMILIES = (
    GymFamily(
        name="function_plot",
        about="graphs of two or three functions on squared paper: values, zeros, slopes, crossings, formulas",
        domain="mathematics",
        grammar=FUNCTIONS,
        renderers=(SQUARED, CHALK),
        programs=FUNCTION_PROGRAMS,
        is_split_by_state=True,
    ),
    GymFamily(
        name="marked_figures",
        about="triangles and quadrilaterals with marks for equal sides and angles, right angles and parallels",
        domain="mathematics",
        grammar=MARKED,
        renderers=(LINES, FILLED),
        programs=MARKED_PROGRAMS,
        is_split_by_state=True,
    ),
)
