"""Rewards that wait for somebody's verdict: all questions of a batch at once, those about one task in turn."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from saccade.errors import MachineError, UserError
from saccade.rewards.groups import NO_VERDICT, score_question, score_questions
from saccade.rewards.reward import GroupScores
from saccade.types import Answer, Group, Json, Score, Task, Term, Trajectory, Turn

TASK = Task(id="a", family="f", question="?", answer="1", answer_kind="exact", images=())


@dataclass
class Waiting:
    """Gives each question its number among those that were begun, when all of them have begun."""

    expected: int
    begun: list[str] = field(default_factory=list)
    seen: list[tuple[str, Json]] = field(default_factory=list)
    refuses: str = ""

    async def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        self.begun.append(task.id)
        self.seen.append((task.id, memory))
        while len(set(self.begun)) < self.expected:
            await asyncio.sleep(0)
        if task.id == self.refuses:
            raise UserError("this judge knows no such question")
        count = float(self.begun.index(task.id))
        scores = {
            name: [None if one.sample == 9 else Score(terms=(Term("count", count),)) for one in members]
            for name, members in groups.items()
        }
        return GroupScores(scores=scores, memory=[memory, task.id])


def group(task_id: str, *, samples: Sequence[int] = (0, 1), stream: str = "main", failed: int = -1) -> Group:
    turn = Turn(index=0, text="1", thought="", action=Answer(text="1"), is_well_formed=True)
    trajectories = tuple(
        Trajectory(
            task_id=task_id,
            family="f",
            stream=stream,
            sample=sample,
            seed=0,
            policy_version=0,
            segments=(),
            turns=(turn,),
            status="failed" if sample == failed else "answered",
        )
        for sample in samples
    )
    return Group(task=replace(TASK, id=task_id), stream=stream, trajectories=trajectories)


def totals(groups: Sequence[Group]) -> list[list[float | None]]:
    return [[None if one.score is None else one.score.total for one in each.trajectories] for each in groups]


def test_questions_wait_for_their_verdicts_at_the_same_time() -> None:
    # One after the other would wait for ever: nobody answers before all have asked.
    scored, memory = score_questions([[group("a")], [group("b")], [group("c")]], Waiting(expected=3), {})
    assert [totals(groups) for groups in scored] == [[[0.0, 0.0]], [[1.0, 1.0]], [[2.0, 2.0]]]
    assert memory == {"a": [None, "a"], "b": [None, "b"], "c": [None, "c"]}


def test_of_two_questions_about_one_task_the_second_remembers_the_first() -> None:
    reward = Waiting(expected=2)
    _, memory = score_questions([[group("a")], [group("b")], [group("a")]], reward, {"b": "old"})
    assert sorted(reward.seen, key=str) == [("a", None), ("a", [None, "a"]), ("b", "old")]
    assert memory == {"a": [[None, "a"], "a"], "b": ["old", "b"]}


def test_failed_trajectories_are_not_judged_and_those_without_a_verdict_fail() -> None:
    [scored], _ = score_questions([[group("a", samples=(0, 9, 2), failed=0)]], Waiting(expected=1), {})
    assert totals(scored) == [[None, None, 0.0]]
    assert [one.failure for one in scored[0].trajectories] == ["", NO_VERDICT, ""]


def test_a_mistake_that_the_judge_finds_comes_as_itself() -> None:
    with pytest.raises(UserError, match="knows no such question"):
        score_questions([[group("a")], [group("b")]], Waiting(expected=2, refuses="b"), {})


def test_a_judge_whose_machine_fails_leaves_the_question_without_a_verdict_and_never_at_zero() -> None:
    class Down:
        async def score_groups(
            self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
        ) -> GroupScores:
            if task.id == "a":
                raise MachineError("the judge is down")
            return GroupScores(scores={name: [Score()] * len(members) for name, members in groups.items()})

    scored, memory = score_questions([[group("a")], [group("b")]], Down(), {"a": "kept"})
    assert [totals(groups) for groups in scored] == [[[None, None]], [[0.0, 0.0]]]
    assert {one.failure for one in scored[0][0].trajectories} == {f"{NO_VERDICT}: the judge is down"}
    assert memory == {"a": "kept"}


def test_single_trajectories_are_judged_at_the_same_time() -> None:
    begun: list[int] = []

    async def judge(task: Task, trajectory: Trajectory) -> Score | None:
        begun.append(trajectory.sample)
        while len(begun) < 4:
            await asyncio.sleep(0)
        return Score(terms=(Term("place", float(begun.index(trajectory.sample))),))

    scored, _ = score_questions([[group("a", samples=(0, 1))], [group("b", samples=(2, 3))]], judge, {})
    assert [totals(groups) for groups in scored] == [[[0.0, 1.0]], [[2.0, 3.0]]]


def test_one_question_alone_is_scored_the_same_way() -> None:
    scored, memory = score_question([group("a"), group("a", stream="other")], Waiting(expected=1))
    assert totals(scored) == [[0.0, 0.0], [0.0, 0.0]]
    assert memory == [None, "a"]
