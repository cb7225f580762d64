"""Molecules as structural formulas (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.molecules import MOLECULE
from saccade.gym.looks.molecules import BLACK, COLOURED
from saccade.gym.programs.molecules import MOLECULE_PROGRAMS

FAMILIES = (
    GymFamily(
        name="molecule",
        about="a structural formula: atoms, bonds, rings and groups",
        domain="molecules",
        grammar=MOLECULE,
        renderers=(COLOURED, BLACK),
        programs=MOLECULE_PROGRAMS,
        is_split_by_state=True,
    ),
)
