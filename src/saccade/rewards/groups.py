"""Scores a question: all trajectories of all streams that asked it, with whatever kind of reward."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.rewards.reward import AnyReward, AsyncGroupReward, GroupReward, GroupScores, Reward
from saccade.types import Group, Json, Score, Task, Trajectory

NO_VERDICT = "the reward gave no verdict"


@dataclass(frozen=True, slots=True)
class Each:
    """A group scorer that scores every trajectory by itself and remembers nothing."""

    scorer: Reward

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        return GroupScores(
            scores={stream: [self.scorer(task, one) for one in members] for stream, members in groups.items()},
            memory=memory,
        )


def group_scorer(reward: Reward | GroupReward) -> GroupReward:
    """The reward as a group scorer; one that scores single trajectories is wrapped."""
    return reward if isinstance(reward, GroupReward) else Each(reward)


def score_questions(
    questions: Sequence[Sequence[Group]], reward: AnyReward, memory: Mapping[str, Json]
) -> tuple[list[tuple[Group, ...]], dict[str, Json]]:
    """The groups of each question with their scores, and what to remember of each task, by its id.

    All groups of a question are of one task, each of a stream of its own. Questions are scored in their order, or,
    where the reward waits for a judge, at the same time, but for questions about one task: the later one remembers
    what the earlier one found. Trajectories that the machine failed stay without a score and out of every comparison.
    ValueError when the reward does not give one score for each of the others.
    """
    remembered = dict(memory)
    if isinstance(reward, AsyncGroupReward):
        return asyncio.run(_all_at_once(questions, reward, remembered)), remembered
    scorer = group_scorer(reward)
    scored = []
    for groups in questions:
        task = groups[0].task
        fine = _without_failed(groups)
        scored.append(_recorded(groups, scorer.score_groups(task, fine, remembered.get(task.id)), fine, remembered))
    return scored, remembered


def score_question(groups: Sequence[Group], reward: AnyReward, memory: Json = None) -> tuple[tuple[Group, ...], Json]:
    """One question's groups with their scores, and what to remember of its task; see ``score_questions``."""
    if not groups:
        return (), memory
    key = groups[0].task.id
    [scored], remembered = score_questions([groups], reward, {} if memory is None else {key: memory})
    return scored, remembered.get(key)


async def _all_at_once(
    questions: Sequence[Sequence[Group]], reward: AsyncGroupReward, remembered: dict[str, Json]
) -> list[tuple[Group, ...]]:
    by_task: dict[str, list[int]] = {}
    for place, groups in enumerate(questions):
        by_task.setdefault(groups[0].task.id, []).append(place)
    scored: dict[int, tuple[Group, ...]] = {}

    async def score(places: Sequence[int]) -> None:
        for place in places:
            groups = questions[place]
            task, fine = groups[0].task, _without_failed(groups)
            found = await reward.score_groups_async(task, fine, remembered.get(task.id))
            scored[place] = _recorded(groups, found, fine, remembered)

    tasks = [asyncio.create_task(score(places)) for places in by_task.values()]
    try:
        await asyncio.gather(*tasks)
    finally:
        # After an error nobody waits for the others' verdicts.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [scored[place] for place in range(len(questions))]


def _without_failed(groups: Sequence[Group]) -> dict[str, list[Trajectory]]:
    return {group.stream: [one for one in group.trajectories if one.status != "failed"] for group in groups}


def _recorded(
    groups: Sequence[Group],
    found: GroupScores,
    fine: Mapping[str, Sequence[Trajectory]],
    remembered: dict[str, Json],
) -> tuple[Group, ...]:
    """The groups with what was found; what is to be remembered is written down."""
    task = groups[0].task
    counts = {stream: len(scores) for stream, scores in found.scores.items()}
    if counts != (expected := {stream: len(members) for stream, members in fine.items()}):
        raise ValueError(f"the reward gave {counts} scores by stream for {expected} trajectories of task {task.id}")
    if found.memory is not None:
        remembered[task.id] = found.memory
    return tuple(_with_scores(group, found.scores[group.stream]) for group in groups)


def _with_scores(group: Group, scores: Sequence[Score | None]) -> Group:
    rest = iter(scores)
    return replace(
        group,
        trajectories=tuple(
            one if one.status == "failed" else _with_score(one, next(rest)) for one in group.trajectories
        ),
    )


def _with_score(trajectory: Trajectory, score: Score | None) -> Trajectory:
    if score is None:
        return replace(trajectory, status="failed", failure=NO_VERDICT)
    return replace(trajectory, score=score)
