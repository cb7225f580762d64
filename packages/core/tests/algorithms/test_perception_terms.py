"""PAPO and VPPO on numbers worked out by hand."""

from math import exp

import pytest
import torch
from algorithm_samples import doubles, policy_tokens

from saccade.algorithms.options import PerceptionOptions, PolicyOptions
from saccade.algorithms.perception import dependence, shaped
from saccade.algorithms.policy_gradient import grpo
from saccade.errors import UserError


def k3(own: float, masked: float) -> float:
    return exp(masked - own) - 1 - (masked - own)


def test_a_token_depends_on_the_picture_as_far_as_its_probability_does_and_not_without_end() -> None:
    own, masked = doubles(-1.0, -1.0, -1.0, -30.0), doubles(-1.0, -3.0, -0.5, -0.1)
    assert dependence(own, masked).tolist() == pytest.approx([0, k3(-1, -3), k3(-1, -0.5), 10])


def test_papo_pays_for_dependence_and_pushes_a_token_away_from_its_masked_probability() -> None:
    options = PolicyOptions(perception=PerceptionOptions(masked_kl_weight=0.1))
    logprobs = doubles(-1.0, -2.0).requires_grad_()
    tokens = policy_tokens(logprobs, advantages=[0.0, 0.0], weights=[0.5, 0.5], masked_logprobs=doubles(-2.0, -1.5))
    loss = grpo(options=options).loss(tokens)
    assert loss.value.item() == pytest.approx(-0.1 * 0.5 * (k3(-1, -2) + k3(-2, -1.5)))
    loss.value.backward()
    # d k3 / d log p = 1 - exp(masked - own): up where the picture made it likelier, down where less likely.
    expected = [-0.1 * 0.5 * (1 - exp(-1.0)), -0.1 * 0.5 * (1 - exp(0.5))]
    assert logprobs.grad.tolist() == pytest.approx(expected)
    assert loss.sums["picture_dependence"].item() == pytest.approx(k3(-1, -2) + k3(-2, -1.5))


def test_papo_needs_the_masked_pass_and_its_algorithm_asks_for_it() -> None:
    algorithm = grpo(options=PolicyOptions(perception=PerceptionOptions(masked_kl_weight=0.1)))
    assert algorithm.perception is not None
    assert algorithm.learns_without_advantage
    with pytest.raises(ValueError, match="needs masked_logprobs"):
        algorithm.loss(policy_tokens([-1.0]))
    assert grpo().perception is None
    vppo = grpo(options=PolicyOptions(perception=PerceptionOptions(token_share=0.4, least_scale=0.9)))
    assert vppo.perception is not None
    assert not vppo.learns_without_advantage


def test_vppo_keeps_the_most_dependent_tokens_and_scales_trajectories_to_a_mean_of_one() -> None:
    own = [(-1.0,) * 5, (-1.0, -1.0), ()]
    masked = [(-1.0, -3.0, -1.0, -2.0, -1.0), (-1.0, -1.0), ()]
    perception = PerceptionOptions(token_share=0.4, least_scale=0.9)
    found = shaped([(2.0,) * 5, (-1.0, -1.0), ()], own, masked, perception)
    # Means of dependence: something, 0 and 0. Places 1, 0, 0: scales 0.9 + 0.3, 0.9 and 0.9.
    assert found[0] == pytest.approx((0, 2 * 1.2, 0, 2 * 1.2, 0))
    # Of equal ones the first: one of two, rounded up.
    assert found[1] == pytest.approx((-0.9, 0.0))
    assert found[2] == ()


def test_vppo_changes_nothing_but_tokens_where_all_trajectories_depend_alike() -> None:
    same = [(-1.0, -2.0)] * 2
    shown = shaped([(1.0, 1.0), (-1.0, -1.0)], same, same, PerceptionOptions(token_share=1.0, least_scale=0.5))
    assert shown == [(1.0, 1.0), (-1.0, -1.0)]


def test_a_policy_that_says_one_thing_whatever_it_sees_has_no_dependence_to_sell() -> None:
    # What a policy would say anyway has the same probability without the picture.
    certain = torch.full((4,), -1e-6, dtype=torch.float64)
    assert dependence(certain, certain).sum() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        PerceptionOptions(masked_kl_weight=-1),
        PerceptionOptions(token_share=0),
        PerceptionOptions(least_scale=1.5),
        PerceptionOptions(patch_px=0),
        PerceptionOptions(patch_px=7),
    ],
)
def test_numbers_that_mean_nothing_are_refused(wrong: PerceptionOptions) -> None:
    with pytest.raises(UserError):
        grpo(options=PolicyOptions(perception=wrong))
