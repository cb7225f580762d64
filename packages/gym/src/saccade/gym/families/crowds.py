"""Large crowded scenes."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.crowds import CROWD
from saccade.gym.looks.crowds import DAY, EVENING
from saccade.gym.programs.crowds import CROWD_PROGRAMS

FAMILIES = (
    GymFamily(
        name="crowds",
        about="a harbour, a road and a market of 4 to 12 million pixels, full of people: what single ones bear",
        domain="search",
        grammar=CROWD,
        renderers=(DAY, EVENING),
        programs=CROWD_PROGRAMS,
        is_split_by_state=True,
        is_fine_print=True,
        needs_closer=True,
    ),
)
