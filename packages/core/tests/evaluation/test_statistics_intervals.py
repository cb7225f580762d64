import math

import pytest

from saccade.evaluation.statistics import Difference, paired_difference, wilson_interval


def test_wilson_interval_of_numbers_worked_out_by_hand() -> None:
    # n = 10, p = 0.5, z = 2: centre (0.5 + 4/20) / 1.4 = 0.5, half = 2 / 1.4 * sqrt(0.025 + 0.01).
    half = 2 / 1.4 * math.sqrt(0.035)
    assert wilson_interval(5, 10, z=2) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-12)


def test_wilson_interval_of_a_published_example() -> None:
    # Newcombe (1998), table I: 81 of 263 gives 0.2553 to 0.3662.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_wilson_interval_stays_inside_zero_and_one() -> None:
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.27753279), abs=1e-8)
    low, high = wilson_interval(10, 10)
    assert (round(low, 6), high) == (0.722467, 1.0)
    assert wilson_interval(0, 10)[0] == 0.0
    assert wilson_interval(1, 1)[1] == 1.0


def test_wilson_interval_of_nothing_is_everything() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_more_successes_than_trials_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson_interval(3, 2)


def test_equal_values_differ_by_zero_for_sure() -> None:
    difference = paired_difference([1, 0, 1], [1, 0, 1], seed=0)
    assert difference == Difference(mean=0.0, ci95=(0.0, 0.0), n=3)
    assert not difference.is_clear


def test_one_pair_has_no_spread() -> None:
    assert paired_difference([0], [1], seed=0) == Difference(mean=1.0, ci95=(1.0, 1.0), n=1)


def test_the_interval_is_near_that_of_the_normal_approximation() -> None:
    before = [0.0] * 400
    after = [1.0] * 100 + [0.0] * 300
    difference = paired_difference(before, after, seed=1)
    half = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert difference.mean == 0.25
    assert difference.ci95 == pytest.approx((0.25 - half, 0.25 + half), abs=0.004)
    assert difference.is_clear


def test_pairs_matter() -> None:
    values = [float(index) for index in range(50)]
    shifted = [value + 0.5 for value in values]
    assert paired_difference(values, shifted, seed=0).ci95 == (0.5, 0.5)


def test_the_same_seed_gives_the_same_interval_and_labels_another() -> None:
    before, after = [0.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.2, 0.5, 1.0]
    first = paired_difference(before, after, seed=3, resamples=500)
    assert paired_difference(before, after, seed=3, resamples=500) == first
    assert paired_difference(before, after, seed=3, labels=("rl",), resamples=500) != first


def test_values_that_are_not_pairs_are_an_error() -> None:
    with pytest.raises(ValueError, match="2 values before and 1 after"):
        paired_difference([1, 2], [1], seed=0)
    with pytest.raises(ValueError, match="at least one task"):
        paired_difference([], [], seed=0)
