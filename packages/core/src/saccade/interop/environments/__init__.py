"""Environments of others, trained on as our own: Gymnasium, verifiers, OpenEnv, reasoning-gym, TextArena, a file.

Start in ``world.py`` (what is asked of an environment), then ``world_env.py``, which makes Saccade's ``Environment`` of
it; ``sources.py`` reads names. ``bridge.py`` and ``host.py`` keep environments in a Python of their own.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.environments.bridge import BridgedSource as BridgedSource
    from saccade.interop.environments.gymnasium_world import GymnasiumSource as GymnasiumSource
    from saccade.interop.environments.own_worlds import world_of as world_of
    from saccade.interop.environments.sources import WorldNames as WorldNames
    from saccade.interop.environments.sources import source_of as source_of
    from saccade.interop.environments.world import NumberedEpisode as NumberedEpisode
    from saccade.interop.environments.world import StepResult as StepResult
    from saccade.interop.environments.world import World as World
    from saccade.interop.environments.world import WorldObservation as WorldObservation
    from saccade.interop.environments.world import WorldSource as WorldSource
    from saccade.interop.environments.world import episode_of_task as episode_of_task
    from saccade.interop.environments.world import episode_task as episode_task
    from saccade.interop.environments.world_env import WorldEnv as WorldEnv
    from saccade.interop.environments.world_env import WorldSettings as WorldSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)
