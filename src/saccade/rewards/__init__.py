"""Rewards: scores of named terms, for one trajectory or for all of a question's.

Start in ``reward.py``, which has the two shapes and the plainest reward. Beside it: ``tool_use.py`` (CodeDance,
DeepEyes), ``grounding.py`` (boxes compared with targets), ``ivgr.py``, ``vista.py`` with ``repetition.py``,
``lang2act.py`` (chains of linguistic tools). ``groups.py`` applies any of them, ``hack_check.py`` plays the known hacks
against any. Below: ``answers`` (is it right?) and ``judges`` (models asked for a verdict).
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rewards.grounding import GroundingReward
    from saccade.rewards.groups import score_attempts, score_question, score_questions
    from saccade.rewards.hack_check import check_verifier
    from saccade.rewards.ivgr import IvgrReward
    from saccade.rewards.lang2act import Lang2ActReward, lang2act_reward
    from saccade.rewards.reward import (
        AnyReward,
        GroupReward,
        GroupScores,
        OutcomeReward,
        Reward,
        RuleReward,
        check_scorable,
        counts_as_right,
        is_correct,
        keeps_format,
    )
    from saccade.rewards.tool_use import CodeDanceReward, DeepEyesReward, execution_returns
    from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
    from saccade.types import Score, Term
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "AnyReward",
    "CodeDanceReward",
    "DeepEyesReward",
    "DifficultyAdaptiveReward",
    "GroundingReward",
    "GroupReward",
    "GroupScores",
    "IvgrReward",
    "Lang2ActReward",
    "OutcomeReward",
    "Reward",
    "RuleReward",
    "Score",
    "Term",
    "VistaReward",
    "check_scorable",
    "check_verifier",
    "counts_as_right",
    "execution_returns",
    "is_correct",
    "keeps_format",
    "lang2act_reward",
    "score_attempts",
    "score_question",
    "score_questions",
]
