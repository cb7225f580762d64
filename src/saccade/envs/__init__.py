"""Gymnasium environments; importing this room registers ``saccade/VisualReasoning-v0``."""

import gymnasium

VISUAL_REASONING_ID = "saccade/VisualReasoning-v0"

# Registering twice warns, and a reloaded module would.
if VISUAL_REASONING_ID not in gymnasium.registry:
    gymnasium.register(
        id=VISUAL_REASONING_ID,
        entry_point="saccade.envs.visual_reasoning:VisualReasoningEnv",
        vector_entry_point="saccade.envs.vector:VisualReasoningVectorEnv",
        nondeterministic=False,
    )
