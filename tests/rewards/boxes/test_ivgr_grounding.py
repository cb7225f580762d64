"""The grounded stream's reward (equations 1 and 2), and what a policy may try to be paid for boxes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivgr_samples import BLUE, GROUNDED, HALF_RED, RED, TASK, UNTARGETED, grounded, tag

from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.geometry import Box, iou
from saccade.miniature.ivgr import TinyIvgrSettings
from saccade.rewards.boxes.grounding import GroundingReward, box_validity, dual_iou, mentioned_boxes
from saccade.testing import check_reward
from saccade.types import BoxMention, Score, Target, Task, Term

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
