"""All interactive families, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from saccade.gym.interactive.colouring import COLOUR_GRAPH
from saccade.gym.interactive.forms import FILL_FORM
from saccade.gym.interactive.interactive_family import InteractiveFamily
from saccade.gym.interactive.lists import WORK_LIST
from saccade.gym.interactive.tiles import SLIDE_TILES

INTERACTIVE: Mapping[str, InteractiveFamily] = MappingProxyType(
    {one.name: one for one in (FILL_FORM, WORK_LIST, SLIDE_TILES, COLOUR_GRAPH)}
)
