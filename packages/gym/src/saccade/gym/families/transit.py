"""Maps of lines and stops."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.transit import TRANSIT
from saccade.gym.looks.transit import NIGHT, SHEET
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
)
