"""Graphs of functions."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.function_plots import FUNCTIONS
from saccade.gym.looks.function_plots import CHALK, SQUARED
from saccade.gym.programs.function_plots import FUNCTION_PROGRAMS

FAMILIES = (
    GymFamily(
        name="function_plot",
        about="graphs of one to three functions on squared paper: values, zeros, slopes, crossings, formulas",
        domain="mathematics",
        grammar=FUNCTIONS,
        renderers=(SQUARED, CHALK),
        programs=FUNCTION_PROGRAMS,
        is_split_by_state=True,
    ),
)
