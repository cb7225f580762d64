"""PPO's critic: targets of its values (returns), and generalised advantage estimates from them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from saccade.algorithms.advantages import PerToken, reward_of
from saccade.errors import UserError
from saccade.types import Group, Trajectory

ByToken = Sequence[Sequence[Sequence[float]]]
"""Indexed by group, trajectory, action token."""

_VARIANCE_FLOOR = 1e-8


@dataclass(frozen=True, kw_only=True, slots=True)
class Critic:
    """Settings of a critic; the network itself is the learner's ``ValueHead``."""

    gae_lambda: float = 1.0
    """Below 1, early tokens are credited with what the critic expects of later ones. A critic that has not learned yet
    expects 0, and whitened advantages then punish every token far from the end: at 0.95 in miniature PPO forgot what it
    had imitated (``studies/vista_r1``)."""
    discount: float = 1.0
    """Discount per action token."""
    value_clip: float = 0.2
    """How far a value may move from its value when the batch arrived; inf never clips."""
    value_weight: float = 0.5
    """Weight of the value loss beside the policy's."""
    learning_rate: float = 1e-4
    """Learning rate of the value head alone, which starts untrained; the trunk keeps the policy's."""
    trains_trunk: bool = False
    """Whether the value loss changes the language model too, or its head alone."""
    whitens: bool = True
    """Whether advantages get mean 0 and variance 1 over all action tokens of the batch."""
    discounts_turns: bool = False
    """Whether ``discount`` and ``gae_lambda`` are per turn: inside a turn both are 1 then."""

    def check(self) -> None:
        for name in ("gae_lambda", "discount"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name}={getattr(self, name)} must lie between 0 and 1")
        if not self.value_clip > 0:
            raise UserError(f"value_clip={self.value_clip} must be above 0; inf never clips")
        for name in ("value_weight", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise UserError(f"{name}={getattr(self, name)} must be a finite number above 0: the critic must learn")

    def targets(
        self,
        groups: Sequence[Group],
        values: ByToken,
        token_rewards: ByToken,
        turn_rewards: Callable[[Trajectory], Sequence[float]] | None = None,
    ) -> tuple[list[list[PerToken]], list[list[tuple[float, ...]]]]:
        """Advantages (GAE, arXiv 1506.02438, equation 16) and returns (advantage + value) of every action token.

        ``values`` are the critic's when the batch arrived. ``token_rewards`` is what single tokens earn beside the
        score, such as a KL penalty; the score itself arrives at the trajectory's last action token, or, with
        ``turn_rewards`` that add up to it, turn by turn at the last token of each. Observations in between take no
        step: the state after an action token is the one before the next. After the last token the value is 0, also
        where a limit ended the trajectory. Returns are never whitened. A ``failed`` trajectory has zeros, one for each
        of its values, and does not enter the whitening.
        """
        advantages: list[list[PerToken]] = []
        returns: list[list[tuple[float, ...]]] = []
        for group, of_group, extra in zip(groups, values, token_rewards, strict=True):
            advantages.append([])
            returns.append([])
            for trajectory, own, earned in zip(group.trajectories, of_group, extra, strict=True):
                if trajectory.status == "failed" or not own:
                    advantages[-1].append(PerToken(0.0 for _ in own))
                    returns[-1].append(tuple(0.0 for _ in own))
                    continue
                lasts = last_tokens(trajectory)
                rewards = list(earned)
                if turn_rewards is None:
                    rewards[-1] += reward_of(trajectory)
                else:
                    for place, of_turn in zip(lasts, turn_rewards(trajectory), strict=True):
                        rewards[place] += of_turn
                steps = frozenset(lasts) if self.discounts_turns else None
                estimate = gae(rewards, own, gae_lambda=self.gae_lambda, discount=self.discount, steps=steps)
                advantages[-1].append(PerToken(estimate))
                returns[-1].append(tuple(a + v for a, v in zip(estimate, own)))
        return (whitened(groups, advantages) if self.whitens else advantages), returns


def last_tokens(trajectory: Trajectory) -> list[int]:
    """Index of the last action token of each turn, among the action tokens of the trajectory."""
    counts = [len(segment.ids) for segment in trajectory.segments if segment.role == "action"]
    return [count - 1 for count in accumulate(counts)]


def gae(
    rewards: Sequence[float],
    values: Sequence[float],
    *,
    gae_lambda: float,
    discount: float,
    steps: frozenset[int] | None = None,
) -> list[float]:
    """Generalised advantage estimates of one trajectory, whose value after the last step is 0.

    A_t = delta_t + discount * lambda * A_{t+1} with delta_t = r_t + discount * V_{t+1} - V_t (equation 16). With
    ``steps`` only these places take a step of time: discount and lambda are 1 at all others.
    """
    advantages: list[float] = []
    following, following_value = 0.0, 0.0
    for place in reversed(range(len(values))):
        takes_step = steps is None or place in steps
        kept, trace = (discount, gae_lambda) if takes_step else (1.0, 1.0)
        following = rewards[place] + kept * following_value - values[place] + kept * trace * following
        following_value = values[place]
        advantages.append(following)
    return advantages[::-1]


def whitened(groups: Sequence[Group], advantages: Sequence[Sequence[PerToken]]) -> list[list[PerToken]]:
    """Mean 0 and unbiased variance 1 over all action tokens of the batch; ``failed`` trajectories keep their zeros.

    A batch whose advantages are all exactly equal, as a single token's are, gives zeros.
    """
    numbers = [
        number
        for group, of_group in zip(groups, advantages, strict=True)
        for trajectory, of_trajectory in zip(group.trajectories, of_group, strict=True)
        if trajectory.status != "failed"
        for number in of_trajectory
    ]
    mean = math.fsum(numbers) / len(numbers) if numbers else 0.0
    scale = 0.0
    if len(set(numbers)) > 1:
        variance = math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1)
        scale = 1.0 / math.sqrt(variance + _VARIANCE_FLOOR)
    return [
        [
            of_trajectory
            if trajectory.status == "failed"
            else PerToken((number - mean) * scale for number in of_trajectory)
            for trajectory, of_trajectory in zip(group.trajectories, of_group)
        ]
        for group, of_group in zip(groups, advantages)
    ]
