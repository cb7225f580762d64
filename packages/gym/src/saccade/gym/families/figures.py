"""Families of figures turned in the plane, towers of cubes, discs that overlap."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.blocks import BLOCKS
from saccade.gym.grammars.discs import DISCS
from saccade.gym.grammars.figures import FIGURES
from saccade.gym.looks.blocks import ISOMETRIC, ISOMETRIC_PAPER
from saccade.gym.looks.discs import DESK, FELT
from saccade.gym.looks.figures import DARK, SHEET
from saccade.gym.programs.blocks import BLOCK_PROGRAMS
from saccade.gym.programs.discs import DISC_PROGRAMS
from saccade.gym.programs.figures import FIGURE_PROGRAMS

FAMILIES = (
    GymFamily(
        name="turned_figures",
        about="figures of squares: which is turned, which is a mirror image, by how much",
        domain="views and rotation",
        grammar=FIGURES,
        renderers=(DARK, SHEET),
        programs=FIGURE_PROGRAMS,
    ),
    GymFamily(
        name="cube_towers",
        about="towers of cubes seen at an angle: cubes counted, heights compared",
        domain="space in three dimensions",
        grammar=BLOCKS,
        renderers=(ISOMETRIC, ISOMETRIC_PAPER),
        programs=BLOCK_PROGRAMS,
    ),
    GymFamily(
        name="overlapping_discs",
        about="discs one above the other: which covers which",
        domain="space in three dimensions",
        grammar=DISCS,
        renderers=(FELT, DESK),
        programs=DISC_PROGRAMS,
    ),
)
