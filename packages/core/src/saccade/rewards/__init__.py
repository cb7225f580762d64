"""Rewards: scores of named terms, for one trajectory or for all of a question's.

Start in ``reward.py``, which has the two shapes and the plainest reward. Beside it: ``tool_use.py`` (CodeDance,
DeepEyes), ``grounding.py`` (boxes compared with targets), ``ivgr.py``, ``vista.py`` with ``repetition.py``,
``lang2act.py`` (chains of linguistic tools). ``groups.py`` applies any of them, ``hack_check.py`` plays the known hacks
against any. Below: ``answers`` (is it right?) and ``judges`` (models asked for a verdict).
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.rewards.grounding import GroundingReward as GroundingReward
    from saccade.rewards.groups import score_attempts as score_attempts
    from saccade.rewards.groups import score_question as score_question
    from saccade.rewards.groups import score_questions as score_questions
    from saccade.rewards.hack_check import check_verifier as check_verifier
    from saccade.rewards.reward import AnyReward as AnyReward
    from saccade.rewards.reward import GroupReward as GroupReward
    from saccade.rewards.reward import GroupScores as GroupScores
    from saccade.rewards.reward import OutcomeReward as OutcomeReward
    from saccade.rewards.reward import Reward as Reward
    from saccade.rewards.reward import RuleReward as RuleReward
    from saccade.rewards.reward import check_scorable as check_scorable
    from saccade.rewards.reward import counts_as_right as counts_as_right
    from saccade.rewards.reward import is_correct as is_correct
    from saccade.rewards.reward import keeps_format as keeps_format
    from saccade.rewards.tool_use import CodeDanceReward as CodeDanceReward
    from saccade.rewards.tool_use import DeepEyesReward as DeepEyesReward
    from saccade.rewards.tool_use import execution_returns as execution_returns
    from saccade.types import Score as Score
    from saccade.types import Term as Term
else:
    __getattr__, __dir__ = names_on_use(__name__)
