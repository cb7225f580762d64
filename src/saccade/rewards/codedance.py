"""CodeDance's reward: the outcome, and a bonus for code that runs and works where the question is hard."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.rewards.deepeyes import DifficultyForm, adaptive_tool_reward, calls_of
from saccade.rewards.outcome import OutcomeReward
from saccade.rewards.reward import GroupScores, RuleReward, told_accuracy, told_right
from saccade.types import Json, Score, Task, Term, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceReward:
    """A group reward: the outcome's terms and R_seq, the term ``tool``.

    The group's accuracy is the mean of the outcome's accuracy over all trajectories of a stream that the
    machine did not fail. Calls that did no work (``idle``) count neither as calls nor as successes. The defaults are
    those for general questions; the public code's for mathematics are
    ``outcome=OutcomeReward(accuracy_weight=1.2, format_weight=0.4), base_weight=1.0, form="code"``. The public code
    takes the mean of the score instead of the accuracy, and counts as failed what prints "Error"; neither is offered.
    Its format counts from -1 to 0 where ours counts from 0 to 1. That shifts all scores of a group by one number,
    which advantages of groups subtract again; a critic learns it.
    """

    outcome: RuleReward = OutcomeReward(accuracy_weight=1.0, format_weight=0.2)
    """Must tell right from wrong."""
    gamma: float = 4.0
    """How steeply the bonus falls with the group's accuracy."""
    shift: float = 0.2
    """What is taken from the bonus, so that calls cost something where nearly all are right."""
    base_weight: float = 0.5
    """Weight of the bonus of a wrong answer; a right one has 1 more."""
    form: DifficultyForm = "paper"
    pays_unanswered: bool = False
    """Whether a trajectory without an answer earns the bonus too, as the paper's formula has it: code until the turns
    are over then pays more than a wrong answer at once. Otherwise such a trajectory has no bonus, and where calls cost
    something the cost of a wrong answer whose every call ran, so that no answer is worth less than none."""

    def __post_init__(self) -> None:
        self._tool(is_correct=False, succeeded=0, total=0, group_accuracy=0.0)

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        return GroupScores(scores={stream: self._of_group(task, members) for stream, members in groups.items()})

    def _of_group(self, task: Task, trajectories: Sequence[Trajectory]) -> list[Score]:
        outcomes = [self.outcome(task, trajectory) for trajectory in trajectories]
        accuracies = [told_accuracy(outcome) for outcome in outcomes]
        group_accuracy = math.fsum(accuracies) / len(accuracies) if accuracies else 0.0
        return [
            self._with_tool(outcome, trajectory, group_accuracy) for outcome, trajectory in zip(outcomes, trajectories)
        ]

    def _with_tool(self, outcome: Score, trajectory: Trajectory, group_accuracy: float) -> Score:
        calls = calls_of(trajectory)
        if trajectory.status == "answered" or self.pays_unanswered:
            tool = self._tool(
                is_correct=told_right(outcome),
                succeeded=calls.succeeded,
                total=calls.judged,
                group_accuracy=group_accuracy,
            )
        else:
            tool = min(0.0, self._tool(is_correct=False, succeeded=1, total=1, group_accuracy=group_accuracy))
        return replace(outcome, terms=(*outcome.terms, Term("tool", tool)))

    def _tool(self, *, is_correct: bool, succeeded: int, total: int, group_accuracy: float) -> float:
        return adaptive_tool_reward(
            is_correct=is_correct,
            succeeded=succeeded,
            total=total,
            group_accuracy=group_accuracy,
            gamma=self.gamma,
            shift=self.shift,
            base_weight=self.base_weight,
            form=self.form,
        )
