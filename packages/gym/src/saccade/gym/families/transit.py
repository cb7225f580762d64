"""Transit maps and floor plans."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.floor_plans import FLOOR_PLAN
from saccade.gym.grammars.transit import TRANSIT
from saccade.gym.looks.floor_plans import BLUE, DRAWN
from saccade.gym.looks.transit import NIGHT, SHEET
from saccade.gym.programs.floor_plans import FLOOR_PLAN_PROGRAMS
from saccade.gym.programs.transit import TRANSIT_PROGRAMS

FAMILIES = (
    GymFamily(
        name="transit_map",
        about="lines of a city in colours, with stops: rides, changes, stops counted",
        domain="maps",
        grammar=TRANSIT,
        renderers=(SHEET, NIGHT),
        programs=TRANSIT_PROGRAMS,
        is_split_by_state=True,
    ),
    GymFamily(
        name="floor_plan",
        about="rooms with measures, doors and windows: ways through a house, what is next to what",
        domain="maps",
        grammar=FLOOR_PLAN,
        renderers=(DRAWN, BLUE),
        programs=FLOOR_PLAN_PROGRAMS,
        is_split_by_state=True,
    ),
)
