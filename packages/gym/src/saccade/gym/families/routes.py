"""Families of mazes and towns."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.mazes import MAZE
from saccade.gym.grammars.towns import TOWN
from saccade.gym.looks.mazes import LIGHT, NIGHT
from saccade.gym.looks.towns import DAY, DUSK
from saccade.gym.programs.mazes import MAZE_PROGRAMS
from saccade.gym.programs.towns import TOWN_PROGRAMS

FAMILIES = (
    GymFamily(
        name="mazes",
        about="mazes with coloured spots: which can be reached, how far they are",
        domain="grids and routes",
        grammar=MAZE,
        renderers=(LIGHT, NIGHT),
        programs=MAZE_PROGRAMS,
    ),
    GymFamily(
        name="towns",
        about="landmarks in a grid of streets: directions, blocks, what is nearest",
        domain="grids and routes",
        grammar=TOWN,
        renderers=(DAY, DUSK),
        programs=TOWN_PROGRAMS,
    ),
)
