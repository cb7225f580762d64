"""Advantages on numbers worked out by hand."""

import pytest
from algorithm_samples import group, rewarded, trajectory

from saccade.algorithms.advantages import group_relative, is_constant, leave_one_out


def test_group_with_equal_rewards_has_zero_advantage() -> None:
    assert group_relative([rewarded(1, 1, 1)]) == [[[0.0], [0.0], [0.0]]]


def test_equal_rewards_that_are_not_exact_in_binary_still_give_zero() -> None:
    assert group_relative([rewarded(0.1, 0.1, 0.1)]) == [[[0.0], [0.0], [0.0]]]


def test_group_of_one_has_zero_advantage() -> None:
    assert group_relative([rewarded(0.7)]) == [[[0.0]]]


def test_two_of_four_right_by_hand() -> None:
    # mean 0.5, unbiased std sqrt(4 * 0.25 / 3) = 0.57735
    values = [turns[0] for turns in group_relative([rewarded(1, 1, 0, 0)])[0]]
    assert values == pytest.approx([0.8660254, 0.8660254, -0.8660254, -0.8660254], abs=1e-5)


def test_without_std_the_advantage_is_the_distance_to_the_mean() -> None:
    assert group_relative([rewarded(3, 0, 0)], scale_by_std=False) == [[[2.0], [-1.0], [-1.0]]]


def test_every_turn_gets_the_trajectory_s_advantage() -> None:
    scored = group(trajectory(1.0, turns=3), trajectory(0.0, turns=2))
    assert group_relative([scored], scale_by_std=False) == [[[0.5, 0.5, 0.5], [-0.5, -0.5]]]


def test_groups_are_never_compared_with_each_other() -> None:
    first, second = group_relative([rewarded(1, 0), rewarded(11, 10)])
    assert first == second


def test_failed_trajectory_is_left_out_of_the_mean() -> None:
    scored = group(trajectory(1.0), trajectory(0.0), trajectory(None, status="failed"))
    assert group_relative([scored], scale_by_std=False) == [[[0.5], [-0.5], [0.0]]]


def test_group_of_failures_only_is_zero() -> None:
    assert group_relative([group(trajectory(None, status="failed"))]) == [[[0.0]]]


def test_unscored_trajectory_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no score"):
        group_relative([group(trajectory(None))])


def test_constant_groups_are_told_by_exact_equality() -> None:
    assert is_constant(rewarded(0.1, 0.1))
    assert is_constant(group(trajectory(1.0), trajectory(None, status="failed")))
    assert not is_constant(rewarded(0.1, 0.1 + 1e-12))


def test_leave_one_out_compares_with_the_mean_of_the_siblings() -> None:
    # 3 - (0 + 0) / 2 and 0 - (3 + 0) / 2
    assert leave_one_out([rewarded(3, 0, 0)]) == [[[3.0], [-1.5], [-1.5]]]


def test_leave_one_out_of_one_or_of_equal_rewards_is_zero() -> None:
    assert leave_one_out([rewarded(0.7), rewarded(0.1, 0.1, 0.1)]) == [[[0.0]], [[0.0], [0.0], [0.0]]]


def test_failed_trajectory_is_nobody_s_sibling() -> None:
    scored = group(trajectory(1.0, turns=2), trajectory(0.0), trajectory(None, status="failed"))
    assert leave_one_out([scored]) == [[[1.0, 1.0], [-1.0], [0.0]]]


def test_noise_in_the_last_bits_of_rewards_is_not_divided_up_into_large_advantages() -> None:
    # Trap of std normalisation: two rewards that differ by rounding only. The floor of the std keeps them small.
    noisy = rewarded(0.3, 0.1 + 0.2)
    assert max(abs(turns[0]) for turns in group_relative([noisy])[0]) < 1e-9
