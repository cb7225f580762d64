"""Short videos of balls that roll and bounce."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.motion import MOTION
from saccade.gym.looks.motion import GREY_BOX, PAPER_BOX
from saccade.gym.programs.motion import MOTION_PROGRAMS

FAMILIES = (
    GymFamily(
        name="video_bounces",
        about="a short video of balls that roll and bounce: speeds, turns, what happens first",
        domain="video",
        grammar=MOTION,
        renderers=(GREY_BOX, PAPER_BOX),
        programs=MOTION_PROGRAMS,
        is_split_by_state=True,
    ),
)
