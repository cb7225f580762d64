"""Trajectories: a model and an environment take turns until the question is answered.

Start in ``episodes.py`` (how a question is played), then ``trajectory.py``, the loop of one trajectory, of the model or
of an expert; ``batch.py`` plays many at one engine.
"""

from saccade.rollout.batch import PlayedAs, rollout, rollout_batch, rollout_streams
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings, visual_reasoning
from saccade.rollout.trajectory import demonstrate

__all__ = [
    "EpisodeSpec",
    "PlayedAs",
    "RolloutRequest",
    "RolloutSettings",
    "demonstrate",
    "rollout",
    "rollout_batch",
    "rollout_streams",
    "visual_reasoning",
]
