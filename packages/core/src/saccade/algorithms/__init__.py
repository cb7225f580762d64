"""Algorithms, from scored groups to a gradient: advantages, losses, filters, a critic. An algorithm is a value.

Start in ``algorithm.py``, which says what the trainer needs, then ``policy_gradient.py``: all algorithms are one
function with other advantages and clips. ``losses.py`` has the formulas, ``corrections.py`` those for tokens that
another policy sampled, ``dapo.py`` the filters of groups. Each later algorithm is a file of its own: losses
(``cispo.py``, ``sapo.py``, ``gmpo.py``, ``luspo.py``, ``vespo.py``) and advantages (``gdpo.py``, ``maxrl.py``,
``reinforce_plus_plus.py``).
"""

from saccade.algorithms.advantages import PerToken, group_relative, leave_one_out
from saccade.algorithms.algorithm import Aggregation, Algorithm, Loss, PolicyLoss, PolicyTokens
from saccade.algorithms.critic import Critic
from saccade.algorithms.dapo import SoftOverlong, dapo
from saccade.algorithms.losses import clipped_surrogate, negative_log_likelihood
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, policy_gradient, ppo, rloo
from saccade.algorithms.step_returns import StepCredit
from saccade.algorithms.turn_credit import with_turn_credit

__all__ = [
    "Aggregation",
    "Algorithm",
    "Critic",
    "Loss",
    "PerToken",
    "PolicyLoss",
    "PolicyOptions",
    "PolicyTokens",
    "SoftOverlong",
    "StepCredit",
    "clipped_surrogate",
    "dapo",
    "dr_grpo",
    "group_relative",
    "grpo",
    "gspo",
    "leave_one_out",
    "negative_log_likelihood",
    "policy_gradient",
    "ppo",
    "rloo",
    "with_turn_credit",
]
