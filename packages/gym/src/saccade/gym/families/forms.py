"""Forms on paper and screens with switches (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.fields import fields_grammar
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.looks.forms import FORM, SCREEN
from saccade.gym.programs.fields import FIELD_PROGRAMS

FAMILIES = (
    GymFamily(
        name="form",
        about="a form on paper: fields in sections, some left empty, boxes ticked or not",
        domain="documents",
        grammar=fields_grammar("form", ticks=0.3, size=(460, 600)),
        renderers=(FORM,),
        more_renderers=worn_looks(FORM),
        programs=FIELD_PROGRAMS,
        is_split_by_state=True,
        needs_closer=True,
    ),
    GymFamily(
        name="screen_settings",
        about="a window of settings: cards, values and switches",
        domain="screens",
        grammar=fields_grammar("screen_settings", ticks=0.5, size=(900, 600)),
        renderers=(SCREEN,),
        more_renderers=worn_looks(SCREEN),
        programs=FIELD_PROGRAMS,
        is_split_by_state=True,
    ),
)
