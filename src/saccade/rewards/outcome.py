"""The plain reward: is the answer right, and did every turn keep to the protocol?"""

import math
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.types import Score, Task, Trajectory


def is_correct(task: Task, trajectory: Trajectory) -> bool:
    """The trajectory ended with an answer, and it is right."""
    return trajectory.status == "answered" and answer_is_right(task, trajectory.answer)


def keeps_format(trajectory: Trajectory) -> bool:
    """The trajectory ended with an answer, and its every turn is well-formed."""
    return trajectory.status == "answered" and all(turn.is_well_formed for turn in trajectory.turns)


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeReward:
    """A scorer: ``total = accuracy_weight * accuracy + format_weight * format``, each part 1.0 or 0.0.

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
        if trajectory.status == "failed":
            raise ValueError(
                f"trajectory {trajectory.sample} of task {task.id} failed ({trajectory.failure}); leave it out"
            )
        if trajectory.task_id != task.id:
            raise ValueError(f"a trajectory of task {trajectory.task_id} cannot be scored as one of task {task.id}")
        accuracy, format_ = float(is_correct(task, trajectory)), float(keeps_format(trajectory))
        return Score(
            total=self.accuracy_weight * accuracy + self.format_weight * format_,
            parts={"accuracy": accuracy, "format": format_},
        )
