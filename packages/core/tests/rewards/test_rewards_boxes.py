"""The overlap of boxes with targets, and the grounding reward."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivgr_samples import BLUE, GROUNDED, HALF_RED, RED, TASK, UNTARGETED, grounded, tag

from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.geometry import Box, iou
from saccade.miniature.ivgr import TinyIvgrSettings
from saccade.rewards.grounding import (
    GroundingReward,
    box_recall,
    box_validity,
    dual_iou,
    mentioned_boxes,
    unrepeated_iou,
)
from saccade.testing import check_reward
from saccade.types import BoxMention, Score, Target, Task, Term

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
    bad = [Box(10, 10, 0, 0), Box(5, 5, 5, 5), Box(math.nan, 0, 10, 10), Box(-math.inf, -math.inf, math.inf, math.inf)]
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


REWARD = GroundingReward()
BOTH = replace(TASK, targets=(*TASK.targets, Target(label="blue plate", box=BLUE, point=BLUE.center)))


def box_part(*boxes: Box, task: Task = TASK, reward: GroundingReward = REWARD) -> float:
    return reward(task, grounded(f"red {tag(*boxes)} white")).values["box"]


def mentions(*boxes: Box | None) -> list[BoxMention]:
    return [BoxMention(text="", box=box) for box in boxes]


def test_the_grounded_reward_is_format_plus_accuracy_plus_boxes() -> None:
    assert REWARD(TASK, grounded(f"red {tag(HALF_RED)} white")) == Score(
        terms=(Term("format", 1.0), Term("accuracy", 1.0), Term("box", 0.5)),
        is_right=True,
        notes={"boxes": 1.0, "box_recall": 0.5},
    )
    assert REWARD(TASK, grounded(f"red {tag(RED)} black", "black")) == Score(
        terms=(Term("format", 1.0), Term("accuracy", 0.0), Term("box", 1.0)),
        is_right=False,
        notes={"boxes": 1.0, "box_recall": 1.0},
    )


def test_weights_are_settings() -> None:
    heavy = GroundingReward(format_weight=0.25, accuracy_weight=2.0, box_weight=4.0)
    assert heavy(TASK, grounded(f"red {tag(HALF_RED)} white")).total == 0.25 + 2.0 + 2.0


def test_equation_2_by_hand() -> None:
    # Two targets; one is met by half of it. Recall (0.5 + 0) / 2, precision 0.5.
    assert box_part(HALF_RED, task=BOTH) == 0.5 * (0.25 + 0.5)
    # Recall (1 + 0) / 2, precision (1 + 0.5) / 2: half of a box is another box.
    assert box_part(RED, HALF_RED, task=BOTH, reward=GroundingReward(box_rule="equation")) == 0.5 * (0.5 + 0.75)
    assert box_part(RED, BLUE, task=BOTH) == 1.0


def test_boxes_of_all_turns_count() -> None:
    first, last = grounded(f"red {tag(RED)}"), grounded(f"blue {tag(BLUE)}")
    both = replace(first, turns=(first.turns[0], replace(last.turns[0], index=1)))
    assert [one.box for one in mentioned_boxes(both)] == [RED, BLUE]
    assert REWARD(BOTH, both).values["box"] == 1.0


def test_a_hundred_boxes_earn_less_than_one() -> None:
    grid = [Box(x, y, x + 24, y + 24) for x in range(0, 240, 24) for y in range(0, 240, 24)]
    score = REWARD(TASK, grounded(f"red {tag(*grid)} {tag(RED)}"))
    # 64 boxes are read, the turn keeps no format, and nearly all of them hit nothing.
    assert score.notes["boxes"] == 64.0
    assert (score.values["format"], score.values["box"] < 0.2) == (0.0, True)
    assert box_part(*grid[:60], RED) < 0.55


def test_a_box_around_everything_earns_its_share_of_the_image_and_one_around_the_world_nothing() -> None:
    everything = box_part(Box(0, 0, 256, 256))
    assert everything == pytest.approx(48 * 48 / (256 * 256))
    assert box_part(Box(-100_000, -100_000, 100_000, 100_000)) < 1e-6
    whole = replace(TASK, targets=(Target(label="all", box=Box(0, 0, 256, 256), point=BLUE.center),))
    assert box_part(Box(-100_000, -100_000, 100_000, 100_000), task=whole) < 1e-5


sides = st.floats(-300, 600, allow_nan=False)


@given(st.lists(st.tuples(sides, sides, sides, sides), min_size=1, max_size=6))
def test_sticking_out_of_the_image_never_pays(corners: list[tuple[float, float, float, float]]) -> None:
    for corner in corners:
        assert iou(Box(*corner), RED) <= iou(Box(*corner).clipped(256, 256), RED) + 1e-12


def test_an_overshoot_by_rounding_costs_hardly_anything() -> None:
    edge = replace(TASK, targets=(Target(label="edge", box=Box(200, 200, 256, 256), point=BLUE.center),))
    assert box_part(Box(200, 200, 257, 257), task=edge) > 0.96


def test_the_same_box_again_changes_nothing() -> None:
    alone = box_part(RED, BLUE)
    assert alone == 0.75
    assert box_part(RED, BLUE, *[RED] * 40) == alone


def shifted(step: float) -> Box:
    return Box(RED.x1 + step, RED.y1, RED.x2 + step, RED.y2)


@pytest.mark.parametrize("step", [0.1, 1.0, 2.5, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("copies", [1, 5, 50])
def test_copies_of_any_closeness_never_pay(step: float, copies: int) -> None:
    jittered = [shifted(step * (1 + index / 100)) for index in range(copies)]
    for task in (TASK, BOTH):
        for beside in ((), (Box(100, 8, 148, 56),)):
            assert box_part(RED, *beside, *jittered, task=task) < box_part(RED, *beside, task=task)


def test_the_plain_equation_and_the_public_code_are_settings() -> None:
    equation, code = GroundingReward(box_rule="equation"), GroundingReward(box_rule="code")
    boxes = [RED, BLUE, *[shifted(1.0)] * 3]
    assert box_part(*boxes, reward=equation) == box_part(*boxes, reward=code) == dual_iou(boxes, [RED])
    assert box_part(RED, RED, BLUE, reward=equation) == pytest.approx(0.5 * (1 + 2 / 3))
    # What is no ordered box is a miss by the equation; the code drops it, and its ``box_validity`` counts it.
    assert box_part(RED, Box(56, 56, 8, 8), reward=equation) == 0.75
    assert box_part(RED, Box(56, 56, 8, 8), reward=code) == 1.0


def test_the_recipes_rule_of_boxes_is_a_setting() -> None:
    assert TinyIvgrSettings().reward.grounding == GroundingReward()
    asked = ("reward.grounding.box_rule=code", "reward.grounding.validity_weight=1")
    public = apply_overrides(TinyIvgrSettings(), asked)
    assert public.reward.grounding == GroundingReward(box_rule="code", validity_weight=1.0)


def test_inverted_and_unreadable_boxes_are_misses_each_time() -> None:
    inverted = Box(56, 56, 8, 8)
    assert box_part(RED, inverted) == 0.5 * (1 + 1 / 2)
    assert box_part(RED, inverted, inverted) == 0.5 * (1 + 1 / 3)
    unreadable = REWARD(TASK, grounded(f"red {tag(RED)} blue <box>over there</box>"))
    assert (unreadable.values["box"], unreadable.values["format"], unreadable.notes["boxes"]) == (0.75, 0.0, 1.0)
    assert box_part(inverted) == 0.0


def test_without_a_box_the_part_is_zero() -> None:
    score = REWARD(TASK, grounded("red is white"))
    assert score == Score(
        terms=(Term("format", 1.0), Term("accuracy", 1.0), Term("box", 0.0)),
        is_right=True,
        notes={"boxes": 0.0, "box_recall": 0.0},
    )


def test_a_box_in_the_answer_is_none() -> None:
    score = REWARD(TASK, grounded("red", f"white {tag(RED)}"))
    assert (score.values, score.notes["boxes"]) == ({"format": 0.0, "accuracy": 0.0, "box": 0.0}, 0.0)


def test_a_task_without_targets_has_no_part_of_boxes() -> None:
    score = REWARD(UNTARGETED, grounded(f"red {tag(RED)}", task=UNTARGETED))
    assert score == Score(terms=(Term("format", 1.0), Term("accuracy", 1.0)), is_right=True, notes={"boxes": 1.0})
    elsewhere = replace(TASK, targets=(replace(TASK.targets[0], image_index=1),))
    assert "box" not in REWARD(elsewhere, grounded(f"red {tag(RED)}")).values


def test_a_judges_accuracy_takes_the_place_of_the_rules() -> None:
    trajectory = grounded(f"red {tag(RED)}", "off-white")
    assert REWARD(TASK, trajectory).total == 2.0
    assert REWARD.judged(TASK, trajectory, 1.0).total == 3.0


def test_validity_is_the_share_of_ordered_boxes_by_hand() -> None:
    assert box_validity(mentions(RED, BLUE, None, Box(9, 9, 1, 1))) == 0.5
    assert box_validity(mentions()) == 0.0
    assert box_validity(mentions(None)) == 0.0
    assert box_validity(mentions(RED)) == 1.0


def test_validity_falls_to_zero_when_a_box_of_the_first_half_comes_again() -> None:
    assert box_validity(mentions(RED, BLUE, RED)) == 0.0
    # Of three the first alone is looked at, so a repetition among the last two passes, as in the public code.
    assert box_validity(mentions(RED, BLUE, BLUE)) == 1.0
    assert box_validity(mentions(RED, RED)) == 0.0


def test_validity_is_paid_only_where_it_is_asked_for() -> None:
    asked = GroundingReward(validity_weight=1.0)
    score = asked(TASK, grounded(f"red {tag(RED)}"))
    assert (score.total, score.values["box_valid"]) == (4.0, 1.0)
    assert "box_valid" not in asked(UNTARGETED, grounded(f"red {tag(RED)}", task=UNTARGETED)).values


@pytest.mark.parametrize("settings", [{"box_weight": -1.0}, {"validity_weight": float("nan")}, {"box_rule": "paper"}])
def test_settings_that_mean_nothing_are_refused(settings: dict) -> None:
    with pytest.raises(UserError, match=next(iter(settings))):
        GroundingReward(**settings)


def test_the_reward_keeps_the_contract() -> None:
    check_reward(GroundingReward(validity_weight=1.0))


@given(st.text(alphabet="<>/box[],. 0123456789-e", max_size=200))
def test_whatever_is_written_the_parts_stay_in_range(thought: str) -> None:
    parsed = GROUNDED.parse(f"<think>{thought}</think><answer>white</answer>")
    turn = replace(grounded("x").turns[0], boxes=parsed.boxes, is_well_formed=parsed.is_well_formed)
    score = GroundingReward(validity_weight=1.0)(TASK, replace(grounded("x"), turns=(turn,)))
    assert all(0.0 <= part <= 1.0 for part in score.values.values())
