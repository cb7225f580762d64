"""Credit of long episodes: what an environment pays turn by turn, as discounted returns or through a critic."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from saccade.algorithms.advantages import GroupAdvantages, reward_of
from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.turn_credit import refuse_pairs, turn_signal
from saccade.errors import UserError
from saccade.types import Group, Trajectory

StepRewards = Callable[[Trajectory], Sequence[float]]
"""What each turn of a trajectory earned from its environment."""


@dataclass(frozen=True, kw_only=True)
class StepCredit:
    """Credit assignment to single turns; ``group_weight=1`` with ``weight=0`` is the plain algorithm."""

    discount: float = 0.99
    """Discount per turn."""
    weight: float = 1.0
    """Weight of the turns' returns, normalised over the batch."""
    group_weight: float = 0.0
    """Weight of the algorithm's own advantages, by the episodes' totals inside their groups."""
    gae_lambda: float = 0.95
    """GAE's lambda per turn; for algorithms with a critic, which take no weights."""

    def check(self) -> None:
        if not 0 <= self.discount <= 1 or not 0 <= self.gae_lambda <= 1:
            raise UserError(f"discount={self.discount} and gae_lambda={self.gae_lambda} must lie between 0 and 1")
        if not (0 <= self.weight < math.inf and 0 <= self.group_weight < math.inf and self.weight + self.group_weight):
            raise UserError(
                f"weight={self.weight} and group_weight={self.group_weight} must be finite, 0 or more, and not both 0"
            )

    def added_to(self, algorithm: Algorithm, step_rewards: StepRewards) -> Algorithm:
        """The algorithm with credit for single turns.

        Without a critic a turn's advantage is its discounted return G_t = sum of discount^k r_{t+k}, less the mean and
        over the standard deviation of all turns of the batch, beside the algorithm's own advantage. With one the
        rewards arrive at the last token of their turns and GAE steps from turn to turn, inside which discount and
        lambda are 1 (the two levels of VAGEN's bi-level GAE, with lambda 1 on the lower).
        """

        refuse_pairs(algorithm, "credit for single turns")

        def rewards_of(trajectory: Trajectory) -> list[float]:
            return turn_rewards(trajectory, step_rewards)

        if algorithm.critic is not None:
            critic = replace(algorithm.critic, discounts_turns=True, discount=self.discount, gae_lambda=self.gae_lambda)
            return replace(
                algorithm, name=f"{algorithm.name} with step rewards", critic=critic, turn_rewards=rewards_of
            )

        def advantages(groups: Sequence[Group]) -> GroupAdvantages:
            signal = turn_signal(groups, lambda one: discounted_returns(rewards_of(one), self.discount))
            own = algorithm.advantages(groups)
            return [
                [
                    [self.group_weight * a + self.weight * s for a, s in zip(of_own, of_signal, strict=True)]
                    for of_own, of_signal in zip(own_group, signal_group, strict=True)
                ]
                for own_group, signal_group in zip(own, signal, strict=True)
            ]

        return replace(algorithm, name=f"{algorithm.name} with step returns", advantages=advantages)


def turn_rewards(trajectory: Trajectory, step_rewards: StepRewards) -> list[float]:
    """Rewards of the turns that add up to the score: what it has beside the steps (a penalty) arrives at the end."""
    rewards = [float(reward) for reward in step_rewards(trajectory)]
    if rewards:
        rewards[-1] += reward_of(trajectory) - math.fsum(rewards)
    return rewards


def discounted_returns(rewards: Sequence[float], discount: float) -> list[float]:
    """G_t = r_t + discount * G_{t+1}, in the order of the rewards."""
    returns: list[float] = []
    following = 0.0
    for reward in reversed(rewards):
        following = reward + discount * following
        returns.append(following)
    return returns[::-1]
