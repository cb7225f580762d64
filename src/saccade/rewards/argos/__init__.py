"""Argos (Multimodal Reinforcement Learning with Agentic Verifier): scorers picked for each task, gated by its answer.

Start in ``scores.py``, which has the equations and what was decided where the paper is silent.
"""

from saccade.rewards.argos.scores import (
    answer_probability,
    frame_of,
    gated,
    relative_accuracy,
    segment_of,
    spatial_score,
    video_score,
)

__all__ = [
    "answer_probability",
    "frame_of",
    "gated",
    "relative_accuracy",
    "segment_of",
    "spatial_score",
    "video_score",
]
