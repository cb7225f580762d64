"""GDPO, MaxRL and REINFORCE++ on numbers worked out by hand."""

from dataclasses import replace
from math import sqrt

import pytest
from algorithm_samples import group, rewarded, trajectory

from saccade.algorithms.gdpo import by_term
from saccade.algorithms.maxrl import by_mean
from saccade.algorithms.reinforce_plus_plus import over_batch
from saccade.errors import UserError
from saccade.types import Group, Score, Term


def with_terms(*rows: dict[str, float] | None, weights: dict[str, float]) -> Group:
    """A group whose trajectories have those terms; None is one that the machine failed."""
    return group(
        *(
            trajectory(None, status="failed")
            if row is None
            else replace(
                trajectory(0.0),
                score=Score(terms=tuple(Term(name, value, weights[name]) for name, value in row.items())),
            )
            for row in rows
        )
    )


def firsts(advantages: list[list[list[float]]]) -> list[list[float]]:
    return [[turns[0] for turns in of_group] for of_group in advantages]


def test_gdpo_tells_outcomes_apart_that_have_equal_sums() -> None:
    # A sum sees 1 and 1 in the first group and nothing in the second; terms of their own see all four.
    weights = {"right": 1.0, "format": 1.0}
    one = with_terms({"right": 1.0, "format": 0.0}, {"right": 0.0, "format": 0.0}, weights=weights)
    other = with_terms({"right": 1.0, "format": 1.0}, {"right": 0.0, "format": 0.0}, weights=weights)
    (high, low), (higher, lower) = firsts(by_term([one, other]))
    # Standardised pairs are +-1/sqrt(2): sums of +-0.71 and +-1.41, whose own deviation is sqrt(5/3).
    assert [high, low] == pytest.approx([sqrt(1 / 2) / sqrt(5 / 3), -sqrt(1 / 2) / sqrt(5 / 3)], rel=1e-5)
    assert [higher, lower] == pytest.approx([sqrt(2) / sqrt(5 / 3), -sqrt(2) / sqrt(5 / 3)], rel=1e-5)


def test_gdpo_weighs_terms_after_they_are_compared() -> None:
    weights = {"right": 1.0, "format": 0.5}
    # The format varies a hundred times as much, which weighs nothing.
    of = with_terms({"right": 1.0, "format": 0.0}, {"right": 0.0, "format": 100.0}, weights=weights)
    ((first, second),) = firsts(by_term([of]))
    assert first > 0 > second


def test_gdpo_compares_a_term_among_those_that_have_it_and_leaves_failures_out() -> None:
    weights = {"right": 1.0, "box": 1.0}
    rows = ({"right": 1.0, "box": 0.2}, {"right": 1.0}, None, {"right": 1.0, "box": 0.8})
    ((first, second, failed, last),) = firsts(by_term([with_terms(*rows, weights=weights)]))
    assert failed == 0
    assert first < 0 < last
    assert second == pytest.approx(0)


def test_gdpo_has_nothing_to_say_of_a_batch_without_differences() -> None:
    same = with_terms({"right": 0.1 + 0.2}, {"right": 0.1 + 0.2}, weights={"right": 1.0})
    assert firsts(by_term([same])) == [[0.0, 0.0]]
    with pytest.raises(ValueError, match="has no score"):
        by_term([group(trajectory(None))])


def test_maxrl_divides_by_the_success_rate() -> None:
    rare, common, none = rewarded(1.0, 0.0, 0.0, 0.0), rewarded(1.0, 1.0, 1.0, 0.0), rewarded(0.0, 0.0)
    assert firsts(by_mean([rare, common, none])) == [
        [3.0, -1.0, -1.0, -1.0],
        pytest.approx([1 / 3, 1 / 3, 1 / 3, -1.0]),
        [0.0, 0.0],
    ]
    failed = group(trajectory(1.0), trajectory(0.0), trajectory(None, status="failed"))
    assert firsts(by_mean([failed])) == [[1.0, -1.0, 0.0]]


def test_maxrl_refuses_rewards_below_zero() -> None:
    with pytest.raises(UserError, match=r"t has one of -0.5; take a reward of 0 or more"):
        by_mean([rewarded(1.0, -0.5)])


def test_reinforce_plus_plus_standardises_over_the_tokens_of_the_batch() -> None:
    batch = [
        group(trajectory(1.0, tokens=1), trajectory(0.0, tokens=3)),
        group(trajectory(0.0, tokens=4), trajectory(None, status="failed", tokens=9)),
    ]
    # One token of eight has 1: mean 1/8, variance 7/64.
    high, low = (7 / 8) / sqrt(7 / 64), (-1 / 8) / sqrt(7 / 64)
    found = firsts(over_batch(batch, has_baseline=False))
    assert found == [pytest.approx([high, low]), pytest.approx([low, 0.0])]
    # Around the group's mean: +-1/2 in the first, 0 in the second; mean -1/8, variance 1/8 - 1/64.
    spread = sqrt((0.25 * 4) / 8 - (1 / 8) ** 2)
    found = firsts(over_batch(batch, has_baseline=True))
    assert found == [
        pytest.approx([(0.5 + 1 / 8) / spread, (-0.5 + 1 / 8) / spread]),
        pytest.approx([(1 / 8) / spread, 0.0]),
    ]


def test_reinforce_plus_plus_has_nothing_to_say_of_equal_rewards() -> None:
    batch = [rewarded(0.3, 0.3), group(trajectory(None, status="failed"))]
    assert firsts(over_batch(batch, has_baseline=False)) == [[0.0, 0.0], [0.0]]


def test_every_turn_has_the_advantage_of_its_trajectory() -> None:
    batch = [group(trajectory(1.0, turns=3, tokens=2), trajectory(0.0, turns=1, tokens=2))]
    for advantages in (by_mean(batch), by_term(batch), over_batch(batch, has_baseline=True)):
        assert [len(turns) for turns in advantages[0]] == [3, 1]
        assert len(set(advantages[0][0])) == 1
