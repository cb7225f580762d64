"""Applies a reward of any kind to questions: all trajectories of all streams that asked each of them.

Questions are scored at the same time, but for questions about one task: the later one remembers what the earlier one
found. A reward that waits for nothing is called in the order of the questions. Trajectories that the machine failed
stay without a score and out of every comparison.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from saccade.errors import MachineError
from saccade.rewards.contract import score_from
from saccade.rewards.reward import AnyReward, GroupReward, GroupScores, Reward
from saccade.types import Attempt, Group, Json, Score, Task, Trajectory
from saccade.waiting import run_to_end

NO_VERDICT = "the reward gave no verdict"
UNANSWERED = f"{NO_VERDICT}: the question comes without an answer"
"""Of a test split: the reply is kept for a submission, and no figure counts it as missing."""

Found = TypeVar("Found")


def score_questions(
    questions: Sequence[Sequence[Group]], reward: AnyReward, memory: Mapping[str, Json] = MappingProxyType({})
) -> tuple[list[tuple[Group, ...]], dict[str, Json]]:
    """Groups of each question with their scores, and the reward's memory of each task, by its id.

    All groups of a question are of one task, each of a stream of its own. ValueError when the reward does not give
    one score for each trajectory that the machine did not fail.
    """
    return run_to_end(_scored_questions(questions, reward, dict(memory)))


def score_question(groups: Sequence[Group], reward: AnyReward, memory: Json = None) -> tuple[tuple[Group, ...], Json]:
    """Groups of one question with their scores, and the reward's memory of its task; see ``score_questions``."""
    if not groups:
        return (), memory
    key = groups[0].task.id
    [scored], remembered = score_questions([groups], reward, {} if memory is None else {key: memory})
    return scored, remembered.get(key)


def scored_alone(task: Task, response: Trajectory, reward: AnyReward) -> Score | str:
    """The score of a response without siblings; or why there is none.

    A part that a machine failed on has no siblings to be filled in from: what is left would be paid as if it were all.
    """
    ((group,), _) = score_question([Group(task=task, stream="main", trajectories=(response,))], reward)
    [scored] = group.trajectories
    if scored.score is None:
        return scored.failure or NO_VERDICT
    return f"{NO_VERDICT} on a part" if scored.score.notes.get("no_verdict") else scored.score


def score_attempts(attempts: Sequence[Attempt], reward: AnyReward) -> list[Attempt]:
    """Attempts with their scores, in the given order; those at one task form one question, without a memory.

    For evaluations: a stream's attempts at a task are a group, however often it was played.
    """
    tasks: dict[str, list[Task]] = {}
    places: dict[tuple[str, int], dict[str, list[int]]] = {}
    for place, one in enumerate(attempts):
        # Two files may have given one id to different questions.
        same_id = tasks.setdefault(one.task.id, [])
        if one.task not in same_id:
            same_id.append(one.task)
        key = one.task.id, same_id.index(one.task)
        places.setdefault(key, {}).setdefault(one.trajectory.stream, []).append(place)
    questions = [
        [
            Group(
                task=attempts[of_stream[0]].task,
                stream=stream,
                trajectories=tuple(attempts[place].trajectory for place in of_stream),
            )
            for stream, of_stream in by_stream.items()
        ]
        for by_stream in places.values()
    ]
    scored, _ = score_questions(questions, reward, {})
    found: dict[int, Trajectory] = {}
    for groups, by_stream in zip(scored, places.values()):
        for group, of_stream in zip(groups, by_stream.values()):
            found |= zip(of_stream, group.trajectories)
    return [replace(one, trajectory=found[place]) for place, one in enumerate(attempts)]


async def scores_by_stream(
    reward: AnyReward, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json
) -> GroupScores:
    """What any reward gives the trajectories of one question, for a ``GroupReward`` around it."""
    remembered: dict[str, Json] = {} if memory is None else {task.id: memory}
    found = await _verdicts(reward, task, groups, remembered)
    scores = {stream: [None if isinstance(one, str) else one for one in of] for stream, of in found.items()}
    return GroupScores(scores=scores, memory=remembered.get(task.id))


def is_without_verdict(trajectory: Trajectory) -> bool:
    """Whether it was played to its end and counts as failed only because the reward gave no verdict."""
    return trajectory.status == "failed" and trajectory.failure.startswith(NO_VERDICT)


_Verdict = Score | str
"""A score, or why there is none."""


async def _scored_questions(
    questions: Sequence[Sequence[Group]], reward: AnyReward, remembered: dict[str, Json]
) -> tuple[list[tuple[Group, ...]], dict[str, Json]]:
    by_task: dict[str, list[int]] = {}
    for place, groups in enumerate(questions):
        by_task.setdefault(groups[0].task.id, []).append(place)
    scored: dict[int, tuple[Group, ...]] = {}
    # By the questions and not by whose verdict comes first: a checkpoint's bytes must not depend on a server's pace.
    order = dict.fromkeys([*remembered, *by_task])

    async def score(places: Sequence[int]) -> None:
        for place in places:
            groups = questions[place]
            fine = {group.stream: [one for one in group.trajectories if one.status != "failed"] for group in groups}
            found = await _verdicts(reward, groups[0].task, fine, remembered)
            scored[place] = tuple(_with_verdicts(group, found[group.stream]) for group in groups)

    await asyncio.gather(*(score(places) for places in by_task.values()))
    return [scored[place] for place in range(len(questions))], {
        key: remembered[key] for key in order if key in remembered
    }


async def _verdicts(
    reward: AnyReward, task: Task, fine: Mapping[str, Sequence[Trajectory]], remembered: dict[str, Json]
) -> Mapping[str, Sequence[_Verdict]]:
    """By stream; what is to be remembered is written down."""
    if not isinstance(reward, GroupReward):
        verdicts = await asyncio.gather(*(_verdict(reward, task, one) for of in fine.values() for one in of))
        given = iter(verdicts)
        return {stream: [next(given) for _ in of] for stream, of in fine.items()}
    try:
        found = await _result_of(reward.score_groups(task, fine, remembered.get(task.id)))
    except MachineError as error:
        return {stream: [f"{NO_VERDICT}: {error}"] * len(of) for stream, of in fine.items()}
    counts = {stream: len(scores) for stream, scores in found.scores.items()}
    if counts != (expected := {stream: len(of) for stream, of in fine.items()}):
        raise ValueError(f"the reward gave {counts} scores by stream for {expected} trajectories of task {task.id}")
    if found.memory is not None:
        remembered[task.id] = found.memory
    checked = {stream: [score_from(one, reward, task) for one in scores] for stream, scores in found.scores.items()}
    return {stream: [NO_VERDICT if one is None else one for one in scores] for stream, scores in checked.items()}


async def _verdict(reward: Reward, task: Task, trajectory: Trajectory) -> _Verdict:
    try:
        score = score_from(await _result_of(reward(task, trajectory)), reward, task)
    except MachineError as error:
        return f"{NO_VERDICT}: {error}"
    if score is None:
        return NO_VERDICT if task.answer or task.accepted else UNANSWERED
    return score


async def _result_of(found: Found | Awaitable[Found]) -> Found:
    """The result of a reward, whether it is async or not."""
    return await found if inspect.isawaitable(found) else found


def _with_verdicts(group: Group, verdicts: Sequence[_Verdict]) -> Group:
    rest = iter(verdicts)
    return replace(
        group,
        trajectories=tuple(
            one if one.status == "failed" else _with_verdict(one, next(rest)) for one in group.trajectories
        ),
    )


def _with_verdict(trajectory: Trajectory, verdict: _Verdict) -> Trajectory:
    if isinstance(verdict, str):
        return replace(trajectory, status="failed", failure=verdict)
    return replace(trajectory, score=verdict)
