"""DeepEyes' reward: the outcome, and a bonus for a right answer that a tool helped to."""

import math
from dataclasses import dataclass, replace

from saccade.errors import UserError
from saccade.rewards.outcome import OutcomeReward
from saccade.rewards.reward import RuleReward, told_right
from saccade.rewards.tool_use import call_outcome
from saccade.types import Score, Task, Term, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class DeepEyesReward:
    """A reward: 0.8 accuracy + 0.2 format + 1.2 tool, as DeepEyes' code weighs them.

    ``tool`` is paid once, for a right answer after at least one call that ran and gave an image back. The code's
    format counts from -1 to 0 where ours counts from 0 to 1: inside a group that is the same.
    """

    outcome: RuleReward = OutcomeReward(accuracy_weight=0.8, format_weight=0.2)
    """Must tell right from wrong."""
    tool_weight: float = 1.2
    needs_image: bool = True
    """Whether only a call that gave an image back earns the bonus; without, any call that ran does, as CodeDance's
    comparison describes it for code that computes."""

    def __post_init__(self) -> None:
        if not 0 <= self.tool_weight < math.inf:
            raise UserError(f"tool_weight={self.tool_weight} cannot weigh a reward; use 0 or a positive number")

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        """``ValueError`` for a ``failed`` trajectory, as the outcome's."""
        outcome = self.outcome(task, trajectory)
        is_tool_used = any(
            call_outcome(turn) == "succeeded"
            and turn.result is not None
            and (turn.result.images or not self.needs_image)
            for turn in trajectory.turns
        )
        earns = told_right(outcome) and is_tool_used
        return replace(outcome, terms=(*outcome.terms, Term("tool", float(earns), self.tool_weight)))
