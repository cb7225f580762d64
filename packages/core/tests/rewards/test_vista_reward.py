"""VISTA-R1's reward: every value that it can have, worked out by hand."""

from dataclasses import replace

import pytest
from reward_samples import MALFORMED, RUNS, TASK, group, played

from saccade.rewards.groups import score_question
from saccade.rewards.reward import GroupReward
from saccade.rewards.vista import (
    DifficultyAdaptiveReward,
    VistaForm,
    VistaReward,
    difficulty_weight,
    trajectory_repetition,
    vista_terms,
)
from saccade.types import Observation, Score, Trajectory


def saying(text: str, *, answer: str = "red") -> Trajectory:
    one = played(RUNS, answer=answer)
    return replace(one, turns=(replace(one.turns[0], text=text), one.turns[1]))


RIGHT = played(RUNS, answer="red")
WRONG = played(RUNS, answer="blue")
BADLY_FORMED = played("malformed", answer="red")
UNANSWERED = played(RUNS)
MODERATE, SEVERE, EXTREME = (saying("wait " * count) for count in (10, 20, 50))


@pytest.mark.parametrize(
    ("trajectory", "total", "terms", "is_right"),
    [
        (RIGHT, 2.0, {"repetition": 0.0, "format": 1.0, "correct": 1.0}, True),
        (WRONG, 1.0, {"repetition": 0.0, "format": 1.0, "correct": 0.0}, False),
        (BADLY_FORMED, -1.0, {"repetition": 0.0, "format": -1.0, "correct": 0.0}, True),
        (UNANSWERED, -1.0, {"repetition": 0.0, "format": -1.0, "correct": 0.0}, False),
        (MODERATE, -1.5, {"repetition": -1.5, "format": 0.0, "correct": 0.0}, True),
        (SEVERE, -2.0, {"repetition": -2.0, "format": 0.0, "correct": 0.0}, True),
        (EXTREME, -3.0, {"repetition": -3.0, "format": 0.0, "correct": 0.0}, True),
    ],
)
def test_every_value_of_the_papers_reward(
    trajectory: Trajectory, total: float, terms: dict[str, float], is_right: bool
) -> None:
    score = VistaReward()(TASK, trajectory)
    assert (score.total, score.values, score.is_right) == (total, terms, is_right)


@pytest.mark.parametrize(
    ("form", "values"),
    [
        # right; wrong; badly formed; moderate, severe and extreme repetition.
        ("sum", [2.0, 1.0, -1.0, -1.5, -2.0, -3.0]),
        ("dense", [1.0, -0.5, -1.5, -1.5, -2.0, -3.0]),
        ("sparse", [1.0, 0.0, 0.0, -1.5, -2.0, -3.0]),
    ],
)
def test_every_value_of_the_rewards_that_it_is_compared_with(form: VistaForm, values: list[float]) -> None:
    trajectories = [RIGHT, WRONG, BADLY_FORMED, MODERATE, SEVERE, EXTREME]
    assert [VistaReward(form=form)(TASK, one).total for one in trajectories] == values


def test_a_right_answer_in_a_wrong_format_is_no_worse_than_a_wrong_one() -> None:
    for form in ("sum", "dense", "sparse"):
        right, wrong = (
            Score(terms=vista_terms(penalty=0.0, is_formatted=False, is_right=is_right, form=form)).total
            for is_right in (True, False)
        )
        assert right == wrong


def test_the_note_says_which_rule_fired() -> None:
    assert VistaReward()(TASK, MODERATE).notes == {
        "repeats_characters": 0.0,
        "repeats_words": 1.0,
        "repeats_phrases": 0.0,
        "repeats_sentences": 0.0,
        "repeats_copies": 0.0,
    }
    assert set(VistaReward()(TASK, RIGHT).notes.values()) == {0.0}


def test_what_a_tool_says_again_and_again_is_not_the_models_repetition() -> None:
    turn = replace(RUNS, observation=Observation(text="wait " * 60))
    assert VistaReward()(TASK, played(turn, answer="red")).total == 2.0


def test_the_worst_turn_counts() -> None:
    one = played(RUNS, RUNS, answer="red")
    turns = (replace(one.turns[0], text="wait " * 12), replace(one.turns[1], text="so " * 30), one.turns[2])
    found = trajectory_repetition(replace(one, turns=turns))
    assert (found.level, found.unit) == ("severe", "so")


def test_an_answer_that_ends_nothing_is_not_right() -> None:
    assert VistaReward()(TASK, played(RUNS, answer="red", status="token_limit")).is_right is False


def test_failed_trajectories_and_those_of_other_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="failed"):
        VistaReward()(TASK, played(status="failed"))
    with pytest.raises(ValueError, match="cannot be scored"):
        VistaReward()(replace(TASK, id="other"), RIGHT)


@pytest.mark.parametrize(("mean", "weight"), [(-3.0, 1.0), (0.0, 1.0), (1.0, 1.0), (1.5, 0.75), (2.0, 0.5), (5.0, 0.5)])
def test_the_weight_falls_from_one_to_a_half_where_the_mean_goes_from_one_to_two(mean: float, weight: float) -> None:
    assert difficulty_weight(mean) == weight


def test_rewards_of_an_easy_group_are_weighted_down() -> None:
    # D = (2 + 2 + 2 + 1) / 4 = 1.75, w = 0.25 * 0.5 + 0.5 = 0.625.
    scored, memory = score_question([group(RIGHT, RIGHT, RIGHT, WRONG)], DifficultyAdaptiveReward())
    scores = [one.score for one in scored[0].trajectories]
    assert [score.total for score in scores if score] == [1.25, 1.25, 1.25, 0.625]
    assert [score.notes["difficulty_weight"] for score in scores if score] == [0.625] * 4
    assert [score.is_right for score in scores if score] == [True, True, True, False]
    assert memory is None


def test_hard_groups_keep_their_rewards_and_streams_have_means_of_their_own() -> None:
    groups = [group(RIGHT, BADLY_FORMED), group(RIGHT, RIGHT, stream="other")]
    scored, _ = score_question(groups, DifficultyAdaptiveReward())
    totals = [[one.score.total for one in each.trajectories if one.score] for each in scored]
    assert totals == [[2.0, -1.0], [1.0, 1.0]]


def test_trajectories_that_the_machine_failed_are_not_in_the_mean() -> None:
    [scored], _ = score_question([group(RIGHT, played(status="failed"))], DifficultyAdaptiveReward())
    assert scored.trajectories[0].score is not None
    assert scored.trajectories[0].score.total == 1.0
    assert scored.trajectories[1].score is None


def test_a_group_of_none_has_no_scores() -> None:
    assert DifficultyAdaptiveReward().score_groups(TASK, {"main": []}, None).scores == {"main": []}


def test_the_adaptive_reward_is_a_group_scorer_and_the_plain_one_is_not() -> None:
    assert isinstance(DifficultyAdaptiveReward(), GroupReward)
    assert not isinstance(VistaReward(), GroupReward)


def test_a_malformed_turn_in_the_middle_costs_the_format() -> None:
    assert VistaReward()(TASK, played(RUNS, MALFORMED, answer="red")).values["format"] == -1.0
