"""KL estimators: their values and, by enumeration of a small vocabulary, what their gradients are in expectation."""

import math

import pytest
import torch
from algorithm_samples import group, rewarded, trajectory

from saccade.algorithms.advantages import group_relative
from saccade.algorithms.losses import KLEstimator, kl_estimate, kl_token_rewards, with_kl_in_reward
from saccade.types import Term

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
