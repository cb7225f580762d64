"""Turn-level credit: by hand, and its bias against exact policy gradients on a problem with variable stopping."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from algorithm_samples import group, trajectory

from saccade.algorithms.advantages import PerToken, group_relative
from saccade.algorithms.policy_gradient import grpo, ppo
from saccade.algorithms.turn_credit import add_turn_signal, turn_signal, with_turn_credit
from saccade.errors import UserError
from saccade.types import Trajectory

Estimator = Callable[[Sequence[Trajectory]], list[list[float]]]
"""Advantages of a batch by trajectory and turn."""

# What a turn may be: a tool call that works, one that fails, or the answer, which stops.
ACTIONS = ("works", "fails", "stops")
REWARDS = {"works": 0.0, "fails": -0.5, "stops": 0.0}
# By turn; in quarters, so that a batch of 64 holds every path exactly as often as the policy takes it.
POLICY = ((0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.25, 0.25, 0.5))
PATHS = [("stops",)] + [
    path
    for length in (2, 3)
    for path in itertools.product(*[ACTIONS] * length)
    if "stops" not in path[:-1] and (length == 3 or path[-1] == "stops")
]


@functools.cache
def _played(path: tuple[str, ...]) -> Trajectory:
    empty = trajectory(1.0)
    return replace(empty, turns=tuple(replace(empty.turns[0], index=i, text=text) for i, text in enumerate(path)))


def played(path: Sequence[str]) -> Trajectory:
    return _played(tuple(path))


def rewards(one: Trajectory) -> list[float]:
    return [REWARDS[turn.text] for turn in one.turns]


def to_go(numbers: Sequence[float]) -> list[float]:
    return list(itertools.accumulate(reversed(numbers)))[::-1]


def returns(one: Trajectory) -> list[float]:
    return to_go(rewards(one))


def probability(path: Sequence[str]) -> float:
    return math.prod(POLICY[turn][ACTIONS.index(action)] for turn, action in enumerate(path))


POPULATION = [played(path) for path in PATHS for _ in range(round(64 * probability(path)))]


def exact_gradient() -> torch.Tensor:
    """Of the expected sum of rewards with respect to each turn's logits, by enumeration of all paths."""
    logits = torch.tensor(POLICY, dtype=torch.float64).log().requires_grad_()
    log_p = torch.log_softmax(logits, dim=-1)
    expected = torch.zeros((), dtype=torch.float64)
    for path in PATHS:
        log_path = torch.stack([log_p[turn, ACTIONS.index(action)] for turn, action in enumerate(path)]).sum()
        expected = expected + log_path.exp() * sum(REWARDS[action] for action in path)
    return torch.autograd.grad(expected, logits)[0]


def estimated_gradient(batch: Sequence[Trajectory], estimator: Estimator) -> torch.Tensor:
    """Sum over turns of advantage times the gradient of log p(action), a mean over trajectories."""
    gradient = torch.zeros(3, 3, dtype=torch.float64)
    for one, advantages in zip(batch, estimator(batch), strict=True):
        for turn, advantage in zip(one.turns, advantages, strict=True):
            gradient[turn.index] -= advantage * torch.tensor(POLICY[turn.index], dtype=torch.float64)
            gradient[turn.index, ACTIONS.index(turn.text)] += advantage
    return gradient / len(batch)


def ours(batch: Sequence[Trajectory]) -> list[list[float]]:
    return turn_signal([group(*batch)], returns, limit=math.inf)[0]


def without_final_turn(batch: Sequence[Trajectory]) -> list[list[float]]:
    return turn_signal([group(*batch)], returns, includes_final_turn=False, limit=math.inf)[0]


def per_turn_index(signal: Callable[[Trajectory], list[float]], batch: Sequence[Trajectory]) -> list[list[float]]:
    by_index = [[signal(one)[turn] for one in batch if len(one.turns) > turn] for turn in range(3)]
    means = [math.fsum(of) / max(1, len(of)) for of in by_index]
    stds = [math.sqrt(sum((x - mean) ** 2 for x in of) / max(1, len(of))) for of, mean in zip(by_index, means)]
    return [
        [(x - means[turn]) / stds[turn] if stds[turn] else 0.0 for turn, x in enumerate(signal(one))] for one in batch
    ]


def returns_per_turn_index(batch: Sequence[Trajectory]) -> list[list[float]]:
    return per_turn_index(returns, batch)


def rewards_per_turn_index_summed(batch: Sequence[Trajectory]) -> list[list[float]]:
    return [to_go(numbers) for numbers in per_turn_index(rewards, batch)]


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a * b).sum() / (a.norm() * b.norm()))


def expected_gradient(estimator: Estimator, size: int) -> torch.Tensor:
    """Over all batches of that many trajectories, each with its probability."""
    total = torch.zeros(3, 3, dtype=torch.float64)
    for batch in itertools.combinations_with_replacement(PATHS, size):
        orders = math.factorial(size) / math.prod(math.factorial(n) for n in Counter(batch).values())
        chance = orders * math.prod(probability(path) for path in batch)
        total += chance * estimated_gradient([played(path) for path in batch], estimator)
    return total


def test_the_paths_of_the_toy_problem_are_complete() -> None:
    assert len(PATHS) == 15
    assert math.fsum(map(probability, PATHS)) == 1.0
    assert len(POPULATION) == 64


def test_one_mean_and_one_std_over_all_turns_point_along_the_exact_policy_gradient() -> None:
    std = math.sqrt(sum((x - mean_return()) ** 2 for one in POPULATION for x in returns(one)) / turn_count())
    torch.testing.assert_close(estimated_gradient(POPULATION, ours) * std, exact_gradient(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "at_most"),
    [(returns_per_turn_index, 0.98), (rewards_per_turn_index_summed, 0.95), (without_final_turn, 0.7)],
)
def test_other_ways_to_normalise_turns_are_biased_however_large_the_batch(estimator: Estimator, at_most: float) -> None:
    assert cosine(estimated_gradient(POPULATION, estimator), exact_gradient()) < at_most


@pytest.mark.parametrize("estimator", [rewards_per_turn_index_summed, without_final_turn])
def test_a_baseline_that_stops_with_the_trajectory_pays_for_going_on(estimator: Estimator) -> None:
    # To stop at once is better than average here, as every failed call costs; these estimators miss most of it.
    exact, ours_at_scale = exact_gradient(), estimated_gradient(POPULATION, ours)
    biased = estimated_gradient(POPULATION, estimator)
    assert exact[0, 2] > 0
    assert biased[0, 2] / biased.norm() < 0.5 * ours_at_scale[0, 2] / ours_at_scale.norm()


def test_what_a_small_batch_adds_to_the_bias_falls_with_its_size() -> None:
    angles = [math.acos(cosine(expected_gradient(ours, size), exact_gradient())) for size in (2, 4)]
    assert angles[1] < 0.65 * angles[0] < 0.1


def mean_return() -> float:
    return math.fsum(x for one in POPULATION for x in returns(one)) / turn_count()


def turn_count() -> int:
    return sum(len(one.turns) for one in POPULATION)


def test_signal_by_hand() -> None:
    # Returns -0.5, 0 and 0, 0: mean -0.125, population std sqrt((0.375^2 + 3 * 0.125^2) / 4) = 0.2165064
    groups = [group(played(["fails", "stops"])), group(played(["works", "stops"]))]
    low, high = -0.375 / 0.21650635, 0.125 / 0.21650635
    ((first,), (second,)) = turn_signal(groups, returns)
    assert [*first, *second] == pytest.approx([low, high, high, high])


def test_without_the_final_turn_it_is_zero_and_out_of_the_statistics() -> None:
    groups = [group(played(["fails", "stops"]), played(["works", "stops"]))]
    assert turn_signal(groups, returns, includes_final_turn=False) == [[[-1.0, 0.0], [1.0, 0.0]]]


def test_a_batch_of_equal_signals_or_of_none_is_zero() -> None:
    alike = [group(played(["fails"]), played(["fails"]))]
    assert turn_signal(alike, returns) == [[[0.0], [0.0]]]
    assert turn_signal(alike, returns, includes_final_turn=False) == [[[0.0], [0.0]]]
    assert turn_signal([], returns) == []


def test_few_failures_in_a_large_batch_are_cut_at_the_limit() -> None:
    batch = [group(played(["fails"]), *[played(["stops"])] * 999)]
    assert turn_signal(batch, returns)[0][0] == [-10.0]
    assert turn_signal(batch, returns, limit=math.inf)[0][0] == pytest.approx([-math.sqrt(999)])


def test_failed_trajectories_have_zeros_and_do_not_enter_the_statistics() -> None:
    lost = replace(played(["fails", "fails"]), status="failed", score=None)
    fine = [played(["fails", "stops"]), played(["works", "stops"])]
    ((*rest, zeros),) = turn_signal([group(*fine, lost)], returns)
    assert [rest] == turn_signal([group(*fine)], returns)
    assert zeros == [0.0, 0.0]


def test_the_signal_is_added_turn_by_turn_to_what_the_group_says() -> None:
    one = [group(replace(played(["fails", "stops"]), score=None), played(["stops"]))]
    scored = [group(replace(one[0].trajectories[0], score=trajectory(3.0).score), one[0].trajectories[1])]
    advantages = group_relative(scored, scale_by_std=False)
    assert add_turn_signal(advantages, [[[-1.0, 0.5], [0.5]]], weight=0.2) == [
        [pytest.approx([1.0 - 0.2, 1.0 + 0.1]), pytest.approx([-1.0 + 0.1])]
    ]


def test_a_signal_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="2 turns, but the signal gives 1"):
        turn_signal([group(played(["fails", "stops"]))], lambda one: [0.0])
    with pytest.raises(ValueError, match="cannot be added"):
        add_turn_signal([[[1.0]]], [[[1.0, 1.0]]])
    with pytest.raises(ValueError, match="action tokens"):
        add_turn_signal([[PerToken([1.0])]], [[[1.0]]])


def test_equal_signals_can_be_kept_as_they_are() -> None:
    """CodeDance's code does not divide by a std below 1e-8 and does not take the mean off either."""
    alike = [group(played(["fails", "fails"]), played(["fails", "fails"]))]
    code = turn_signal(alike, rewards, includes_final_turn=False, keeps_equal=True, limit=math.inf)
    assert code == [[[-0.5, 0.0], [-0.5, 0.0]]]
    fine = [group(played(["works", "stops"]))]
    assert turn_signal(fine, returns, keeps_equal=True) == [[[0.0, 0.0]]]


def test_an_algorithm_with_turn_credit_adds_a_fifth_of_the_signal() -> None:
    fails, works = played(["fails", "stops"]), played(["works", "stops"])
    groups = [group(replace(fails, score=trajectory(3.0).score), works)]
    compute_advantages = with_turn_credit(grpo(), returns)
    (advantages,), (signal,) = group_relative(groups), turn_signal(groups, returns)
    assert compute_advantages.advantages(groups) == [
        [[a + 0.2 * s for a, s in zip(*of_one)] for of_one in zip(advantages, signal)]
    ]
    assert compute_advantages.name == "grpo with turn credit"


def test_a_group_of_equal_rewards_is_trained_by_the_signal_alone() -> None:
    groups = [group(played(["fails", "stops"]), played(["works", "stops"]))]
    assert group_relative(groups) == [[[0.0, 0.0], [0.0, 0.0]]]
    ((fails, works),) = with_turn_credit(grpo(), returns).advantages(groups)
    assert fails[0] < 0 < works[0]


def test_turn_credit_that_cannot_work_is_refused() -> None:
    with pytest.raises(UserError, match="those of ppo are its critic's"):
        with_turn_credit(ppo(), returns)
    with pytest.raises(UserError, match=r"weight=-0\.2"):
        with_turn_credit(grpo(), returns, weight=-0.2)
