"""Argos' theory (section 3.3, appendix E): the bound of theorem 1 and its corollary, and a simulation of both.

An action is delta-dominated where another one is better by delta in every reward. A group of n actions is drawn from
a policy that puts ``beta`` on actions that nothing dominates; the action of the largest weighted sum of m noisy
rewards is taken. The paper bounds from below the probability that it is one that nothing dominates.

**The bound is no theorem.** Its proof takes "not dominated by another member of the group" (lemma 2) for "not
dominated at all". A member whose dominator was not drawn may have a larger sum than one that nothing dominates:
``COUNTEREXAMPLE`` is true with 0.25 where the bound says 0.75, without any noise. What does hold, and what
``simulate`` measures beside it: the taken action is rarely dominated *by a member of its group*, with the union bound
over all pairs, n (n - 1) / 2, since which pairs matter depends on the noise. With one reward, or where each action
that nothing dominates has a larger sum than each that something does, the bound holds as it is printed.

At group sizes in use it is often empty: four rewards with noise of 0.25 and delta 0.4 give 0 for 16 samples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError

LARGEST_GROUP = 4096


def pareto_bound(
    n: int,
    beta: float,
    m: int,
    delta: float,
    sigma: float,
    weights: Sequence[float],
    gamma: float | None = None,
) -> float:
    """The printed bound of theorem 1, or of corollary 1 with the margin ``gamma`` of the gate; in [0, 1].

    (1 - (1 - beta)^n) (1 - (n - 1) e^(-C m)) with C = delta^2 / (4 sigma^2) (w_min / w_max)^2; with ``gamma`` also
    times 1 - n e^(-gamma^2 / (2 sigma^2)), and m + 1 rewards in the exponent. Each factor is kept above 0: two
    negative ones would give a "probability" above 1. ``weights`` are those of all rewards that are added up, m or,
    with a gate, m + 1. UserError for values that mean nothing.
    """
    _check(n, beta, m, delta, sigma, weights, gamma)
    added = m if gamma is None else m + 1
    spread = math.inf if sigma == 0 else (delta / (2 * sigma) * min(weights) / max(weights)) ** 2
    finds = 1 - (1 - beta) ** n
    ranks = 1 - (n - 1) * math.exp(-spread * added)
    gates = 1.0
    if gamma is not None and sigma > 0:
        gates = 1 - n * math.exp(-(gamma**2) / (2 * sigma**2))
    return max(0.0, finds) * max(0.0, ranks) * max(0.0, gates)


def best_group_size(
    beta: float,
    m: int,
    delta: float,
    sigma: float,
    weights: Sequence[float],
    gamma: float | None = None,
    *,
    largest: int = LARGEST_GROUP,
) -> int:
    """The group size from 1 to ``largest`` at which ``pareto_bound`` is largest, the smallest one of equals.

    Remark 2 approximates it by (1 / beta) ln(1 + beta e^(C m)).
    """
    sizes = range(1, largest + 1)
    return max(sizes, key=lambda n: (pareto_bound(n, beta, m, delta, sigma, weights, gamma), -n))


def _check(
    n: int, beta: float, m: int, delta: float, sigma: float, weights: Sequence[float], gamma: float | None
) -> None:
    added = m if gamma is None else m + 1
    if n < 1 or m < 1:
        raise UserError(f"n={n} and m={m} must be 1 or more: samples of a group, and rewards")
    if not 0 <= beta <= 1:
        raise UserError(f"beta={beta} must lie between 0 and 1: it is the policy's share of undominated actions")
    if not 0 < delta < math.inf or not 0 <= sigma < math.inf or (gamma is not None and not 0 < gamma < math.inf):
        raise UserError(f"delta={delta}, sigma={sigma} and gamma={gamma} must be positive and finite (sigma may be 0)")
    if len(weights) != added or not all(0 < weight < math.inf for weight in weights):
        raise UserError(f"weights={tuple(weights)} must be {added} positive numbers, one for each reward that is added")


@dataclass(frozen=True, kw_only=True)
class NoisyRewards:
    """A policy over finitely many actions, their true rewards, and the noise of their estimates."""

    rewards: Sequence[Sequence[float]]
    """For each action its m true rewards."""
    policy: Sequence[float]
    """For each action its probability."""
    delta: float
    sigma: float
    """Standard deviation of the Gaussian noise, fresh for every action drawn and every reward."""
    weights: Sequence[float]

    def undominated(self) -> NDArray[np.bool_]:
        """For each action whether no other one is better by delta in every reward (definition 2); shape (actions,)."""
        dominates = _dominates(np.array(self.rewards, dtype=float), self.delta)
        return np.asarray(~np.any(dominates, axis=0), dtype=np.bool_)

    @property
    def beta(self) -> float:
        """The policy's share of undominated actions."""
        return float(np.array(self.policy)[self.undominated()].sum())


COUNTEREXAMPLE = NoisyRewards(
    rewards=((0.0, 1.0), (0.9, 0.3), (1.5, 0.9)), policy=(0.5, 0.5, 0.0), delta=0.5, sigma=0.0, weights=(1.0, 1.0)
)
"""With two samples the second action wins where it is drawn; only the third, which is never drawn, dominates it."""


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Shares of simulated groups."""

    undominated: float
    """The taken action is one that nothing dominates: what theorem 1 speaks of."""
    best_of_group: float
    """Nothing in its group dominates the taken action: what lemma 2 speaks of."""
    bound: float
    """``pareto_bound`` of the same numbers."""
    groups: int


def simulate(setting: NoisyRewards, n: int, *, groups: int = 10_000, seed: int = 0) -> Simulated:
    """Draws ``groups`` groups of n actions and takes the one of the largest noisy weighted sum in each."""
    rewards, weights = np.array(setting.rewards, dtype=float), np.array(setting.weights, dtype=float)
    m = rewards.shape[1]
    bound = pareto_bound(n, setting.beta, m, setting.delta, setting.sigma, setting.weights)
    chance = np.random.default_rng(seed)
    drawn = chance.choice(len(rewards), size=(groups, n), p=np.array(setting.policy))
    noise = chance.normal(0.0, 1.0, size=(groups, n, m)) * setting.sigma
    taken = drawn[np.arange(groups), ((rewards[drawn] + noise) @ weights).argmax(axis=1)]
    dominates = _dominates(rewards, setting.delta)
    return Simulated(
        undominated=float(setting.undominated()[taken].mean()),
        best_of_group=float((~dominates[drawn, taken[:, None]].any(axis=1)).mean()),
        bound=bound,
        groups=groups,
    )


def _dominates(rewards: NDArray[np.float64], delta: float) -> NDArray[np.bool_]:
    """[a, b] says whether action a is better than b by delta in every reward; shape (actions, actions)."""
    return np.asarray(np.all(rewards[:, None] >= rewards[None] + delta - 1e-12, axis=2), dtype=np.bool_)
