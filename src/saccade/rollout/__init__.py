"""Trajectories: a model and an environment take turns until the question is answered.

Start in ``episodes.py`` (how a question is played), then ``trajectory.py``, the loop of one trajectory; ``batch.py``
plays many at one engine, ``demonstration.py`` plays an expert's turns for imitation.
"""

from saccade.rollout.batch import PlayedAs, rollout, rollout_batch, rollout_streams
from saccade.rollout.demonstration import demonstrate
from saccade.rollout.episodes import EpisodeSpec, visual_reasoning
from saccade.rollout.settings import RolloutRequest, RolloutSettings

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
