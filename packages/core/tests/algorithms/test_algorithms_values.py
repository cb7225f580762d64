"""Each algorithm as a value: what the trainer reads from it, and what it refuses."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from algorithm_samples import group, policy_tokens, rewarded, trajectory

from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.critic import Critic
from saccade.algorithms.dapo import SoftOverlong, dapo, is_truncated, teaches
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, ppo, rloo
from saccade.errors import UserError

MAKERS: list[Callable[..., Algorithm]] = [grpo, rloo, dapo, gspo, ppo, lambda **more: dr_grpo(length=64, **more)]


def loss_of_one(algorithm: Algorithm, *, ratio: float, advantage: float) -> float:
    return algorithm.loss(policy_tokens([math.log(ratio)], old=[0.0], advantages=[advantage])).value.item()


def test_grpo_is_group_relative_with_a_symmetric_clip_and_a_token_mean() -> None:
    algorithm = grpo()
    assert algorithm.aggregation == Aggregation(over="tokens")
    values = [turns[0] for turns in algorithm.advantages([rewarded(1, 1, 0, 0)])[0]]
    assert values == pytest.approx([0.8660254, 0.8660254, -0.8660254, -0.8660254], abs=1e-5)
    assert loss_of_one(algorithm, ratio=1.5, advantage=1.0) == pytest.approx(-1.2)
    assert loss_of_one(algorithm, ratio=0.5, advantage=-1.0) == pytest.approx(0.8)


def test_dr_grpo_divides_neither_by_the_spread_nor_by_the_sequence_s_own_length() -> None:
    algorithm = dr_grpo(length=10)
    assert algorithm.advantages([rewarded(3, 0, 0)]) == [[[2.0], [-1.0], [-1.0]]]
    # Two sequences of 2 and 5 action tokens: each token counts 1 / (2 * 10).
    assert algorithm.aggregation.token_weights([2, 5]) == [0.05, 0.05]


def test_rloo_compares_with_the_siblings() -> None:
    assert rloo().advantages([rewarded(3, 0, 0)]) == [[[3.0], [-1.5], [-1.5]]]


def test_dapo_clips_higher_upwards_and_replaces_groups_that_teach_nothing() -> None:
    algorithm = dapo()
    assert loss_of_one(algorithm, ratio=1.5, advantage=1.0) == pytest.approx(-1.28)
    assert loss_of_one(algorithm, ratio=0.5, advantage=-1.0) == pytest.approx(0.8)
    assert algorithm.keep_group is not None
    assert [algorithm.keep_group(one) for one in (rewarded(1, 1), rewarded(0, 0), rewarded(1, 0))] == [
        False,
        False,
        True,
    ]
    assert algorithm.max_refills == 9
    # Every token of the batch counts the same.
    assert algorithm.aggregation.token_weights([2, 6]) == [0.125, 0.125]


def test_dapo_without_a_filter_refills_nothing() -> None:
    algorithm = dapo(keep_group=None)
    assert (algorithm.keep_group, algorithm.max_refills) == (None, 0)


def test_gspo_has_one_ratio_and_one_share_per_sequence() -> None:
    algorithm = gspo()
    assert algorithm.aggregation.token_weights([2, 1]) == [0.25, 0.5]
    tokens = policy_tokens(
        [0.0, math.log(1.1), math.log(0.9)],
        old=[0.0] * 3,
        advantages=[1, 1, -1],
        sequence=[0, 0, 1],
        weights=[0.25, 0.25, 0.5],
    )
    # Ratios sqrt(1.1) and 0.9 leave the range 1 - 3e-4 to 1 + 4e-4 on the side where they are cut.
    assert algorithm.loss(tokens).value.item() == pytest.approx(-0.5 * 1.0004 + 0.5 * 0.9997)


def test_gspo_s_token_variant_has_the_same_value() -> None:
    tokens = policy_tokens([0.0, 1e-4], old=[0.0] * 2, advantages=[1, 1], weights=[0.5, 0.5])
    plain, variant = gspo(), gspo(is_token_variant=True)
    assert variant.loss(tokens).value.item() == pytest.approx(plain.loss(tokens).value.item(), rel=1e-12)


def test_ppo_asks_its_critic_and_says_so() -> None:
    algorithm = ppo(critic=Critic(gae_lambda=0.9))
    assert algorithm.critic == Critic(gae_lambda=0.9)
    with pytest.raises(ValueError, match="come from its critic"):
        algorithm.advantages([rewarded(1, 0)])


@pytest.mark.parametrize("make", MAKERS)
def test_options_set_what_the_trainer_must_provide(make: Callable[..., Algorithm]) -> None:
    plain = make()
    asked = (plain.needs_reference, plain.needs_old_logprobs, plain.needs_entropy_gradient, plain.masks_truncated)
    assert not any(asked)
    assert plain.kl_in_reward == 0
    full = make(
        options=PolicyOptions(
            kl_weight=0.1, kl_in_reward=0.05, entropy_weight=0.01, importance="token", masks_truncated=True
        )
    )
    assert full.needs_reference
    assert full.needs_old_logprobs
    assert full.needs_entropy_gradient
    assert full.masks_truncated
    assert full.kl_in_reward == 0.05


def test_which_algorithms_learn_from_tokens_without_an_advantage() -> None:
    assert not grpo().learns_without_advantage
    assert not grpo(options=PolicyOptions(dual_clip=3.0, importance="sequence")).learns_without_advantage
    assert grpo(options=PolicyOptions(kl_weight=0.1)).learns_without_advantage
    assert grpo(options=PolicyOptions(entropy_weight=0.1)).learns_without_advantage
    assert ppo().learns_without_advantage


@pytest.mark.parametrize("make", MAKERS[:4])
def test_without_those_options_a_token_of_zero_advantage_has_no_gradient(make: Callable[..., Algorithm]) -> None:
    tokens = policy_tokens([-1.0, -2.0], old=[-1.5, -1.0], advantages=[0.0, 0.0])
    tokens.logprobs.requires_grad_()
    make().loss(tokens).value.backward()
    assert tokens.logprobs.grad is not None
    assert tokens.logprobs.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (PolicyOptions(kl_weight=-0.1), "kl_weight=-0.1 must be a finite number of 0 or more"),
        (PolicyOptions(kl_in_reward=math.inf), "kl_in_reward=inf"),
        (PolicyOptions(entropy_weight=math.nan), "entropy_weight=nan"),
        (PolicyOptions(dual_clip=0.5), r"dual_clip=0.5 must be above 1 \(3 is usual\), or 0"),
        (PolicyOptions(importance_cap=0.0), "importance_cap=0.0"),
    ],
)
def test_options_that_no_run_can_mean_are_refused(options: PolicyOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        grpo(options=options)


@pytest.mark.parametrize(
    ("clips", "message"),
    [((1.5, 0.2), "clip_low=1.5"), ((-0.1, 0.2), "clip_low=-0.1"), ((0.2, math.nan), "clip_high=nan")],
)
def test_clip_ranges_that_no_run_can_mean_are_refused(clips: tuple[float, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        grpo(clip_low=clips[0], clip_high=clips[1])


def test_fields_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UserError, match="needs_reference=True"):
        replace(grpo(), kl_in_reward=0.1)
    with pytest.raises(UserError, match="refills nothing without keep_group"):
        replace(grpo(), max_refills=3)
    with pytest.raises(UserError, match="max_refills=-1"):
        replace(dapo(), max_refills=-1)


def test_soft_overlong_penalty_by_hand() -> None:
    # Equation 13 with a limit of 20 and a cache of 4: free up to 16 action tokens.
    penalty = SoftOverlong(max_tokens=20, cache_tokens=4)
    counts = (0, 16, 17, 19, 20, 21, 90)
    assert [penalty(trajectory(1.0, tokens=count)) for count in counts] == [0.0, 0.0, -0.25, -0.75, -1.0, -1.0, -1.0]


def test_soft_overlong_limits_that_do_not_fit_are_refused() -> None:
    for cache in (0, 21):
        with pytest.raises(UserError, match=f"cache_tokens={cache} must lie between 1 and max_tokens=20"):
            SoftOverlong(max_tokens=20, cache_tokens=cache)


def test_a_group_teaches_when_its_scored_rewards_differ_at_all() -> None:
    assert teaches(rewarded(0.1, 0.1, 0.1 + 1e-12))
    assert not teaches(rewarded(1.0))
    assert not teaches(group(trajectory(1.0), trajectory(None, status="failed")))


def test_truncated_are_those_that_a_limit_ended() -> None:
    found = [is_truncated(trajectory(1.0, status=s)) for s in ("answered", "turn_limit", "token_limit", "failed")]
    assert found == [False, True, True, False]
