"""Losses and KL estimates on numbers worked out by hand."""

import math
from dataclasses import replace

import pytest
import torch
from algorithm_samples import doubles, group, policy_tokens, rewarded, trajectory

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.algorithm import PolicyTokens
from saccade.algorithms.losses import (
    actor_critic,
    clipped_surrogate,
    kl_estimate,
    kl_token_rewards,
    negative_log_likelihood,
    with_kl_in_reward,
)
from saccade.algorithms.options import KLEstimator, PolicyOptions
from saccade.types import Term


def test_negative_log_likelihood_uses_the_shares_of_the_whole_batch() -> None:
    loss = negative_log_likelihood(policy_tokens([-1.0, -3.0], weights=[0.125, 0.125]))
    assert loss.value.item() == 0.5
    assert loss.sums["nll"].item() == 4.0


def test_on_policy_the_loss_is_minus_the_mean_advantage_and_its_gradient_the_policy_gradient() -> None:
    logprobs = doubles(-1.0, -2.0).requires_grad_()
    loss = clipped_surrogate(policy_tokens(logprobs, advantages=[1.0, -0.5], weights=[0.5, 0.5]))
    loss.value.backward()
    assert loss.value.item() == -0.25
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == [-0.5, 0.25]
    assert loss.sums["mismatch_kl"].item() == 0.0
    assert loss.sums["policy_kl"].item() == 0.0


def test_a_ratio_beyond_the_clip_earns_no_more_but_a_bad_one_still_costs() -> None:
    logprobs = doubles(2.0, 2.0, 0.5, 0.5).log().requires_grad_()
    loss = clipped_surrogate(
        policy_tokens(logprobs, old=[0.0] * 4, advantages=[1.0, -1.0, 1.0, -1.0]), clip_low=0.2, clip_high=0.28
    )
    # min(2, 1.28) + min(-2, -1.28) + min(0.5, 0.8) + min(-0.5, -0.8)
    assert loss.value.item() == pytest.approx(-(1.28 - 2.0 + 0.5 - 0.8))
    assert loss.sums["clip_fraction"].item() == 2.0
    loss.value.backward()
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([0.0, 2.0, -0.5, 0.0])


def test_the_ratio_is_to_the_old_policy_and_not_to_the_sampler() -> None:
    tokens = policy_tokens([math.log(1.1)], old=[0.0], sampled=[math.log(0.5)], advantages=[1.0])
    loss = clipped_surrogate(tokens)
    assert loss.value.item() == pytest.approx(-1.1)
    # k3 of KL(sampler || policy): 2.2 - 1 - ln 2.2; of KL(old || policy): 1.1 - 1 - ln 1.1
    assert loss.sums["mismatch_kl"].item() == pytest.approx(1.2 - math.log(2.2))
    assert loss.sums["mismatch_abs"].item() == pytest.approx(math.log(2.2))
    assert loss.sums["policy_kl"].item() == pytest.approx(0.1 - math.log(1.1))


def test_dual_clip_bounds_what_a_bad_token_costs_and_leaves_good_ones_alone() -> None:
    # verl, compute_policy_loss_vanilla, with clip_ratio_c = 3.
    logprobs = doubles(5.0, 2.0, 5.0).log().requires_grad_()
    tokens = policy_tokens(logprobs, old=[0.0] * 3, advantages=[-1.0, -1.0, 1.0])
    loss = clipped_surrogate(tokens, options=PolicyOptions(dual_clip=3.0))
    assert loss.value.item() == pytest.approx(3.0 + 2.0 - 1.2)
    assert loss.sums["dual_clip_fraction"].item() == 1.0
    loss.value.backward()
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([0.0, 2.0, 0.0])


def test_log_ratios_are_cut_at_twenty() -> None:
    tokens = policy_tokens([900.0, -900.0], old=[0.0, 0.0], advantages=[-1.0, -1.0])
    loss = clipped_surrogate(tokens)
    assert loss.value.item() == pytest.approx(math.exp(20) + 0.8)
    assert all(math.isfinite(value.item()) for value in loss.sums.values())


@pytest.mark.parametrize(("estimator", "expected"), [("k1", 0.5), ("k2", 0.125), ("k3", math.exp(-0.5) - 1 + 0.5)])
def test_kl_penalty_by_hand(estimator: str, expected: float) -> None:
    options = PolicyOptions(kl_weight=0.1, kl_estimator=estimator)  # type: ignore[arg-type]
    loss = clipped_surrogate(policy_tokens([-1.0], reference_logprobs=doubles(-1.5)), options=options)
    assert loss.value.item() == pytest.approx(0.1 * expected)
    assert loss.sums["reference_kl"].item() == pytest.approx(expected)


def test_a_kl_that_only_the_reward_pays_for_is_reported_and_not_in_the_loss() -> None:
    options = PolicyOptions(kl_in_reward=0.1, kl_estimator="k1")
    loss = clipped_surrogate(policy_tokens([-1.0], reference_logprobs=doubles(-1.5)), options=options)
    assert loss.value.item() == 0.0
    assert loss.sums["reference_kl"].item() == pytest.approx(0.5)


def test_kl_without_a_reference_is_an_error_and_not_no_kl() -> None:
    with pytest.raises(ValueError, match="needs reference_logprobs"):
        clipped_surrogate(policy_tokens([-1.0]), options=PolicyOptions(kl_weight=0.1))


def test_entropy_bonus_lowers_the_loss_and_has_a_gradient() -> None:
    entropy = doubles(1.0, 2.0).requires_grad_()
    tokens = policy_tokens([-1.0, -1.0], entropy=entropy, weights=[0.25, 0.5])
    loss = clipped_surrogate(tokens, options=PolicyOptions(entropy_weight=0.1))
    assert loss.value.item() == pytest.approx(-0.1 * (0.25 * 1.0 + 0.5 * 2.0))
    loss.value.backward()
    assert entropy.grad is not None
    assert entropy.grad.tolist() == pytest.approx([-0.025, -0.05])


def test_truncated_importance_sampling_weighs_each_token() -> None:
    # p(old) / p(sampler) is 1.5 and 4, the second cut at 2; the ratio that is clipped stays 1.
    tokens = policy_tokens([0.0, 0.0], sampled=[-math.log(1.5), -math.log(4.0)], advantages=[1.0, -1.0])
    loss = clipped_surrogate(tokens, options=PolicyOptions(importance="token", importance_cap=2.0))
    assert loss.value.item() == pytest.approx(-1.5 + 2.0)
    assert loss.sums["importance_weight"].item() == pytest.approx(3.5)


def test_the_correction_ends_where_the_ratio_begins() -> None:
    # p(old) / p(sampler) = 1.5 from the sampler to the batch's beginning, ratio 1.1 from there to the policy.
    tokens = policy_tokens([math.log(1.1)], old=[0.0], sampled=[-math.log(1.5)], advantages=[1.0])
    loss = clipped_surrogate(tokens, options=PolicyOptions(importance="token"))
    assert loss.value.item() == pytest.approx(-1.5 * 1.1)


def test_a_sequence_s_importance_is_the_product_of_its_tokens() -> None:
    sampled = [-math.log(2.0), -math.log(0.5), -math.log(1.25), -math.log(1.2), -math.log(9.0)]
    tokens = policy_tokens([0.0] * 5, sampled=sampled, advantages=[1.0] * 5, sequence=[0, 0, 1, 1, 2])
    loss = clipped_surrogate(tokens, options=PolicyOptions(importance="sequence", importance_cap=2.0))
    # 2 * 0.5 = 1 for two tokens, 1.25 * 1.2 = 1.5 for two, 9 cut at 2 for one
    assert loss.value.item() == pytest.approx(-(1.0 + 1.0 + 1.5 + 1.5 + 2.0))


def test_importance_correction_has_no_gradient_and_leaves_the_kl_alone() -> None:
    logprobs = doubles(0.0).requires_grad_()
    tokens = policy_tokens(
        logprobs, sampled=[-math.log(1.5)], advantages=[1.0], reference_logprobs=doubles(-math.log(2.0))
    )
    options = PolicyOptions(importance="token", kl_weight=1.0, kl_estimator="k1")
    loss = clipped_surrogate(tokens, options=options)
    assert loss.value.item() == pytest.approx(-1.5 + math.log(2.0))
    loss.value.backward()
    assert logprobs.grad is not None
    assert logprobs.grad.item() == pytest.approx(-1.5 + 1.0)


def test_sequence_ratio_is_the_geometric_mean_and_clips_whole_sequences() -> None:
    # GSPO, equation 7. Ratios 1.1 and 1.3: mean log ratio; the second sequence's ratio is 0.9.
    logprobs = doubles(math.log(1.1), math.log(1.3), math.log(0.9)).requires_grad_()
    tokens = policy_tokens(
        logprobs, old=[0.0] * 3, advantages=[1.0, 1.0, 1.0], sequence=[0, 0, 1], weights=[0.25, 0.25, 0.5]
    )
    loss = clipped_surrogate(tokens, clip_low=0.2, clip_high=0.28, ratio="sequence")
    first = math.sqrt(1.1 * 1.3)
    assert loss.value.item() == pytest.approx(-(0.5 * first + 0.5 * 0.9))
    loss.value.backward()
    # 1 / (sequences * length) * s * A for every token of the sequence.
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([-0.25 * first, -0.25 * first, -0.5 * 0.9])
    clipped = clipped_surrogate(tokens, clip_low=0.2, clip_high=0.1, ratio="sequence")
    assert clipped.sums["clip_fraction"].item() == 2.0


def test_token_variant_of_the_sequence_ratio_keeps_its_value_and_each_token_s_own_advantage() -> None:
    # GSPO-token, equation 14: the gradient of token t is s_i * A_t, not s_i times the mean advantage.
    logprobs = doubles(math.log(1.1), math.log(1.3)).requires_grad_()
    tokens = policy_tokens(logprobs, old=[0.0] * 2, advantages=[1.0, -2.0], weights=[0.5, 0.5])
    ratio = math.sqrt(1.1 * 1.3)
    by_token = clipped_surrogate(tokens, clip_high=0.28, ratio="sequence_token")
    whole = clipped_surrogate(tokens, clip_high=0.28, ratio="sequence")
    assert by_token.value.item() == pytest.approx(whole.value.item())
    by_token.value.backward()
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([-0.5 * ratio, 0.5 * 2.0 * ratio])


def test_value_loss_takes_the_worse_of_the_clipped_and_the_free_error() -> None:
    # verl, compute_value_loss with cliprange_value = 0.2: values 1.0 from 0.5 (clipped 0.7), returns 0.9 and 0.
    values = doubles(1.0, 1.0).requires_grad_()
    tokens = policy_tokens(
        [-1.0, -1.0], weights=[0.5, 0.5], values=values, old_values=doubles(0.5, 0.5), returns=doubles(0.9, 0.0)
    )
    loss = actor_critic(tokens, policy=clipped_surrogate, value_clip=0.2, value_weight=0.1)
    # max(0.01, 0.04) and max(1.0, 0.49), halved
    assert loss.sums["value_loss"].item() == pytest.approx(0.02 + 0.5)
    assert loss.sums["value_clip_fraction"].item() == 1.0
    assert loss.value.item() == pytest.approx(0.1 * 0.5 * (0.02 + 0.5))
    loss.value.backward()
    assert values.grad is not None
    # Where the clipped error is the worse one the value has left the range and gets no gradient.
    assert values.grad.tolist() == pytest.approx([0.0, 0.1 * 0.5 * 1.0])


def test_a_critic_s_loss_without_values_is_an_error() -> None:
    with pytest.raises(ValueError, match="value head"):
        actor_critic(policy_tokens([-1.0]), policy=clipped_surrogate, value_clip=0.2, value_weight=0.5)


@pytest.mark.parametrize("ratio", ["token", "sequence", "sequence_token"])
def test_any_split_into_micro_batches_of_whole_sequences_gives_the_same_gradient(ratio: str) -> None:
    generator = torch.Generator().manual_seed(3)

    def draw(count: int) -> torch.Tensor:
        return torch.randn(count, generator=generator, dtype=torch.float64)

    sequence = torch.tensor([0] * 4 + [1] * 1 + [2] * 5)
    options = PolicyOptions(
        kl_weight=0.1, entropy_weight=0.01, dual_clip=3.0, importance="sequence", importance_cap=1.5
    )
    start = -1.0 + 0.3 * draw(10)
    whole = policy_tokens(
        start.clone().requires_grad_(),
        old=(start + 0.2 * draw(10)).tolist(),
        sampled=(start + 0.2 * draw(10)).tolist(),
        advantages=draw(10).tolist(),
        weights=draw(10).abs().tolist(),
        sequence=sequence.tolist(),
        entropy=draw(10).abs(),
        reference_logprobs=start + 0.2 * draw(10),
    )

    def part(of: PolicyTokens, chosen: list[int], logprobs: torch.Tensor) -> PolicyTokens:
        kept = torch.isin(sequence, torch.tensor(chosen))
        cut = {name: getattr(of, name)[kept] for name in ("old_logprobs", "sampled_logprobs", "advantages", "weights")}
        assert of.reference_logprobs is not None
        return replace(
            of,
            logprobs=logprobs[kept],
            sequence=torch.unique_consecutive(sequence[kept], return_inverse=True)[1],
            entropy=of.entropy[kept],
            reference_logprobs=of.reference_logprobs[kept],
            **cut,
        )

    def loss(tokens: PolicyTokens) -> torch.Tensor:
        return clipped_surrogate(tokens, ratio=ratio, options=options).value  # type: ignore[arg-type]

    (expected,) = torch.autograd.grad(loss(whole), whole.logprobs)
    for split in ([[0], [1], [2]], [[0, 2], [1]], [[1], [0, 2]]):
        logprobs = start.clone().requires_grad_()
        for chosen in split:
            loss(part(whole, chosen, logprobs)).backward()
        torch.testing.assert_close(logprobs.grad, expected, rtol=1e-12, atol=1e-14)


LOGITS = torch.tensor([0.3, -1.2, 0.8, 0.1], dtype=torch.float64)
REFERENCE = torch.log_softmax(torch.tensor([-0.5, 0.4, 0.2, 1.0], dtype=torch.float64), dim=-1)


def expected_value_and_gradient(estimator: KLEstimator) -> tuple[float, torch.Tensor]:
    """Over all tokens, each with the probability that the policy samples it; the sampling itself has no gradient."""
    logits = LOGITS.clone().requires_grad_()
    log_p = torch.log_softmax(logits, dim=-1)
    value = (log_p.detach().exp() * kl_estimate(log_p, REFERENCE, estimator)).sum()
    return value.item(), torch.autograd.grad(value, logits)[0]


def kl(forward: bool) -> tuple[float, torch.Tensor]:
    """KL(reference || policy), or the other way round, with its exact gradient."""
    logits = LOGITS.clone().requires_grad_()
    log_p = torch.log_softmax(logits, dim=-1)
    value = (REFERENCE.exp() * (REFERENCE - log_p)).sum() if forward else (log_p.exp() * (log_p - REFERENCE)).sum()
    return value.item(), torch.autograd.grad(value, logits)[0]


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_k1_and_k3_are_unbiased_as_values(estimator: KLEstimator) -> None:
    assert expected_value_and_gradient(estimator)[0] == pytest.approx(kl(forward=False)[0], rel=1e-12)


def test_gradient_of_k1_is_nothing_in_expectation() -> None:
    assert expected_value_and_gradient("k1")[1].abs().max() < 1e-15


def test_gradient_of_k2_is_that_of_the_kl_from_policy_to_reference() -> None:
    torch.testing.assert_close(expected_value_and_gradient("k2")[1], kl(forward=False)[1], rtol=1e-12, atol=1e-14)


def test_gradient_of_k3_is_that_of_the_kl_from_reference_to_policy() -> None:
    torch.testing.assert_close(expected_value_and_gradient("k3")[1], kl(forward=True)[1], rtol=1e-12, atol=1e-14)


def test_estimates_stay_finite_for_tokens_that_the_reference_rules_out() -> None:
    far = torch.tensor([-1.0, -900.0])
    for estimator in ("k1", "k2", "k3"):
        assert torch.isfinite(kl_estimate(far, far.flip(0), estimator)).all()  # type: ignore[arg-type]


def test_kl_in_the_reward_of_each_token_by_hand() -> None:
    assert kl_token_rewards([-1.0, -2.0], [-1.5, -1.0], weight=0.1) == pytest.approx((-0.05, 0.1))
    with pytest.raises(ValueError):
        kl_token_rewards([-1.0, -2.0], [-1.5], weight=0.1)


def test_for_group_relative_advantages_the_kl_of_a_trajectory_is_added_to_its_score() -> None:
    (scored,) = with_kl_in_reward([rewarded(1.0, 1.0)], [[(-0.25, -0.25), (0.25,)]])
    scores = [one.score for one in scored.trajectories if one.score]
    assert [score.total for score in scores] == [0.5, 1.25]
    assert [score.terms[1:] for score in scores] == [
        (Term("kl", -0.5, added_by="the algorithm"),),
        (Term("kl", 0.25, added_by="the algorithm"),),
    ]
    assert group_relative([scored], scale_by_std=False) == [[[-0.375], [0.375]]]


def test_trajectories_without_a_score_get_no_kl() -> None:
    lost = group(trajectory(None, status="failed"))
    assert with_kl_in_reward([lost], [[()]]) == [lost]


def test_sum_of_the_parts_is_the_total_to_the_last_bit_that_matters() -> None:
    (scored,) = with_kl_in_reward([rewarded(0.1)], [[(0.1,) * 10]])
    score = scored.trajectories[0].score
    assert score is not None
    assert score.values["kl"] == math.fsum((0.1,) * 10)


@pytest.mark.parametrize("estimator", ["k2", "k3"])
def test_rounding_between_two_passes_over_the_same_weights_has_no_gradient(estimator: KLEstimator) -> None:
    logprobs = torch.tensor([-0.5, -2.0, -3.0], requires_grad=True)
    reference = logprobs.detach() + torch.tensor([1e-6, -4e-6, 0.1])
    kl_estimate(logprobs, reference, estimator).sum().backward()
    assert logprobs.grad is not None
    assert logprobs.grad[:2].tolist() == [0.0, 0.0]
    assert logprobs.grad[2] < -0.05
