"""CISPO, SAPO, GMPO, LUSPO and VESPO on numbers worked out by hand."""

from math import exp, log

import pytest
from algorithm_samples import doubles, policy_tokens

from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.cispo import cispo
from saccade.algorithms.gmpo import gmpo
from saccade.algorithms.luspo import luspo
from saccade.algorithms.options import GammaWeights, GateTemperatures, PolicyOptions
from saccade.algorithms.sapo import sapo
from saccade.algorithms.vespo import vespo
from saccade.errors import UserError


def test_cispo_weighs_by_the_clipped_ratio_and_keeps_the_gradient_of_every_token() -> None:
    # Ratios 8, 1/2 and 8; the first and the last weigh 5, whichever sign their advantage has.
    logprobs = doubles(-1.0, -2.0, -1.5).requires_grad_()
    tokens = policy_tokens(
        logprobs,
        old=[-1.0 - log(8), -2.0 + log(2), -1.5 - log(8)],
        advantages=[1.0, 1.0, -2.0],
        weights=[0.5, 0.25, 0.25],
    )
    loss = cispo().loss(tokens)
    assert loss.value.item() == pytest.approx(0.5 * 5 * 1 * 1 + 0.25 * 0.5 * 1 * 2 - 0.25 * 5 * 2 * 1.5)
    loss.value.backward()
    assert logprobs.grad.tolist() == pytest.approx([-0.5 * 5, -0.25 * 0.5, 0.25 * 5 * 2])
    assert loss.sums["clip_fraction"] == 2


def test_cispo_has_a_lower_bound_where_it_is_asked_for() -> None:
    tokens = policy_tokens([-2.0], old=[-2.0 + log(10)], advantages=[1.0], weights=[1.0])
    assert cispo().loss(tokens).value.item() == pytest.approx(0.1 * 2)
    assert cispo(clip_low=0.5).loss(tokens).value.item() == pytest.approx(0.5 * 2)


def test_sapo_is_ppo_where_nothing_has_moved_and_fades_beyond() -> None:
    logprobs = doubles(-1.0, -1.0).requires_grad_()
    tokens = policy_tokens(logprobs, old=[-1.0, -1.0 - log(3)], advantages=[2.0, 2.0], weights=[0.5, 0.5])
    loss = sapo(temperatures=GateTemperatures(positive=1.0)).loss(tokens)
    gate = 1 / (1 + exp(-2.0))
    assert loss.value.item() == pytest.approx(-0.5 * 2 * (4 * 0.5) - 0.5 * 2 * 4 * gate)
    loss.value.backward()
    # d/d log p of 4 s(r - 1) is 4 s (1 - s) r: PPO's r = 1 at the first, 1.26 in place of 3 at the second.
    assert logprobs.grad.tolist() == pytest.approx([-0.5 * 2, -0.5 * 2 * 4 * gate * (1 - gate) * 3])
    assert loss.sums["gate"].item() == pytest.approx(1 + 4 * gate * (1 - gate))


def test_sapo_closes_faster_for_negative_advantages() -> None:
    far = policy_tokens([-1.0], old=[-3.0], advantages=[-1.0], weights=[1.0])
    assert sapo().loss(far).value.item() == pytest.approx(4 / 1.05 / (1 + exp(-1.05 * (exp(2.0) - 1))))


def test_gmpo_takes_the_geometric_mean_of_clipped_ratios() -> None:
    # log ratios 0.6 (clipped to 0.4 where A > 0) and -1.0 (not clipped there): the mean is -0.3.
    logprobs = doubles(-1.0, -2.0, -1.0).requires_grad_()
    tokens = policy_tokens(
        logprobs,
        old=[-1.6, -1.0, -0.2],
        advantages=[2.0, 2.0, -1.0],
        weights=[0.25, 0.25, 0.5],
        sequence=[0, 0, 1],
    )
    loss = gmpo().loss(tokens)
    # The last: log ratio -0.8, clipped to -0.4 where A < 0.
    assert loss.value.item() == pytest.approx(-0.5 * 2 * exp(-0.3) + 0.5 * exp(-0.4))
    loss.value.backward()
    assert logprobs.grad.tolist() == pytest.approx([0.0, -0.5 * 2 * exp(-0.3) / 2, 0.0])
    assert loss.sums["clip_fraction"] == 2


def test_luspo_adds_up_gspo_s_tokens() -> None:
    algorithm = luspo()
    assert algorithm.aggregation.token_weights([5, 2, 0]) == [0.5, 0.5, 0.0]
    tokens = policy_tokens([-1.0] * 7, advantages=[1.0] * 5 + [-1.0] * 2, weights=[0.5] * 7, sequence=[0] * 5 + [1] * 2)
    assert algorithm.loss(tokens).value.item() == pytest.approx(-0.5 * 5 + 0.5 * 2)


@pytest.mark.parametrize(("advantage", "k", "rate"), [(1.5, 2.0, 3.0), (-1.5, 3.0, 2.0)])
def test_vespo_weighs_a_sequence_by_its_ratio_to_the_sampler(advantage: float, k: float, rate: float) -> None:
    # Two tokens: the product of their ratios is 1/2, whatever the learner's old log-probabilities are.
    logprobs = doubles(-1.0, -2.0).requires_grad_()
    tokens = policy_tokens(
        logprobs,
        old=[-9.0, -9.0],
        sampled=[-1.0 + log(4), -2.0 - log(2)],
        advantages=[advantage] * 2,
        weights=[0.5, 0.5],
    )
    phi = 0.5**k * exp(rate * 0.5)
    loss = vespo().loss(tokens)
    assert loss.value.item() == pytest.approx(phi * advantage * (0.5 * 1 + 0.5 * 2))
    loss.value.backward()
    assert logprobs.grad.tolist() == pytest.approx([-0.5 * phi * advantage] * 2)


def test_vespo_leaves_alone_what_has_not_moved_and_forgets_what_is_far() -> None:
    same = policy_tokens([-1.0], advantages=[1.0], weights=[1.0])
    far = policy_tokens([-1.0], sampled=[-40.0], advantages=[1.0], weights=[1.0])
    assert vespo().loss(same).sums["vespo_weight"] == 1
    assert vespo().loss(far).value.item() == 0


def test_vespo_needs_no_other_correction() -> None:
    algorithm = vespo()
    assert algorithm.stale_loss is None
    assert algorithm.corrects_stale
    with pytest.raises(UserError, match="importance=token would correct twice"):
        vespo(options=PolicyOptions(importance="token"))


@pytest.mark.parametrize("make", [cispo, sapo, gmpo, vespo])
@pytest.mark.parametrize("options", [PolicyOptions(dual_clip=3.0), PolicyOptions(importance="dppo")])
def test_what_changes_ppo_s_clip_is_refused_without_one(make: object, options: PolicyOptions) -> None:
    with pytest.raises(UserError, match=r"clip|would correct twice"):
        make(options=options)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("positive=0", lambda: sapo(temperatures=GateTemperatures(positive=0))),
        ("k_negative=-1", lambda: vespo(weights=GammaWeights(k_negative=-1))),
        ("clip_low=2", lambda: gmpo(clip_low=2)),
        ("clip_high=inf", lambda: cispo(clip_high=float("inf"))),
    ],
)
def test_numbers_that_mean_nothing_are_refused(message: str, make: object) -> None:
    with pytest.raises(UserError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("algorithm", [cispo(), sapo(), gmpo(), luspo(), vespo()], ids=lambda one: one.name)
def test_the_first_gradient_is_grpo_s(algorithm: Algorithm) -> None:
    # Nothing has moved: whatever the loss does to ratios, it points where the policy gradient does.
    logprobs = doubles(-1.0, -2.0, -0.5).requires_grad_()
    tokens = policy_tokens(logprobs, advantages=[1.0, 1.0, -2.0], weights=[0.25, 0.25, 0.5], sequence=[0, 0, 1])
    algorithm.loss(tokens).value.backward()
    assert logprobs.grad.tolist() == pytest.approx([-0.25, -0.25, 1.0])
