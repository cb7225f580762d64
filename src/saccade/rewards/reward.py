"""The shapes of a reward: ``Reward`` for one trajectory, ``GroupReward`` for a question's trajectories.

Either may be async. Both work in training, in every evaluation and in ``saccade eval``; ``groups.py`` applies them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from saccade.errors import UserError
from saccade.types import Json, Score, Task, Trajectory

RuleReward = Callable[[Task, Trajectory], Score]
"""A reward worked out on the spot by rules, which other rewards may build on.

Pure: the same task and trajectory give the same score. It reads the model's own text, never an observation.
``ValueError`` for a ``failed`` trajectory: the machine's failure says nothing about the policy.
"""

Reward = Callable[[Task, Trajectory], Score | Awaitable[Score | None] | None]
"""A reward of one trajectory: a ``RuleReward``, or an async function that waits for a judge or a server.

None, or a ``MachineError`` raised, is no verdict: the trajectory then counts as ``failed``, and is never scored 0.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupScores:
    """What a group reward found for one question."""

    scores: Mapping[str, Sequence[Score | None]]
    """By stream, one for each trajectory; None where there is no verdict, and the trajectory then counts as failed."""
    memory: Json = None
    """What the next scoring of the same task is given; None leaves it as it was."""


@runtime_checkable
class GroupReward(Protocol):
    """A reward that compares the trajectories of one question with one another, over all streams that asked it.

    Pure like a ``Reward``, or as pure as its judge: what it remembers of a task goes through ``memory``, which must be
    JSON. The trainer keeps it by ``Task.id`` and saves it with every checkpoint; an evaluation begins without any.
    ``Score.is_right`` is what the curriculum and the curves call right: before any shaping.
    """

    def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores | Awaitable[GroupScores]:
        """``groups`` has the trajectories of each stream without those that the machine failed; one may be empty.

        ``memory`` is None where the task was never scored before. What a judge's machine fails becomes a score without
        that term or with a term that says what it was filled in from, or None; never 0. A ``MachineError`` leaves the
        whole question without a verdict.
        """
        ...


AnyReward = Reward | GroupReward
"""A reward of either shape."""


def told_right(score: Score) -> bool:
    """``Score.is_right``; UserError for the score of a reward that tells no right from wrong."""
    if score.is_right is None:
        raise UserError(
            f"the reward's score of the terms {[term.name for term in score.terms]} does not say is_right; a reward "
            "that compares right and wrong answers needs it"
        )
    return score.is_right


def told_accuracy(score: Score) -> float:
    """``Score.accuracy`` of a score that tells right from wrong; UserError for another."""
    is_right = told_right(score)
    return float(is_right) if score.accuracy is None else score.accuracy
