"""The gym: scenes, looks and programs apart. Many questions on one state, many pictures of it.

Start in ``state.py`` (what there is), ``rendering.py`` (pictures with the exact region of every element),
``program.py`` (questions with their answers) and ``family.py``, which puts them together; ``registry.py`` finds them.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.gym.family import Grammar, GymFamily, NamedDraw
    from saccade.gym.levels import Levels
    from saccade.gym.painter import Painter
    from saccade.gym.program import Asking, Program, ProgramQuestion
    from saccade.gym.registry import DOMAINS, find_draw, gym_families
    from saccade.gym.rendering import Renderer, Rendering, SeenRegion
    from saccade.gym.sample import GymSample
    from saccade.gym.state import Element, Link, SceneState, as_state
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "DOMAINS",
    "Asking",
    "Element",
    "Grammar",
    "GymFamily",
    "GymSample",
    "Levels",
    "Link",
    "NamedDraw",
    "Painter",
    "Program",
    "ProgramQuestion",
    "Renderer",
    "Rendering",
    "SceneState",
    "SeenRegion",
    "as_state",
    "find_draw",
    "gym_families",
]
