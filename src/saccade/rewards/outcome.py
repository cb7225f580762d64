"""The plain reward: is the answer right, and did every turn keep to the protocol?"""

import math
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.types import Score, Task, Term, Trajectory


def is_correct(task: Task, trajectory: Trajectory) -> bool:
    """The trajectory ended with an answer, and it is right."""
    return trajectory.status == "answered" and answer_is_right(task, trajectory.answer)


def keeps_format(trajectory: Trajectory) -> bool:
    """The trajectory ended with an answer, and its every turn is well-formed."""
    return trajectory.status == "answered" and all(turn.is_well_formed for turn in trajectory.turns)


def counts_as_right(task: Task, trajectory: Trajectory) -> bool:
    """Whether the answer is right, as the reward says; where it does not say, by the rule of the answer's kind."""
    score = trajectory.score
    return is_correct(task, trajectory) if score is None or score.is_right is None else score.is_right


def check_scorable(task: Task, trajectory: Trajectory) -> None:
    """ValueError for a trajectory that the machine failed, and for one of another task."""
    if trajectory.status == "failed":
        raise ValueError(
            f"trajectory {trajectory.sample} of task {task.id} failed ({trajectory.failure}); leave it out"
        )
    if trajectory.task_id != task.id:
        raise ValueError(f"a trajectory of task {trajectory.task_id} cannot be scored as one of task {task.id}")


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeReward:
    """A reward: ``total = accuracy_weight * accuracy + format_weight * format``, each term 1.0 or 0.0.

    ``accuracy``: the trajectory ended with an answer, and it is right. ``format``: it ended with an answer, and every
    turn is well-formed. Looks at the model's own turns alone, so nothing that a tool prints can earn it.
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
        is_right = is_correct(task, trajectory)
        return Score(
            terms=(
                Term("accuracy", float(is_right), self.accuracy_weight),
                Term("format", float(keeps_format(trajectory)), self.format_weight),
            ),
            is_right=is_right,
        )
