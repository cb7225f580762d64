"""What must hold for any rewards, values and tokens, not only for those that someone thought of."""

import math
import random
from collections.abc import Callable

import pytest
import torch
from algorithm_samples import group, policy_tokens, rewarded, trajectory
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.algorithms.advantages import group_relative, leave_one_out
from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.critic import Critic, gae
from saccade.algorithms.losses import clipped_surrogate
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.turn_credit import turn_signal
from saccade.types import Trajectory

# Eighths: sums and differences of a few are exact in binary, so that equal rewards stay equal when shifted.
REWARDS = st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=1, max_size=8)
SMALL = st.floats(-3, 3)
AGGREGATIONS = st.sampled_from([Aggregation(), Aggregation(over="sequences"), Aggregation(over="constant", length=16)])
FEW = settings(max_examples=60, deadline=None)


def flat(advantages: list[list[list[float]]]) -> list[float]:
    return [turns[0] for of_group in advantages for turns in of_group]


@pytest.mark.parametrize("estimator", [group_relative, leave_one_out])
@FEW
@given(rewards=REWARDS, order=st.randoms(use_true_random=False), shift=st.integers(-8, 8))
def test_advantages_follow_a_permutation_and_ignore_a_shift(
    estimator: Callable[..., list[list[list[float]]]], rewards: list[float], order: random.Random, shift: int
) -> None:
    plain = flat(estimator([rewarded(*rewards)]))
    places = list(range(len(rewards)))
    order.shuffle(places)
    assert flat(estimator([rewarded(*(rewards[place] for place in places))])) == pytest.approx(
        [plain[place] for place in places], abs=1e-9
    )
    assert flat(estimator([rewarded(*(reward + shift for reward in rewards))])) == pytest.approx(plain, abs=1e-9)


@FEW
@given(rewards=REWARDS)
def test_advantages_of_a_group_add_up_to_nothing_and_stay_within_what_its_size_allows(rewards: list[float]) -> None:
    advantages = flat(group_relative([rewarded(*rewards)]))
    assert math.fsum(advantages) == pytest.approx(0.0, abs=1e-9)
    # (n - 1) / sqrt(n) is the largest distance to the mean in unbiased standard deviations.
    assert max(map(abs, advantages)) <= (len(rewards) - 1) / math.sqrt(len(rewards)) + 1e-9


@FEW
@given(rewards=REWARDS)
def test_leave_one_out_is_the_distance_to_the_mean_stretched(rewards: list[float]) -> None:
    stretch = len(rewards) / max(1, len(rewards) - 1)
    centred = flat(group_relative([rewarded(*rewards)], scale_by_std=False))
    assert flat(leave_one_out([rewarded(*rewards)])) == pytest.approx([stretch * one for one in centred], abs=1e-9)


@FEW
@given(steps=st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=12), discount=st.floats(0, 1))
def test_gae_with_lambda_one_telescopes_to_the_discounted_return(
    steps: list[tuple[float, float]], discount: float
) -> None:
    rewards, values = zip(*steps)
    expected, following = [], 0.0
    for reward, value in reversed(steps):
        following = reward + discount * following
        expected.append(following - value)
    found = gae(rewards, values, gae_lambda=1.0, discount=discount)
    assert found == pytest.approx(expected[::-1], abs=1e-9)


@FEW
@given(lengths=st.lists(st.integers(1, 5), min_size=2, max_size=6), data=st.data())
def test_whitened_advantages_have_mean_zero_and_follow_a_permutation_of_the_groups(
    lengths: list[int], data: st.DataObject
) -> None:
    values = [tuple(data.draw(st.lists(SMALL, min_size=n, max_size=n))) for n in lengths]
    groups = [group(trajectory(float(index % 2))) for index in range(len(lengths))]
    zeros = [[(0.0,) * n] for n in lengths]
    advantages, _ = Critic().targets(groups, [[one] for one in values], zeros)
    numbers = [number for of_group in advantages for one in of_group for number in one]
    assert math.fsum(numbers) == pytest.approx(0.0, abs=1e-6)
    turned, _ = Critic().targets(groups[::-1], [[one] for one in values[::-1]], zeros[::-1])
    assert [*turned[::-1][0][0]] == pytest.approx([*advantages[0][0]], abs=1e-9)


@FEW
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=8), aggregation=AGGREGATIONS)
def test_token_weights_add_up_to_one_where_a_mean_is_taken(counts: list[int], aggregation: Aggregation) -> None:
    weights = aggregation.token_weights(counts)
    assert all(weight == 0 for weight, count in zip(weights, counts) if not count)
    total = math.fsum(weight * count for weight, count in zip(weights, counts))
    trained = [count for count in counts if count]
    if not trained:
        assert total == 0
    elif aggregation.over == "constant":
        assert total == pytest.approx(sum(trained) / (16 * len(trained)))
    else:
        assert total == pytest.approx(1.0)


@FEW
@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    ratio=st.sampled_from(["token", "sequence", "sequence_token"]),
    importance=st.sampled_from(["none", "token", "sequence"]),
    seed=st.integers(0, 2**16),
)
def test_the_loss_does_not_depend_on_the_order_of_sequences(
    lengths: list[int], ratio: str, importance: str, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    columns = torch.randn(5, sum(lengths), generator=generator, dtype=torch.float64)
    options = PolicyOptions(kl_weight=0.1, dual_clip=2.0, importance=importance)  # type: ignore[arg-type]

    def loss(order: list[int]) -> float:
        parts = columns.split(lengths, dim=1)
        logprobs, old, sampled, advantages, reference = torch.cat([parts[place] for place in order], dim=1)
        counts = torch.tensor([lengths[place] for place in order])
        tokens = policy_tokens(
            logprobs,
            old=old.tolist(),
            sampled=sampled.tolist(),
            advantages=advantages.tolist(),
            sequence=torch.arange(len(order)).repeat_interleave(counts).tolist(),
            reference_logprobs=reference,
        )
        return clipped_surrogate(tokens, ratio=ratio, options=options).value.item()  # type: ignore[arg-type]

    places = list(range(len(lengths)))
    assert loss(places) == pytest.approx(loss(places[::-1]), rel=1e-12, abs=1e-12)


@FEW
@given(
    signals=st.lists(
        st.lists(st.integers(-16, 16).map(lambda n: n / 8), min_size=1, max_size=4), min_size=1, max_size=6
    ),
    shift=st.integers(-4, 4),
    includes_final=st.booleans(),
)
def test_turn_signals_ignore_a_shift_and_how_trajectories_are_grouped(
    signals: list[list[float]], shift: int, includes_final: bool
) -> None:
    played = [trajectory(1.0, turns=len(numbers)) for numbers in signals]
    by_id = {id(one): numbers for one, numbers in zip(played, signals)}

    def normalised(groups: list[list[Trajectory]], added: float = 0.0) -> list[list[float]]:
        found = turn_signal(
            [group(*of_group) for of_group in groups],
            lambda one: [number + added for number in by_id[id(one)]],
            includes_final_turn=includes_final,
            limit=math.inf,
        )
        return [turns for of_group in found for turns in of_group]

    together = normalised([played])
    for other in (normalised([played], added=shift), normalised([[one] for one in played])):
        assert [number for turns in other for number in turns] == pytest.approx(
            [number for turns in together for number in turns], abs=1e-9
        )
