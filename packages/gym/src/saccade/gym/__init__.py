"""The gym: scenes, looks and programs apart. Many questions on one state, many pictures of it.

Start in ``state.py`` (what there is), ``rendering.py`` (pictures with the exact region of every element),
``program.py`` (questions with their answers) and ``family.py``, which puts them together; ``registry.py`` finds them.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.gym.family import Grammar as Grammar
    from saccade.gym.family import GymFamily as GymFamily
    from saccade.gym.family import NamedDraw as NamedDraw
    from saccade.gym.levels import Levels as Levels
    from saccade.gym.painter import Painter as Painter
    from saccade.gym.program import Asking as Asking
    from saccade.gym.program import Program as Program
    from saccade.gym.program import ProgramQuestion as ProgramQuestion
    from saccade.gym.registry import DOMAINS as DOMAINS
    from saccade.gym.registry import find_draw as find_draw
    from saccade.gym.registry import gym_families as gym_families
    from saccade.gym.rendering import Renderer as Renderer
    from saccade.gym.rendering import Rendering as Rendering
    from saccade.gym.rendering import SeenRegion as SeenRegion
    from saccade.gym.sample import GymSample as GymSample
    from saccade.gym.state import Element as Element
    from saccade.gym.state import Link as Link
    from saccade.gym.state import SceneState as SceneState
    from saccade.gym.state import as_state as as_state
else:
    __getattr__, __dir__ = names_on_use(__name__)
