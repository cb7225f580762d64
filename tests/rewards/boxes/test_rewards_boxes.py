import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.geometry import Box
from saccade.rewards.boxes.grounding import box_recall, dual_iou, unrepeated_iou

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


FAR = Box(100, 100, 110, 110)
TALL = Box(0, 0, 10, 20)
"""Twice A: their IoU is 0.5."""
places = st.integers(0, 12)
boxes = st.builds(lambda x, y, w, h: Box(x, y, x + w + 1, y + h + 1), places, places, places, places)
some_boxes = st.lists(boxes, min_size=1, max_size=5)


def fits_best(box: Box, others: list[Box], target: list[Box]) -> bool:
    return any(box_recall([box], [one]) >= max(box_recall(others, [one]), 1e-12) for one in target)


def test_without_repetition_both_measures_are_the_same() -> None:
    for predicted in ([A], [A, B], [HALF_OF_A], [A, FAR], [FAR], [A, Box(10, 10, 0, 0)]):
        assert unrepeated_iou(predicted, [A, B]) == pytest.approx(dual_iou(predicted, [A, B]))


def test_a_second_guess_by_hand() -> None:
    # Worth of A: the mean of 1 and of 0.5 with weight 0.5. The half that is other is half a miss.
    worth = (1 + 0.5 * 0.5) / 1.5
    assert unrepeated_iou([A, TALL], [A]) == pytest.approx(0.5 * (worth + worth / 1.5))
    # Next to a far box it is the same, and one more miss.
    assert unrepeated_iou([A, TALL, FAR], [A]) == pytest.approx(0.5 * (worth + worth / 2.5))


def test_the_same_box_again_is_no_matter() -> None:
    assert unrepeated_iou([A] * 30 + [FAR], [A]) == unrepeated_iou([A, FAR], [A]) == 0.75


def test_two_targets_at_one_place_need_no_second_box() -> None:
    twin = Box(0, 0, 10, 9)
    assert unrepeated_iou([A], [A, twin]) == pytest.approx(0.5 * (0.95 + 1))
    assert unrepeated_iou([A, A], [A, twin]) == unrepeated_iou([A], [A, twin])
    assert unrepeated_iou([A, twin], [A, twin]) == 1.0


def test_nothing_on_either_side_is_worth_nothing() -> None:
    assert [unrepeated_iou([], [A]), unrepeated_iou([A], []), unrepeated_iou([FAR], [A])] == [0.0, 0.0, 0.0]


def test_many_small_boxes_and_one_huge_box_are_worth_little() -> None:
    tiles = [Box(x, y, x + 1, y + 1) for x in range(10) for y in range(10)]
    assert unrepeated_iou(tiles, [A]) < 0.01
    assert unrepeated_iou([Box(-1000, -1000, 1000, 1000)], [A]) < 1e-4


@given(some_boxes, some_boxes, boxes)
def test_a_box_that_fits_no_target_best_never_pays(predicted: list[Box], target: list[Box], more: Box) -> None:
    if not fits_best(more, predicted, target):
        assert unrepeated_iou([*predicted, more], target) <= unrepeated_iou(predicted, target) + 1e-12


@given(some_boxes, some_boxes)
def test_the_order_of_boxes_is_no_matter(predicted: list[Box], target: list[Box]) -> None:
    values = {
        round(unrepeated_iou(list(one), target), 9) for one in itertools.islice(itertools.permutations(predicted), 6)
    }
    assert len(values) == 1


@given(some_boxes, some_boxes)
def test_it_stays_in_range_and_all_targets_are_worth_one(predicted: list[Box], target: list[Box]) -> None:
    assert 0.0 <= unrepeated_iou(predicted, target) <= 1.0
    assert unrepeated_iou(target, target) == pytest.approx(1.0)
