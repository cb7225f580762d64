"""Losses of pairs: what DPO and its relatives make of two trajectories of one question, and the exact gradient of that.

With s = log p(trajectory) - log p_ref(trajectory), summed over the action tokens of all turns and contexts, and
d = s_chosen - s_rejected:

=========  ====================================================================  =============================
sigmoid    -(1 - e) log sigmoid(x) - e log sigmoid(-x), x = beta d - margin       DPO (arXiv 2305.18290, eq. 7)
robust     the same with -e of the second term, / (1 - 2e)                        arXiv 2403.00409
hinge      max(0, 1 - beta d)                                                     SLiC (arXiv 2305.10425)
ipo        (d - 1 / (2 beta))^2, with s a mean over tokens                        IPO (arXiv 2310.12036, eq. 17)
=========  ====================================================================  =============================

A loss L(d) reaches the weights through two sums of log-probabilities alone, so its gradient is
L'(d) (grad s_chosen - grad s_rejected). L'(d) needs no gradient: it is found with one forward of both under the present
weights, and is then each token's advantage in a policy gradient. The two sequences may so lie in any micro-batches, on
any ranks, and the step is exact as long as it is the only one of its batch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade import metric_names as metric
from saccade.algorithms.advantages import reward_of
from saccade.algorithms.options import PairLoss, PairRule
from saccade.types import Group, ImageRef, Trajectory


def pair_loss(loss: PairLoss, difference: float) -> float:
    """L(d)."""
    if loss.kind == "ipo":
        return (difference - 1 / (2 * loss.beta)) ** 2
    x, wrong = loss.beta * difference - loss.target_margin, loss.label_smoothing
    if loss.kind == "hinge":
        return max(0.0, 1 - x)
    if loss.kind == "robust":
        return ((1 - wrong) * _softplus(-x) - wrong * _softplus(x)) / (1 - 2 * wrong)
    return (1 - wrong) * _softplus(-x) + wrong * _softplus(x)


def pair_slope(loss: PairLoss, difference: float) -> float:
    """L'(d)."""
    if loss.kind == "ipo":
        return 2 * (difference - 1 / (2 * loss.beta))
    x, wrong = loss.beta * difference - loss.target_margin, loss.label_smoothing
    if loss.kind == "hinge":
        return -loss.beta if x < 1 else 0.0
    if loss.kind == "robust":
        return -loss.beta * (wrong * _sigmoid(x) + (1 - wrong) * _sigmoid(-x)) / (1 - 2 * wrong)
    return loss.beta * (wrong * _sigmoid(x) - (1 - wrong) * _sigmoid(-x))


@dataclass(frozen=True, kw_only=True, slots=True)
class Likelihood:
    """How likely a trajectory is."""

    logprob: float
    """Sum over its action tokens under the policy as it is now."""
    reference: float
    """The same under the reference; 0 without one."""
    tokens: int

    def score(self, loss: PairLoss) -> float:
        gained = self.logprob - self.reference
        return gained / self.tokens if loss.is_per_token else gained


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedPairs:
    """Pairs of a batch as their loss sees them."""

    advantages: tuple[float, ...]
    """For each trajectory minus the derivative of the batch's mean loss by the log-probability of one of its tokens;
    0 for one that is in no pair."""
    metrics: Mapping[str, float]
    """Means over pairs, by TRL's names; rewards are beta times what the loss compares."""


def compared_pairs(
    pairs: Sequence[tuple[int, int]], likelihoods: Sequence[Likelihood], loss: PairLoss
) -> ComparedPairs:
    """``pairs`` are (chosen, rejected), as places in ``likelihoods``; a trajectory may be in several."""
    advantages = [0.0] * len(likelihoods)
    losses, chosen, rejected = list[float](), list[float](), list[float]()
    imitated = sum(likelihoods[better].tokens for better, _ in pairs)
    for better, worse in pairs:
        scores = likelihoods[better].score(loss), likelihoods[worse].score(loss)
        pull = -pair_slope(loss, scores[0] - scores[1]) / len(pairs)
        for place, sign in ((better, 1), (worse, -1)):
            advantages[place] += sign * pull / (likelihoods[place].tokens if loss.is_per_token else 1)
        advantages[better] += loss.sft_weight / imitated
        imitation = loss.sft_weight * likelihoods[better].logprob * len(pairs) / imitated
        losses.append(pair_loss(loss, scores[0] - scores[1]) - imitation)
        chosen.append(loss.beta * scores[0])
        rejected.append(loss.beta * scores[1])
    figures = {
        metric.PAIR_LOSS: losses,
        metric.CHOSEN_REWARD: chosen,
        metric.REJECTED_REWARD: rejected,
        metric.PAIR_MARGIN: [one - other for one, other in zip(chosen, rejected)],
        metric.PAIR_ACCURACY: [float(one > other) for one, other in zip(chosen, rejected)],
        "logps/chosen": [likelihoods[better].logprob for better, _ in pairs],
        "logps/rejected": [likelihoods[worse].logprob for _, worse in pairs],
        metric.CHOSEN_LENGTH: [float(likelihoods[better].tokens) for better, _ in pairs],
        metric.REJECTED_LENGTH: [float(likelihoods[worse].tokens) for _, worse in pairs],
    }
    means = {name: math.fsum(values) / len(pairs) for name, values in figures.items() if pairs}
    return ComparedPairs(advantages=tuple(advantages), metrics={metric.PAIRS: float(len(pairs)), **means})


def pairs_of(group: Group, rule: PairRule) -> list[tuple[int, int]]:
    """Places of (chosen, rejected) in the group.

    Left out are trajectories that the machine failed, that have no score, or in which the policy said nothing. A wrong
    answer is never chosen over a right one, whatever else was paid for.
    """
    places = [place for place, one in enumerate(group.trajectories) if _is_comparable(one)]
    # Right before wrong, then by reward; of equal ones the first was sampled first, which says nothing of either.
    places.sort(key=lambda place: _rank(group.trajectories[place]), reverse=True)
    facing = zip(places[: min(rule.per_group, len(places) // 2)], reversed(places))
    return [
        (better, worse)
        for better, worse in facing
        if _is_apart(group.trajectories[better], group.trajectories[worse], rule)
    ]


def _is_apart(one: Trajectory, other: Trajectory, rule: PairRule) -> bool:
    gap = reward_of(one) - reward_of(other)
    return gap > 0 and gap >= rule.least_gap and is_pair(one, other)


def _is_comparable(one: Trajectory) -> bool:
    return one.status != "failed" and one.score is not None and any(one.action_mask)


def _rank(one: Trajectory) -> tuple[bool, float]:
    return one.score is not None and one.score.is_right is True, reward_of(one)


def is_pair(one: Trajectory, other: Trajectory) -> bool:
    """Whether they answer the same prompt, and not with the same tokens."""
    return prompt_of(one) == prompt_of(other) and actions_of(one) != actions_of(other)


def prompt_of(one: Trajectory) -> tuple[tuple[int, ...], tuple[ImageRef, ...]]:
    """Ids and pictures of what it begins with."""
    return one.segments[0].ids, one.segments[0].images


def actions_of(one: Trajectory) -> tuple[tuple[int, ...], ...]:
    """Ids of all that the policy said, turn by turn."""
    return tuple(segment.ids for segment in one.segments if segment.role == "action")


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _softplus(x: float) -> float:
    """-log sigmoid(-x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
