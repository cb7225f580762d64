"""Solids in three dimensions: depth, occlusion, stacks, and several views of one scene."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.solids import SolidsLayout, solids_grammar
from saccade.gym.looks.solids import FLOORS, TILES
from saccade.gym.programs.solid_depth import DEPTH_PROGRAMS
from saccade.gym.programs.solid_places import PLACE_PROGRAMS
from saccade.gym.programs.solid_stacks import LOOK_PROGRAMS, STACK_PROGRAMS
from saccade.gym.programs.solid_views import VIEW_PROGRAMS

LOOKS = (TILES, FLOORS)

FAMILIES = (
    GymFamily(
        name="solids",
        about="solids on a floor: depth, sides, distances, what hides what, shine",
        domain="space in three dimensions",
        grammar=solids_grammar("solids", SolidsLayout()),
        renderers=LOOKS,
        programs=(*DEPTH_PROGRAMS, *PLACE_PROGRAMS, *LOOK_PROGRAMS),
        is_split_by_state=True,
    ),
    GymFamily(
        name="solid_stacks",
        about="solids that stand on each other",
        domain="space in three dimensions",
        grammar=solids_grammar("solid_stacks", SolidsLayout(has_stacks=True, counts=(5, 7, 9))),
        renderers=LOOKS,
        programs=STACK_PROGRAMS,
        is_split_by_state=True,
    ),
    GymFamily(
        name="solid_views",
        about="one scene from two sides: how the camera moved, and what changed in view",
        domain="views and rotation",
        grammar=solids_grammar("solid_views", SolidsLayout(turns=(0.0, 75.0), counts=(3, 4, 6), size_px=256)),
        renderers=LOOKS,
        programs=VIEW_PROGRAMS,
        is_split_by_state=True,
    ),
)
