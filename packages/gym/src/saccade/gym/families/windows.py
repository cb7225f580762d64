"""Windows of programs, whose answers are points to click."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.windows import WINDOW
from saccade.gym.looks.windows import DARK, GREY, LIGHT
from saccade.gym.programs.windows import WINDOW_PROGRAMS

FAMILIES = (
    GymFamily(
        name="screen_clicks",
        about="a program's window with menus, tools, a list or a form: where to click to do something",
        domain="screens",
        grammar=WINDOW,
        renderers=(LIGHT, DARK, GREY),
        programs=WINDOW_PROGRAMS,
        is_split_by_state=True,
    ),
)
