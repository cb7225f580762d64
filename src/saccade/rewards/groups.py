"""Scores a question: all trajectories of all streams that asked it, with whatever kind of reward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.rewards.contract import GroupScorer, GroupScores, Scorer
from saccade.types import Group, Json, Score, Task, Trajectory

NO_VERDICT = "the reward gave no verdict"


@dataclass(frozen=True, slots=True)
class Each:
    """A group scorer that scores every trajectory by itself and remembers nothing."""

    scorer: Scorer

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        return GroupScores(
            scores={stream: [self.scorer(task, one) for one in members] for stream, members in groups.items()},
            memory=memory,
        )


def group_scorer(reward: Scorer | GroupScorer) -> GroupScorer:
    """The reward as a group scorer; one that scores single trajectories is wrapped."""
    return reward if isinstance(reward, GroupScorer) else Each(reward)


def score_question(
    groups: Sequence[Group], reward: Scorer | GroupScorer, memory: Json = None
) -> tuple[tuple[Group, ...], Json]:
    """The groups of one task, each of a stream of its own, with their scores, and what to remember of the task.

    Trajectories that the machine failed stay without a score and out of every comparison. ValueError when the reward
    does not give one score for each of the others.
    """
    if not groups:
        return (), memory
    task = groups[0].task
    fine = {group.stream: [one for one in group.trajectories if one.status != "failed"] for group in groups}
    found = group_scorer(reward).score_groups(task, fine, memory)
    counts = {stream: len(scores) for stream, scores in found.scores.items()}
    if counts != (expected := {stream: len(members) for stream, members in fine.items()}):
        raise ValueError(f"the reward gave {counts} scores by stream for {expected} trajectories of task {task.id}")
    return tuple(_with_scores(group, found.scores[group.stream]) for group in groups), found.memory


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
