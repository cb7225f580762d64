"""Losses on numbers worked out by hand."""

import math

import pytest
import torch

from saccade.algorithms.losses import clipped_surrogate, negative_log_likelihood


def test_negative_log_likelihood_divides_by_the_whole_batch() -> None:
    loss = negative_log_likelihood(torch.tensor([-1.0, -3.0]), total_tokens=8)
    assert loss.value.item() == 0.5
    assert loss.sums["nll"].item() == 4.0


def test_on_policy_the_loss_is_minus_the_mean_advantage_and_its_gradient_the_policy_gradient() -> None:
    logprobs = torch.tensor([-1.0, -2.0], requires_grad=True)
    advantages = torch.tensor([1.0, -0.5])
    loss = clipped_surrogate(logprobs, sampled_logprobs=logprobs.detach(), advantages=advantages, total_tokens=2)
    loss.value.backward()
    assert loss.value.item() == -0.25
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == [-0.5, 0.25]
    assert loss.sums["mismatch_kl"].item() == 0.0


def test_a_ratio_beyond_the_clip_earns_no_more_but_a_bad_one_still_costs() -> None:
    ratio = torch.tensor([2.0, 2.0, 0.5, 0.5])
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    logprobs = ratio.log().requires_grad_()
    loss = clipped_surrogate(
        logprobs,
        sampled_logprobs=torch.zeros(4),
        advantages=advantages,
        total_tokens=1,
        clip_low=0.2,
        clip_high=0.28,
    )
    # min(2, 1.28) + min(-2, -1.28) + min(0.5, 0.8) + min(-0.5, -0.8)
    assert loss.value.item() == pytest.approx(-(1.28 - 2.0 + 0.5 - 0.8))
    assert loss.sums["clip_fraction"].item() == 2.0
    loss.value.backward()
    assert logprobs.grad is not None
    assert logprobs.grad[0] == 0
    assert logprobs.grad[3] == 0


def test_kl_penalty_is_the_k3_estimate() -> None:
    logprobs = torch.tensor([-1.0])
    loss = clipped_surrogate(
        logprobs,
        sampled_logprobs=logprobs,
        advantages=torch.zeros(1),
        total_tokens=1,
        reference_logprobs=torch.tensor([-1.5]),
        kl_weight=0.1,
    )
    k3 = math.exp(-0.5) - 1 + 0.5
    assert loss.value.item() == pytest.approx(0.1 * k3)
    assert loss.sums["reference_kl"].item() == pytest.approx(k3)
