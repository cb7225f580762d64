"""Corrections for tokens that another policy sampled, on numbers worked out by hand, and attacked."""

import math
from collections.abc import Sequence

import pytest
import torch
from algorithm_samples import policy_tokens

from saccade.algorithms.algorithm import Loss, PolicyTokens
from saccade.algorithms.corrections import (
    DPPO_RATIO_CAP,
    icepop_weights,
    is_in_band,
    leaves_trust_region,
    truncated_weights,
)
from saccade.algorithms.losses import clipped_surrogate
from saccade.algorithms.options import Importance, PolicyOptions
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, ppo
from saccade.errors import UserError

CORRECTIONS: tuple[Importance, ...] = ("token", "sequence", "icepop", "dppo")


def logs(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).log()


def corrected(tokens: PolicyTokens, importance: Importance) -> Loss:
    return clipped_surrogate(tokens, options=PolicyOptions(importance=importance))


def gradient(
    importance: Importance, logprobs: Sequence[float], sampled: Sequence[float], advantages: Sequence[float]
) -> list[float]:
    own = torch.tensor(logprobs, dtype=torch.float64, requires_grad=True)
    corrected(policy_tokens(own, sampled=sampled, advantages=advantages), importance).value.backward()
    assert own.grad is not None
    return own.grad.tolist()


def test_truncated_weights_cut_above_and_never_below() -> None:
    assert truncated_weights(logs(0.25, 1.0, 1.9, 2.1), cap=2.0).tolist() == pytest.approx([0.25, 1.0, 1.9, 2.0])


def test_icepop_keeps_ratios_in_its_band_as_they_are_and_drops_all_others() -> None:
    weights = icepop_weights(logs(0.4, 0.6, 1.0, 4.9, 5.1), low=0.5, high=5.0)
    assert weights.tolist() == pytest.approx([0.0, 0.6, 1.0, 4.9, 0.0])


def test_icepop_in_the_loss_leaves_the_divisor_of_the_mean_alone() -> None:
    # Ratios of learner to sampler 0.5 (edge, kept), 2 and 8 (dropped), each with a third of the mean.
    tokens = policy_tokens(
        [0.0] * 3, sampled=(-logs(0.5, 2.0, 8.0)).tolist(), advantages=[1.0, -2.0, 100.0], weights=[1 / 3] * 3
    )
    loss = clipped_surrogate(tokens, options=PolicyOptions(importance="icepop", icepop_low=0.49))
    assert loss.value.item() == pytest.approx((-0.5 + 2 * 2.0) / 3)
    assert loss.sums["importance_weight"].item() == pytest.approx(2.5)
    assert loss.sums["importance_weight_squared"].item() == pytest.approx(4.25)
    assert loss.sums["importance_cut"].item() == 1.0


def test_the_share_of_weights_that_were_cut_is_counted_for_tokens_and_for_whole_sequences() -> None:
    # Ratios 3, 0.5 and 1.5: one token is over the cap of 2; the first sequence's product, 1.5, is not.
    tokens = policy_tokens([0.0] * 3, sampled=(-logs(3.0, 0.5, 1.5)).tolist(), sequence=[0, 0, 1])
    assert corrected(tokens, "token").sums["importance_cut"].item() == 1.0
    assert corrected(tokens, "sequence").sums["importance_cut"].item() == 0.0


@pytest.mark.parametrize(
    ("now", "then", "advantage", "is_left_out"),
    [
        (0.75, 0.5, 1.0, True),  # Risen by 0.25, and the advantage pushes it on.
        (0.75, 0.5, -1.0, False),  # Risen, but pushed back.
        (0.25, 0.5, -1.0, True),
        (0.25, 0.5, 1.0, False),
        (0.65, 0.5, 1.0, False),  # Within the limit.
        (1e-3, 1e-6, 1.0, False),  # A ratio of 1000 of a rare token, which a clip would stop, moved nearly nothing.
    ],
)
def test_dppo_leaves_out_what_moved_too_far_the_way_it_is_pushed(
    now: float, then: float, advantage: float, is_left_out: bool
) -> None:
    advantages = torch.tensor([advantage], dtype=torch.float64)
    assert leaves_trust_region(logs(now), logs(then), advantages, limit=0.2).tolist() == [is_left_out]


def test_dppo_weighs_by_the_ratio_and_has_the_gradient_of_the_policy() -> None:
    now, then = [0.6, 0.75, 0.25], [0.5, 0.5, 0.5]
    own = logs(*now).requires_grad_()
    loss = corrected(policy_tokens(own, sampled=logs(*then).tolist(), advantages=[2.0, 1.0, 1.0]), "dppo")
    # -1.2 * 2 for the first, nothing for the second (risen by 0.25), -0.5 for the third.
    assert loss.value.item() == pytest.approx(-2.4 - 0.5)
    assert loss.sums["importance_cut"].item() == 1.0
    assert "clip_fraction" not in loss.sums
    loss.value.backward()
    assert own.grad is not None
    assert own.grad.tolist() == pytest.approx([-2.4, 0.0, -0.5])


def test_dppo_s_ratio_is_cut_and_keeps_its_gradient() -> None:
    # p = 0.05 from 1e-6: a ratio of 50,000 that moved 0.05 only, with a negative advantage.
    own = gradient("dppo", [math.log(0.05)], [math.log(1e-6)], [-1.0])
    assert own == pytest.approx([DPPO_RATIO_CAP])


def test_a_sequence_is_judged_by_the_geometric_mean_of_its_ratios() -> None:
    # Ratios 1.21 and 1: mean 1.1, whatever the length.
    old, sampled = [math.log(1.21), 0.0] * 50, [0.0, 0.0] * 50
    assert is_in_band(old, sampled, bound=1.101)
    assert not is_in_band(old, sampled, bound=1.099)
    assert not is_in_band(sampled, old, bound=1.099)
    # One token that gained and one that lost as much: nothing, in the mean.
    assert is_in_band([2.0, -2.0], [0.0, 0.0], bound=1.0001)


def test_a_sequence_that_the_sampler_thought_impossible_is_rejected_and_an_empty_one_kept() -> None:
    assert not is_in_band([-1.0, -1.0], [-1.0, -math.inf], bound=1e6)
    assert not is_in_band([-1e4], [0.0], bound=2.0)
    assert is_in_band([], [], bound=2.0)


@pytest.mark.parametrize("importance", CORRECTIONS)
def test_a_log_probability_that_is_no_number_is_not_hidden(importance: Importance) -> None:
    # The learner skips a step whose loss or sums are not finite, and writes it down.
    for own, sampled in (([-1.0, -1.0], [-1.0, math.nan]), ([-1.0, math.nan], [-1.0, -1.0])):
        loss = corrected(policy_tokens(own, sampled=sampled, advantages=[1.0, 1.0]), importance)
        assert not math.isfinite(loss.value.item())
    assert is_in_band([math.nan, 0.0], [0.0, 0.0], bound=1.01)


@pytest.mark.parametrize("importance", CORRECTIONS)
@pytest.mark.parametrize("gap", [-1e4, -50.0, 50.0, 1e4])
def test_ratios_beyond_every_bound_give_finite_losses_and_gradients(importance: Importance, gap: float) -> None:
    for advantage in (-1.0, 1.0):
        [own] = gradient(importance, [min(gap, 0.0)], [min(-gap, 0.0)], [advantage])
        assert math.isfinite(own)


@pytest.mark.parametrize("importance", ["icepop", "dppo"])
def test_when_every_token_is_left_out_nothing_is_learned_and_it_is_told(importance: Importance) -> None:
    now, then = math.log(0.9), math.log(0.1)
    own = torch.tensor([now, now], dtype=torch.float64, requires_grad=True)
    loss = corrected(policy_tokens(own, sampled=[then, then], advantages=[1.0, 1.0]), importance)
    loss.value.backward()
    assert loss.value.item() == 0.0
    assert loss.sums["importance_cut"].item() == 2.0
    assert own.grad is not None
    assert own.grad.tolist() == [0.0, 0.0]


def test_by_default_batches_of_an_older_policy_are_corrected_and_others_are_not() -> None:
    tokens = policy_tokens([0.0], old=[0.0], sampled=[-math.log(1.5)], advantages=[1.0])
    for algorithm in (grpo(), dr_grpo(length=1)):
        assert not algorithm.compares_with_sampler(is_stale=False)
        assert algorithm.compares_with_sampler(is_stale=True)
        assert algorithm.loss_of(is_stale=False)(tokens).value.item() == pytest.approx(-1.0)
        assert algorithm.loss_of(is_stale=True)(tokens).value.item() == pytest.approx(-1.5)
    refused = grpo(options=PolicyOptions(importance="none"))
    assert not refused.compares_with_sampler(is_stale=True)
    assert refused.loss_of(is_stale=True)(tokens).value.item() == pytest.approx(-1.0)
    always = grpo(options=PolicyOptions(importance="icepop"))
    assert always.loss_of(is_stale=True) is always.loss_of(is_stale=False)
    assert ppo().stale_loss is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (PolicyOptions(importance="icepop", icepop_low=1.5), "icepop_low=1.5 and icepop_high=5.0 must lie below and"),
        (PolicyOptions(importance="icepop", icepop_high=math.nan), "icepop_high=nan"),
        (PolicyOptions(importance="dppo", dppo_limit=1.0), "dppo_limit=1.0 must lie between 0 and 1"),
        (PolicyOptions(importance="dppo", dual_clip=3.0), "dual_clip=3.0 has nothing to bound"),
        (PolicyOptions(sequence_rejection=0.99), "sequence_rejection=0.99 must be above 1"),
        (PolicyOptions(icepop_low=0.1), "icepop_low=0.1 changes nothing with importance=auto"),
        (PolicyOptions(importance="icepop", importance_cap=3.0), "importance_cap=3.0 changes nothing"),
    ],
)
def test_corrections_that_no_run_can_mean_are_refused(options: PolicyOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        grpo(options=options)


def test_dppo_is_refused_where_the_algorithm_s_ratio_is_of_sequences() -> None:
    with pytest.raises(UserError, match="importance=dppo compares the probabilities of tokens"):
        gspo(options=PolicyOptions(importance="dppo"))
