"""Tasks and tools as an environment of TRL's ``GRPOTrainer``: the environment class, a data set's rows, a reward."""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.trl.environment import TrlEnvironment as TrlEnvironment
    from saccade.interop.trl.environment import answer_score as answer_score
    from saccade.interop.trl.environment import environment_class as environment_class
    from saccade.interop.trl.environment import rows as rows
    from saccade.interop.trl.rewards import RewardFunction as RewardFunction
    from saccade.interop.trl.rewards import reward_function as reward_function
else:
    __getattr__, __dir__ = names_on_use(__name__)
