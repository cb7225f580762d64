"""Rewards: ``Reward`` of one trajectory, ``GroupReward`` of a question's trajectories, and the plainest, by outcome.

Either may be async. All work in training, in every evaluation and in ``saccade eval``; ``groups.py`` applies them.
``own_reward`` loads one of the user's own, named ``FILE.py:NAME`` on the command line.
"""

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from saccade.entry_points import Offer, offer_named
from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in
from saccade.rewards.answers.metrics_by_set import answer_is_right, credit
from saccade.types import Json, Score, Task, Term, Trajectory

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
    """Scores of a group reward for one question."""

    scores: Mapping[str, Sequence[Score | None]]
    """By stream, one for each trajectory; None where there is no verdict, and the trajectory then counts as failed."""
    memory: Json = None
    """The reward's memory of the task for its next scoring; None leaves it unchanged."""


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
        """Scores the groups of one question: of each stream those that the machine did not fail, perhaps none.

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


def is_correct(task: Task, trajectory: Trajectory) -> bool:
    """Whether the trajectory ended with a right answer."""
    return trajectory.status == "answered" and answer_is_right(task, trajectory.answer)


def earned_accuracy(task: Task, trajectory: Trajectory) -> float:
    """1.0 or 0.0 by ``is_correct``; of an answer that is boxes their IoU with the right ones."""
    if task.answer_kind == "boxes":
        return credit(task, trajectory.answer) if trajectory.status == "answered" else 0.0
    return float(is_correct(task, trajectory))


def keeps_format(trajectory: Trajectory) -> bool:
    """Whether the trajectory ended with an answer and every turn is well-formed."""
    return trajectory.status == "answered" and all(turn.is_well_formed for turn in trajectory.turns)


def counts_as_right(task: Task, trajectory: Trajectory) -> bool:
    """Whether the answer is right, as the reward says; where it does not say, by the rule of the answer's kind."""
    score = trajectory.score
    return is_correct(task, trajectory) if score is None or score.is_right is None else score.is_right


def check_scorable(task: Task, trajectory: Trajectory) -> None:
    """Raises ValueError for a trajectory that the machine failed, and for one of another task."""
    if trajectory.status == "failed":
        raise ValueError(
            f"trajectory {trajectory.sample} of task {task.id} failed ({trajectory.failure}); leave it out"
        )
    if trajectory.task_id != task.id:
        raise ValueError(f"a trajectory of task {trajectory.task_id} cannot be scored as one of task {task.id}")


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeReward:
    """The outcome reward: ``total = accuracy_weight * accuracy + format_weight * format``, each term 1.0 or 0.0.

    ``accuracy``: the trajectory ended with an answer, and it is right; of boxes their IoU.
    ``format``: it ended with an answer, and every turn is well-formed. Looks at the
    model's own turns alone, so nothing that a tool prints can earn it.
    """

    accuracy_weight: float = 1.0
    format_weight: float = 0.1

    def __post_init__(self) -> None:
        for name, weight in (("accuracy_weight", self.accuracy_weight), ("format_weight", self.format_weight)):
            if not (math.isfinite(weight) and weight >= 0):
                raise UserError(f"{name}={weight} cannot weigh a reward; use 0 or a positive number")

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        """``ValueError`` for a ``failed`` trajectory, and for one of another task."""
        check_scorable(task, trajectory)
        return Score(
            terms=(
                Term("accuracy", earned_accuracy(task, trajectory), self.accuracy_weight),
                Term("format", float(keeps_format(trajectory)), self.format_weight),
            ),
            is_right=is_correct(task, trajectory),
        )


class AccuracyJudge(Protocol):
    """Says whether an answer is right where rules alone cannot."""

    async def __call__(self, task: Task, answer: str, /) -> float | None:
        """1.0 or 0.0; None when there is no verdict, and all that answered so then count as failed."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedOutcome:
    """The outcome reward with the answer judged by ``judge``; None where it gives no verdict."""

    outcome: OutcomeReward
    judge: AccuracyJudge

    async def __call__(self, task: Task, trajectory: Trajectory) -> Score | None:
        """``ValueError`` for a ``failed`` trajectory, and for one of another task."""
        score = self.outcome(task, trajectory)
        if trajectory.status != "answered" or trajectory.answer is None:
            return score
        verdict = await self.judge(task, trajectory.answer)
        if verdict is None:
            return None
        accuracy, *others = score.terms
        return replace(score, terms=(replace(accuracy, value=verdict), *others), is_right=verdict >= 0.5)


SHAPE = (
    "a reward is a function def reward(task: Task, trajectory: Trajectory) -> Score, async or not, or an object with "
    "score_groups(task, groups, memory)"
)


def own_reward(name: str) -> AnyReward:
    """The reward that ``FILE.py:NAME`` names, or that an installed package offers; the file is run.

    ``UserError`` says what to do.
    """
    offer = offer_of_reward(name)
    if offer is not None:
        found = offer()
    else:
        module = module_of_file(reward_file(name), what="reward")
        found = named_in(module, name.rpartition(":")[2], name, what="reward", parameters=2)
    if isinstance(found, type):
        raise UserError(
            f"{name} is a class; make an object of it in the file, my_reward = {found.__name__}(...), and name that"
        )
    if isinstance(found, GroupReward):
        return found
    if not callable(found):
        raise UserError(f"{name} is {type(found).__name__}; {SHAPE}")
    try:
        inspect.signature(found).bind(None, None)
    except TypeError as error:
        raise UserError(f"{name} cannot be called ({error}); {SHAPE}") from None
    reward: Reward = found
    return reward


def offer_of_reward(name: str) -> Offer | None:
    """The offer of a package that has this name; None for ``FILE.py:NAME`` and names that nobody offers."""
    return None if ".py:" in name else offer_named("saccade.rewards", name)


def reward_file(name: str) -> Path:
    """The file of ``FILE.py:NAME``; UserError for any other text."""
    place, _, called = name.rpartition(":")
    if not place.endswith(".py") or not called:
        raise UserError(f"{name!r} names no reward; write FILE.py:NAME, or a name that a package offers; {SHAPE}")
    return Path(place)
