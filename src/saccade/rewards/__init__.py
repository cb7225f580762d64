"""Rewards: scores of named terms, for one trajectory or for all of a question's.

Start in ``reward.py``, which says the two shapes, then ``outcome.py``, the plainest one; one file per paper beside it.
``groups.py`` applies any of them. Below: ``answers`` (is it right?), ``boxes``, ``judges`` (models asked for a
verdict) and ``repetition``.
"""

from saccade.rewards.boxes.grounding import GroundingReward
from saccade.rewards.codedance import CodeDanceReward
from saccade.rewards.deepeyes import DeepEyesReward, execution_returns
from saccade.rewards.groups import score_attempts, score_question, score_questions
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.outcome import OutcomeReward, check_scorable, counts_as_right, is_correct, keeps_format
from saccade.rewards.reward import AnyReward, GroupReward, GroupScores, Reward, RuleReward
from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
from saccade.types import Score, Term

__all__ = [
    "AnyReward",
    "CodeDanceReward",
    "DeepEyesReward",
    "DifficultyAdaptiveReward",
    "GroundingReward",
    "GroupReward",
    "GroupScores",
    "IvgrReward",
    "OutcomeReward",
    "Reward",
    "RuleReward",
    "Score",
    "Term",
    "VistaReward",
    "check_scorable",
    "counts_as_right",
    "execution_returns",
    "is_correct",
    "keeps_format",
    "score_attempts",
    "score_question",
    "score_questions",
]
