"""Tasks and tools as an environment of TRL's ``GRPOTrainer``: the environment class, a data set's rows, a reward."""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.trl.environment import TrlEnvironment, answer_score, environment_class, rows
    from saccade.interop.trl.rewards import RewardFunction, reward_function
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "RewardFunction",
    "TrlEnvironment",
    "answer_score",
    "environment_class",
    "reward_function",
    "rows",
]
