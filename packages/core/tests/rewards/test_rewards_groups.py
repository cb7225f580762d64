"""Rewards that compare siblings: CodeDance's, and what the contract promises to any."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from reward_samples import DRAWS, FAILS, REFUSED, RUNS, TASK, group, played

from saccade.algorithms.advantages import group_relative
from saccade.errors import UserError
from saccade.rewards.groups import NO_VERDICT, score_question, score_questions
from saccade.rewards.reward import GroupScores, OutcomeReward
from saccade.rewards.tool_use import CodeDanceReward, DeepEyesReward, difficulty_scale
from saccade.types import Json, Score, Task, Term, Trajectory

LOST = played(status="failed")


def codedance(*trajectories: Trajectory, reward: CodeDanceReward = CodeDanceReward()) -> list[Score | None]:
    ((scored,), _) = score_question([group(*trajectories)], reward)
    return [one.score for one in scored.trajectories]


class Archive:
    """A group scorer with two streams: the first right text of ``talk`` is kept, and ``look`` is held against it."""

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        found = [one.answer for one in groups.get("talk", ()) if one.answer == task.answer]
        kept = found[0] if found and memory is None else memory
        return GroupScores(
            scores={
                stream: [
                    None if one.answer == "?" else Score(terms=(Term("same", float(one.answer == kept)),))
                    for one in members
                ]
                for stream, members in groups.items()
            },
            memory=kept,
        )


def test_the_bonus_depends_on_how_many_siblings_are_right() -> None:
    # One of four is right: d(0.25) = sigmoid(1) - 0.2 = 0.531059; the outcome adds 1 and 0.2 for the format.
    scores = codedance(
        played(RUNS, answer="red"), played(RUNS, FAILS, answer="blue"), played(answer="blue"), played(FAILS)
    )
    d = difficulty_scale(0.25)
    assert scores == [
        Score(terms=(Term("accuracy", 1.0), Term("format", 1.0, 0.2), Term("tool", 1.5 * d)), is_right=True),
        Score(terms=(Term("accuracy", 0.0), Term("format", 1.0, 0.2), Term("tool", 0.25 * d)), is_right=False),
        Score(terms=(Term("accuracy", 0.0), Term("format", 1.0, 0.2), Term("tool", 0.0)), is_right=False),
        Score(terms=(Term("accuracy", 0.0), Term("format", 0.0, 0.2), Term("tool", 0.0)), is_right=False),
    ]


def test_a_failed_trajectory_has_no_score_and_no_part_in_the_groups_accuracy() -> None:
    alone = codedance(played(RUNS, answer="red"), played(RUNS, answer="blue"))
    assert codedance(LOST, played(RUNS, answer="red"), LOST, played(RUNS, answer="blue")) == [
        None,
        alone[0],
        None,
        alone[1],
    ]


def test_the_groups_accuracy_is_no_mean_of_scores() -> None:
    """Trap 24: all right is 1.0, whatever a right answer weighs."""
    heavy = CodeDanceReward(outcome=OutcomeReward(accuracy_weight=1.2, format_weight=0.4), base_weight=1.0)
    (score,) = codedance(played(RUNS, answer="red"), reward=heavy)
    assert score is not None
    assert score.values["tool"] == pytest.approx(2.0 * difficulty_scale(1.0))


def test_streams_have_accuracies_of_their_own() -> None:
    right, wrong = group(played(RUNS, answer="red"), stream="a"), group(played(RUNS, answer="blue"), stream="b")
    (first, second), _ = score_question([right, wrong], CodeDanceReward())
    assert [first] == list(score_question([right], CodeDanceReward())[0])
    assert [second] == list(score_question([wrong], CodeDanceReward())[0])


def test_the_codes_form_can_be_asked_for() -> None:
    (score,) = codedance(played(RUNS, answer="blue"), reward=CodeDanceReward(form="code", gamma=2.0, shift=0.1))
    assert score is not None
    assert score.values["tool"] == 0.5 * difficulty_scale(0.0, gamma=2.0, shift=0.1, form="code")


def test_a_format_that_counts_from_minus_one_moves_no_advantage() -> None:
    """As the public code counts it: every score of a group is then smaller by one number."""

    def below_zero(task: Task, trajectory: Trajectory) -> Score:
        ours = OutcomeReward(accuracy_weight=1.0, format_weight=0.2)(task, trajectory)
        return replace(ours, terms=(*ours.terms, Term("shifted", -0.2)))

    members = [played(RUNS, answer="red"), played(RUNS, FAILS, answer="blue"), played("malformed", answer="blue")]
    advantages = [
        group_relative(score_question([group(*members)], reward)[0])
        for reward in (CodeDanceReward(), CodeDanceReward(outcome=below_zero))
    ]
    for ours, theirs in zip(advantages[0][0], advantages[1][0], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_settings_that_mean_nothing_are_refused_before_a_run() -> None:
    with pytest.raises(UserError, match="gamma="):
        CodeDanceReward(gamma=-1.0)
    with pytest.raises(UserError, match="tool_weight="):
        DeepEyesReward(tool_weight=float("nan"))


def test_a_reward_that_tells_no_right_from_wrong_cannot_scale_a_bonus() -> None:
    with pytest.raises(UserError, match="does not say is_right"):
        codedance(played(answer="red"), reward=CodeDanceReward(outcome=lambda *_: Score(terms=(Term("one", 1.0),))))


def test_deepeyes_wants_a_right_answer_and_an_image_by_hand() -> None:
    reward = DeepEyesReward()
    assert reward(TASK, played(DRAWS, answer="red")) == Score(
        terms=(Term("accuracy", 1.0, 0.8), Term("format", 1.0, 0.2), Term("tool", 1.0, 1.2)), is_right=True
    )
    assert reward(TASK, played(DRAWS, answer="blue")).values["tool"] == 0.0
    assert reward(TASK, played(RUNS, answer="red")).values["tool"] == 0.0
    assert DeepEyesReward(needs_image=False)(TASK, played(RUNS, answer="red")).total == 0.8 + 0.2 + 1.2
    assert DeepEyesReward(needs_image=False)(TASK, played(FAILS, REFUSED, answer="red")).values["tool"] == 0.0


def test_a_plain_scorer_scores_each_trajectory_of_every_stream() -> None:
    groups = [group(played(answer="red"), LOST, stream="a"), group(played(answer="blue"), stream="b")]
    scored, memory = score_question(groups, OutcomeReward(), {"kept": 1})
    assert [[one.score and one.score.total for one in each.trajectories] for each in scored] == [[1.1, None], [0.1]]
    assert memory == {"kept": 1}


def test_streams_of_a_question_are_scored_together_and_a_task_is_remembered() -> None:
    look = group(played(answer="red"), stream="look")
    (first,), memory = score_question([look], Archive())
    assert (first.trajectories[0].score, memory) == (Score(terms=(Term("same", 0.0),)), None)
    (_, second), memory = score_question([group(played(answer="red"), stream="talk"), look], Archive(), memory)
    assert (second.trajectories[0].score, memory) == (Score(terms=(Term("same", 1.0),)), "red")
    (third,), memory = score_question([look], Archive(), memory)
    assert (third.trajectories[0].score, memory) == (Score(terms=(Term("same", 1.0),)), "red")


def test_a_trajectory_without_a_verdict_counts_as_failed() -> None:
    no_verdict = played(answer="?")
    (scored,), _ = score_question([group(no_verdict, played(answer="red"))], Archive())
    assert scored.trajectories[0] == replace(no_verdict, status="failed", failure=NO_VERDICT)


def test_a_group_of_failures_alone_is_scored_as_nothing() -> None:
    assert codedance(LOST, LOST) == [None, None]
    assert score_question([], CodeDanceReward()) == ((), None)


def test_a_reward_that_forgets_a_trajectory_is_an_error() -> None:
    class Forgetful:
        def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
            return GroupScores(scores={stream: [] for stream in groups})

    with pytest.raises(ValueError, match=r"gave \{'main': 0\} scores by stream for \{'main': 1\} trajectories"):
        score_question([group(played(answer="red"))], Forgetful())


class Slow:
    """A group reward whose first task is told last."""

    async def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        for _ in range(9 if task.id == "first" else 0):
            await asyncio.sleep(0)
        return GroupScores(scores={name: [None] * len(of) for name, of in groups.items()}, memory=True)


def test_what_is_remembered_stands_in_the_order_of_the_questions_and_not_of_the_verdicts() -> None:
    questions = [[replace(group(played()), task=replace(TASK, id=name))] for name in ("first", "second", "known")]
    _, memory = score_questions(questions, Slow(), {"other": 1, "known": 2})
    assert list(memory) == ["other", "known", "first", "second"]
