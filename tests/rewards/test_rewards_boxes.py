import math

import pytest

from saccade.geometry import Box
from saccade.rewards.boxes import box_recall, dual_iou

A, B = Box(0, 0, 10, 10), Box(20, 0, 30, 10)
HALF_OF_A = Box(0, 0, 10, 5)


def test_perfect_boxes_give_one() -> None:
    assert dual_iou([A, B], [B, A]) == 1.0


def test_one_of_two_targets_by_hand() -> None:
    # Recall (1 + 0) / 2, precision 1.
    assert dual_iou([A], [A, B]) == 0.75


def test_one_false_box_by_hand() -> None:
    # Recall 1, precision (1 + 0) / 2.
    assert dual_iou([A, B], [A]) == 0.75


def test_partial_overlap_by_hand() -> None:
    # Recall max(0.5) = 0.5, precision 0.5.
    assert dual_iou([HALF_OF_A], [A]) == 0.5
    # Recall (1 + 0) / 2, precision (1 + 0.5) / 2.
    assert dual_iou([A, HALF_OF_A], [A, B]) == pytest.approx(0.5 * (0.5 + 0.75))


def test_no_box_on_either_side_gives_zero() -> None:
    assert dual_iou([], [A]) == 0.0
    assert dual_iou([A], []) == 0.0
    assert dual_iou([], []) == 0.0


def test_repeating_a_right_box_gains_nothing() -> None:
    assert dual_iou([A] * 50, [A, B]) == dual_iou([A], [A, B])


def test_enumerating_boxes_costs_precision() -> None:
    grid = [Box(x, y, x + 10, y + 10) for x in range(0, 100, 10) for y in range(0, 100, 10)]
    assert box_recall(grid, [A]) == 1.0
    assert dual_iou(grid, [A]) == pytest.approx(0.5 * (1 + 0.01))


def test_one_box_around_everything_earns_little() -> None:
    assert dual_iou([Box(0, 0, 100, 100)], [A, B]) == pytest.approx(0.01)


def test_inverted_empty_and_endless_boxes_count_as_misses() -> None:
    bad = [
        Box(10, 10, 0, 0),
        Box(5, 5, 5, 5),
        Box(math.nan, 0, 10, 10),
        Box(-math.inf, -math.inf, math.inf, math.inf),
    ]
    for box in bad:
        assert dual_iou([box], [A]) == 0.0
        assert dual_iou([A, box], [A]) == 0.75
