"""CodeDance's and DeepEyes' rewards by hand."""

import math
from dataclasses import replace

import pytest
from reward_samples import FAILS, IDLE, REFUSED, RUNS, TASK, UNSEEN, played

from saccade.errors import UserError
from saccade.rewards.tool_use import (
    Calls,
    DeepEyesReward,
    adaptive_tool_reward,
    call_outcome,
    calls_of,
    difficulty_scale,
    execution_returns,
    turn_returns,
)
from saccade.types import ToolResult


def test_hard_questions_scale_the_bonus_up_and_easy_ones_turn_it_around() -> None:
    # sigmoid(2) = 0.880797, sigmoid(-2) = 0.119203
    assert difficulty_scale(0.0) == pytest.approx(0.680797, abs=1e-6)
    assert difficulty_scale(0.5) == pytest.approx(0.3)
    assert difficulty_scale(1.0) == pytest.approx(-0.080797, abs=1e-6)


def test_the_paper_turns_its_sign_at_0_8466_and_the_code_at_0_6733() -> None:
    assert difficulty_scale(0.5 + math.log(4) / 4) == pytest.approx(0.0)
    assert difficulty_scale(0.8465) > 0 > difficulty_scale(0.8467)
    assert difficulty_scale(0.6732, form="code") > 0 > difficulty_scale(0.6734, form="code")


def test_the_code_is_twice_as_steep() -> None:
    assert difficulty_scale(0.0, form="code") == pytest.approx((1 + math.tanh(2)) / 2 - 0.2)
    assert difficulty_scale(0.3, gamma=4, form="code") == pytest.approx(difficulty_scale(0.3, gamma=8))


@pytest.mark.parametrize("gamma", [0.0, 4.0, 1e6, 1e300])
def test_the_scale_stays_within_its_bounds(gamma: float) -> None:
    scales = [difficulty_scale(step / 8, gamma=gamma) for step in range(9)]
    assert all(-0.2 <= scale <= 0.8 for scale in scales)
    assert scales == sorted(scales, reverse=True)


def test_with_a_shift_of_a_tenth_the_papers_scale_never_turns_negative() -> None:
    assert difficulty_scale(1.0, shift=0.1) > 0


def test_a_right_answer_whose_calls_ran_by_hand() -> None:
    # (0.5 + 1) * 2/3 * (sigmoid(1) - 0.2) = 0.531059
    reward = adaptive_tool_reward(is_correct=True, succeeded=2, total=3, group_accuracy=0.25)
    assert reward == pytest.approx(0.531059, abs=1e-6)


def test_a_wrong_answer_has_the_base_weight_alone() -> None:
    right = adaptive_tool_reward(is_correct=True, succeeded=1, total=1, group_accuracy=0.25)
    wrong = adaptive_tool_reward(is_correct=False, succeeded=1, total=1, group_accuracy=0.25)
    assert right == pytest.approx(3 * wrong)
    mathematics = adaptive_tool_reward(is_correct=False, succeeded=1, total=1, group_accuracy=0.25, base_weight=1.0)
    assert mathematics == pytest.approx(2 * wrong)


def test_without_a_call_and_without_a_success_there_is_no_bonus() -> None:
    assert adaptive_tool_reward(is_correct=True, succeeded=0, total=0, group_accuracy=0.0) == 0.0
    assert adaptive_tool_reward(is_correct=True, succeeded=0, total=5, group_accuracy=0.0) == 0.0


def test_on_easy_questions_calls_cost_a_right_answer_more_than_a_wrong_one() -> None:
    """Trap 25: the paper's formula, as it stands."""
    right = adaptive_tool_reward(is_correct=True, succeeded=1, total=1, group_accuracy=1.0)
    wrong = adaptive_tool_reward(is_correct=False, succeeded=1, total=1, group_accuracy=1.0)
    assert right < wrong < 0


@pytest.mark.parametrize(("succeeded", "total"), [(1, 0), (-1, 2), (3, 2)])
def test_more_successes_than_calls_are_impossible(succeeded: int, total: int) -> None:
    with pytest.raises(ValueError, match=f"{succeeded} of {total} calls succeeded"):
        adaptive_tool_reward(is_correct=True, succeeded=succeeded, total=total, group_accuracy=0.5)


@pytest.mark.parametrize("accuracy", [-0.01, 1.01, math.nan, math.inf])
def test_an_accuracy_outside_0_to_1_is_impossible(accuracy: float) -> None:
    with pytest.raises(ValueError, match="is no share of right answers"):
        adaptive_tool_reward(is_correct=True, succeeded=1, total=1, group_accuracy=accuracy)


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", -1.0), ("gamma", math.inf), ("shift", -0.1), ("shift", math.nan), ("base_weight", -0.5)],
)
def test_settings_that_mean_nothing_are_refused(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name}="):
        adaptive_tool_reward(is_correct=True, succeeded=1, total=1, group_accuracy=0.5, **{name: value})  # type: ignore[arg-type]


def test_deepeyes_pays_a_right_answer_with_a_tool_once() -> None:
    reward = DeepEyesReward(needs_image=False)
    for trajectory, paid in (
        (played(RUNS, RUNS, answer="red"), 1.2),
        (played(RUNS, answer="blue"), 0.0),
        (played(answer="red"), 0.0),
    ):
        assert reward(TASK, trajectory).terms[-1].contribution == paid


@pytest.mark.parametrize(("succeeded", "idle", "total"), [(1, 1, 1), (0, 2, 1), (0, -1, 1)])
def test_a_call_is_not_both_idle_and_a_success(succeeded: int, idle: int, total: int) -> None:
    with pytest.raises(ValueError, match=f"{idle} were idle"):
        Calls(succeeded=succeeded, total=total, idle=idle)


def test_returns_of_turns_by_hand() -> None:
    # From the back: 0, -0.5 + 0.2 * 0, 0 + 0.2 * -0.5, -0.5 + 0.2 * -0.1
    assert turn_returns([True, False, True, False]) == pytest.approx([-0.52, -0.1, -0.5, 0.0])
    assert turn_returns([]) == []
    assert turn_returns([False, False]) == [0.0, 0.0]


def test_the_return_of_endless_failures_is_bounded() -> None:
    # penalty / (1 - discount) = -0.625
    assert turn_returns([True] * 1000)[0] == pytest.approx(-0.625)


@pytest.mark.parametrize(("name", "value"), [("penalty", 0.5), ("penalty", math.nan), ("discount", 1.1)])
def test_returns_that_pay_for_failures_are_refused(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name}="):
        turn_returns([True], **{name: value})


def test_a_call_succeeded_failed_or_was_refused_as_the_tool_says() -> None:
    assert [call_outcome(turn) for turn in (RUNS, FAILS, REFUSED)] == ["succeeded", "failed", "refused"]
    failed = replace(FAILS, result=ToolResult(is_ok=False, data={"work": "idle"}))
    assert [call_outcome(turn) for turn in (IDLE, failed)] == ["idle", "failed"]


def test_answers_malformed_turns_and_a_call_that_nobody_ran_are_no_calls() -> None:
    one = played("malformed", UNSEEN, answer="red")
    assert [call_outcome(turn) for turn in one.turns] == [None, None, None]
    assert calls_of(one) == Calls(succeeded=0, total=0)
    assert execution_returns(one) == [0.0, 0.0, 0.0]


def test_a_refused_call_counts_and_did_not_succeed() -> None:
    one = played(RUNS, REFUSED, FAILS, answer="red")
    assert calls_of(one) == Calls(succeeded=1, total=3)
    assert execution_returns(one) == pytest.approx([-0.12, -0.6, -0.5, 0.0])
