"""What a reward is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from saccade.errors import UserError
from saccade.types import Json, Score, Task, Trajectory

Reward = Callable[[Task, Trajectory], Score]
"""Pure: the same task and trajectory give the same score. Reads the model's own text, never an observation.

Raises ``ValueError`` on a ``failed`` trajectory: the machine's failure says nothing about the policy.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupScores:
    """What a group scorer found for one question."""

    scores: Mapping[str, Sequence[Score | None]]
    """By stream, one for each trajectory; None where there is no verdict, and the trajectory then counts as failed."""
    memory: Json = None
    """What the next scoring of the same task is given; None leaves it as it was."""


@runtime_checkable
class GroupReward(Protocol):
    """A reward that compares the trajectories of one question with one another, over all streams that asked it.

    Pure like a ``Reward``: what it remembers of a task goes through ``memory``, which the trainer keeps by ``Task.id``
    and saves with every checkpoint; it must be JSON. ``Score.parts["accuracy"]`` is what the curriculum and the
    curves call right: give it before any shaping.
    """

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        """``groups`` has the trajectories of each stream without those that the machine failed; one may be empty.

        ``memory`` is None where the task was never scored before.
        """
        ...


@runtime_checkable
class AsyncGroupReward(Protocol):
    """A group scorer that waits for somebody else's verdict: a server, or an engine.

    All questions of a batch are scored at the same time, a question that came twice one after the other. As pure as
    the judge is. What the judge's machine fails must become a score without that part, or None; an error that is
    raised stops the run.
    """

    async def score_groups_async(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        """As ``GroupReward.score_groups``."""
        ...


AnyReward = Reward | GroupReward | AsyncGroupReward
"""Whatever a ``RLStage`` stage can be rewarded by."""


def accuracy_of(score: Score) -> float:
    """The part ``accuracy``; UserError for the score of a reward that tells no right from wrong."""
    if "accuracy" not in score.parts:
        raise UserError(
            f"the reward's parts {sorted(score.parts)} have no 'accuracy'; a reward that compares right and wrong "
            "answers needs one in 0..1"
        )
    return score.parts["accuracy"]
