"""Environments: a task is put to a model, which answers in turns of text that may call tools.

Start in ``environment.py``, which says what an environment is (and is all that the rollout needs), then
``visual_reasoning.py``, the one that ships; ``vector.py`` plays many at once. Importing this room registers
``saccade/VisualReasoning-v0`` with Gymnasium.
"""

import gymnasium

from saccade.envs.environment import (
    Environment,
    EnvironmentContext,
    EnvironmentFactory,
    ExpertEnvironment,
    MakeEnvironment,
)
from saccade.envs.visual_reasoning import DEFAULT_VIEW, VisualReasoningEnv, answer_reward

__all__ = [
    "DEFAULT_VIEW",
    "VISUAL_REASONING_ID",
    "Environment",
    "EnvironmentContext",
    "EnvironmentFactory",
    "ExpertEnvironment",
    "MakeEnvironment",
    "VisualReasoningEnv",
    "answer_reward",
]

VISUAL_REASONING_ID = "saccade/VisualReasoning-v0"

# Registering twice warns, and a reloaded module would.
if VISUAL_REASONING_ID not in gymnasium.registry:
    gymnasium.register(
        id=VISUAL_REASONING_ID,
        entry_point="saccade.envs.visual_reasoning:VisualReasoningEnv",
        vector_entry_point="saccade.envs.vector:VisualReasoningVectorEnv",
        nondeterministic=False,
    )
