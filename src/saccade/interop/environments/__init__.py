"""Environments of others, trained on as our own: Gymnasium, verifiers, OpenEnv, reasoning-gym, TextArena, a file.

Start in ``world.py`` (what is asked of an environment), then ``world_env.py``, which makes Saccade's ``Environment`` of
it; ``sources.py`` reads names. ``bridge.py`` and ``host.py`` keep environments in a Python of their own.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.environments.bridge import BridgedSource
    from saccade.interop.environments.gymnasium_world import GymnasiumSource
    from saccade.interop.environments.own_worlds import world_of
    from saccade.interop.environments.sources import WorldNames, source_of
    from saccade.interop.environments.world import (
        NumberedEpisode,
        StepResult,
        World,
        WorldObservation,
        WorldSource,
        episode_of_task,
        episode_task,
    )
    from saccade.interop.environments.world_env import WorldEnv, WorldSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "BridgedSource",
    "GymnasiumSource",
    "NumberedEpisode",
    "StepResult",
    "World",
    "WorldEnv",
    "WorldNames",
    "WorldObservation",
    "WorldSettings",
    "WorldSource",
    "episode_of_task",
    "episode_task",
    "source_of",
    "world_of",
]
