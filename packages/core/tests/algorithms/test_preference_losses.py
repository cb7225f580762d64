"""Losses of pairs on numbers worked out by hand, and beside autograd of what they are written as."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from algorithm_samples import group, trajectory
from torch import Tensor
from torch.nn.functional import logsigmoid

from saccade.algorithms.options import PairLoss, PairRule
from saccade.algorithms.preference import Likelihood, compared_pairs, pair_loss, pair_slope, pairs_of
from saccade.errors import UserError
from saccade.types import Group, Score, Segment, Term, Trajectory


def likely(logprob: float, reference: float = 0.0, tokens: int = 1) -> Likelihood:
    return Likelihood(logprob=logprob, reference=reference, tokens=tokens)


def test_dpo_on_a_pair_worked_out_by_hand() -> None:
    # log ratios 3 and -1, so d = 4 and x = 0.5 * 4 = 2.
    found = compared_pairs([(1, 0)], [likely(-7, -6, 4), likely(-2, -5, 2)], PairLoss(beta=0.5))
    sigmoid_minus_2 = 1 / (1 + math.exp(2))
    assert found.metrics["pair_loss"] == pytest.approx(math.log(1 + math.exp(-2)))
    assert found.advantages == pytest.approx((-0.5 * sigmoid_minus_2, 0.5 * sigmoid_minus_2))
    assert found.metrics["rewards/chosen"] == 1.5
    assert found.metrics["rewards/rejected"] == -0.5
    assert found.metrics["rewards/margins"] == 2.0
    assert found.metrics["rewards/accuracies"] == 1.0
    assert (found.metrics["lengths/chosen"], found.metrics["lengths/rejected"], found.metrics["pairs"]) == (2, 4, 1)


def test_at_the_reference_every_pair_pulls_alike_and_none_counts_as_ranked() -> None:
    found = compared_pairs([(0, 1)], [likely(-3, -3), likely(-9, -9)], PairLoss(beta=0.1))
    assert found.metrics["pair_loss"] == pytest.approx(math.log(2))
    assert found.advantages == pytest.approx((0.05, -0.05))
    assert found.metrics["rewards/accuracies"] == 0.0


def test_ipo_hinge_and_simpo_by_hand() -> None:
    rows = [likely(-2, -5, 3), likely(-9, -7, 2)]
    # Means over tokens 1 and -1: d = 2, the target 1 / (2 * 0.5) = 1.
    ipo = compared_pairs([(0, 1)], rows, PairLoss(kind="ipo", beta=0.5))
    assert ipo.metrics["pair_loss"] == pytest.approx(1.0)
    assert ipo.advantages == pytest.approx((-2 / 3, 2 / 2))
    # Sums 3 and -2: beta d = 0.5, so that 0.5 is missing; beyond the margin nothing pulls.
    hinge = compared_pairs([(0, 1)], rows, PairLoss(kind="hinge", beta=0.1))
    assert hinge.metrics["pair_loss"] == pytest.approx(0.5)
    assert hinge.advantages == pytest.approx((0.1, -0.1))
    assert compared_pairs([(0, 1)], rows, PairLoss(kind="hinge", beta=0.3)).advantages == (0.0, 0.0)
    # Without a reference -2 / 3 and -4.5: x = 2 * 3.8333 - 1.
    simpo = PairLoss(beta=2, length_normalised=True, reference_free=True, target_margin=1)
    free = compared_pairs([(0, 1)], [likely(-2, tokens=3), likely(-9, tokens=2)], simpo)
    x = 2 * (4.5 - 2 / 3) - 1
    assert free.metrics["pair_loss"] == pytest.approx(math.log(1 + math.exp(-x)))
    assert free.advantages == pytest.approx((2 / (1 + math.exp(x)) / 3, -2 / (1 + math.exp(x)) / 2))


LOSSES = (
    PairLoss(),
    PairLoss(beta=0.7, label_smoothing=0.2),
    PairLoss(kind="robust", beta=0.7, label_smoothing=0.2),
    PairLoss(kind="hinge", beta=0.05),
    PairLoss(kind="ipo", beta=0.3),
    PairLoss(beta=0.4, length_normalised=True),
    PairLoss(beta=2.0, length_normalised=True, reference_free=True, target_margin=0.5),
    PairLoss(beta=0.1, sft_weight=0.3),
)


def written_loss(loss: PairLoss, pairs: Sequence[tuple[int, int]], sums: Tensor, rows: Sequence[Likelihood]) -> Tensor:
    """The papers' formulas in torch."""
    counts = torch.tensor([float(one.tokens) for one in rows], dtype=torch.float64)
    scores = sums - torch.tensor([one.reference for one in rows], dtype=torch.float64)
    scores = scores / counts if loss.is_per_token else scores
    better, worse = [one for one, _ in pairs], [other for _, other in pairs]
    d, wrong = scores[better] - scores[worse], loss.label_smoothing
    x = loss.beta * d - loss.target_margin
    by_kind: dict[str, Callable[[], Tensor]] = {
        "sigmoid": lambda: -(1 - wrong) * logsigmoid(x) - wrong * logsigmoid(-x),
        "robust": lambda: (-(1 - wrong) * logsigmoid(x) + wrong * logsigmoid(-x)) / (1 - 2 * wrong),
        "hinge": lambda: torch.relu(1 - x),
        "ipo": lambda: (d - 1 / (2 * loss.beta)) ** 2,
    }
    imitated = -sums[better].sum() / counts[better].sum()
    return by_kind[loss.kind]().mean() + loss.sft_weight * imitated


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_value_and_gradient_are_those_of_autograd(loss: PairLoss) -> None:
    rows = [likely(-4.0, -6.5, 7), likely(-9.0, -6.0, 3), likely(-8.0, -8.5, 12), likely(-1.0, -1.0, 1)]
    rows = [replace(one, reference=0.0) for one in rows] if loss.reference_free else rows
    # A trajectory in two pairs, a pair that is ranked wrongly, and one that is in none.
    pairs = [(0, 1), (2, 0)]
    sums = torch.tensor([one.logprob for one in rows], dtype=torch.float64, requires_grad=True)
    written = written_loss(loss, pairs, sums, rows)
    written.backward()
    found = compared_pairs(pairs, rows, loss)
    assert found.metrics["pair_loss"] == pytest.approx(written.item(), abs=1e-12)
    assert found.advantages == pytest.approx([-one for one in sums.grad.tolist()], abs=1e-12)


def test_losses_stay_finite_far_away() -> None:
    for loss in LOSSES:
        for difference in (-1e5, 1e5):
            assert math.isfinite(pair_loss(loss, difference))
            assert math.isfinite(pair_slope(loss, difference))


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (PairLoss(beta=0.0), "beta=0.0 must be"),
        (PairLoss(label_smoothing=0.5), "label_smoothing=0.5 must be below 0.5"),
        (PairLoss(kind="hinge", label_smoothing=0.1), "label_smoothing=0.1 is for kind=sigmoid and robust, not hinge"),
        (PairLoss(kind="ipo", target_margin=1), "target_margin=1 is for kind=sigmoid, not ipo"),
        (PairLoss(kind="ipo", length_normalised=True), "changes nothing with kind=ipo"),
        (PairLoss(sft_weight=-1), "sft_weight=-1 must be"),
    ],
)
def test_settings_without_effect_or_sense_are_refused(loss: PairLoss, said: str) -> None:
    with pytest.raises(UserError, match=said):
        loss.check()


def said(reward: float | None, ids: Sequence[int], *, is_right: bool | None = None, prompt: int = 1) -> Trajectory:
    base = trajectory(reward, tokens=1, status="answered" if reward is not None else "failed")
    segments = (
        Segment(role="prompt", turn=0, ids=(prompt,)),
        Segment(role="action", turn=0, ids=tuple(ids), logprobs=(-1.0,) * len(ids)),
    )
    score = None if reward is None else Score(terms=(Term("reward", reward),), is_right=is_right)
    return replace(base, segments=segments if ids else segments[:1], score=score)


def of(*trajectories: Trajectory) -> Group:
    return group(*trajectories)


def test_the_best_is_held_against_the_worst_and_so_on_while_rewards_differ() -> None:
    rewards = (0.0, 1.0, 0.5, 0.0, 1.0, 0.0)
    group = of(*(said(reward, [place]) for place, reward in enumerate(rewards)))
    # In order: 1 and 4 (1.0), 2 (0.5), then 0, 3 and 5.
    assert pairs_of(group, PairRule()) == [(1, 5), (4, 3), (2, 0)]
    assert pairs_of(group, PairRule(per_group=1)) == [(1, 5)]
    assert pairs_of(group, PairRule(least_gap=0.6)) == [(1, 5), (4, 3)]
    assert pairs_of(group, PairRule(least_gap=1.5)) == []


def test_no_pair_of_equal_rewards_failed_trajectories_or_silent_ones() -> None:
    rule = PairRule()
    assert pairs_of(of(said(1.0, [1]), said(1.0, [2]), said(1.0, [3])), rule) == []
    assert pairs_of(of(said(1.0, [1]), said(None, [2])), rule) == []
    assert pairs_of(of(said(1.0, [1]), said(0.0, [])), rule) == []
    assert pairs_of(of(said(1.0, [1])), rule) == []
    assert pairs_of(of(), rule) == []


def test_the_same_tokens_and_other_prompts_make_no_pair() -> None:
    # A judge that says two things of one answer, and an environment that asks otherwise each time.
    assert pairs_of(of(said(1.0, [1, 2]), said(0.0, [1, 2])), PairRule()) == []
    assert pairs_of(of(said(1.0, [1]), said(0.0, [2], prompt=9)), PairRule()) == []


def test_a_wrong_answer_that_earns_more_is_never_chosen_over_a_right_one() -> None:
    hacked = of(said(0.4, [1], is_right=True), said(0.9, [2], is_right=False), said(0.1, [3], is_right=False))
    assert pairs_of(hacked, PairRule()) == [(0, 2)]
    assert pairs_of(of(*hacked.trajectories[:2]), PairRule()) == []


def test_of_a_pair_that_differs_only_in_length_the_sum_pushes_the_tail_and_the_mean_the_whole() -> None:
    # The rejected one says the same two tokens and then goes on for eight.
    rows = [likely(-2.0, -2.0, 2), likely(-10.0, -10.0, 10)]
    by_sum = compared_pairs([(0, 1)], rows, PairLoss()).advantages
    # On the shared tokens the two cancel; each of the eight is pushed down in full.
    assert by_sum[0] + by_sum[1] == 0.0
    by_mean = compared_pairs([(0, 1)], rows, PairLoss(length_normalised=True)).advantages
    assert by_mean[0] == pytest.approx(-5 * by_mean[1])
    assert abs(by_mean[1]) < abs(by_sum[1]) / 9
