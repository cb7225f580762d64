"""Rewards for tool use: which calls ran, and the rewards of CodeDance and DeepEyes.

Whether a call ran is read from the tool's own result, never from text: neither what the model prints nor what a
picture says can make a run fail or succeed. Whether it did any work is the tool's to say too (``WORK``), if it checks
that; a call of a tool that does not say so did.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.errors import UserError
from saccade.rewards.reward import GroupScores, OutcomeReward, RuleReward, told_accuracy, told_right
from saccade.types import WORK, Json, Score, Task, Term, ToolCall, Trajectory, Turn

CallOutcome = Literal["succeeded", "idle", "failed", "refused"]
"""``idle``: ran without an error and did no work, which is neither paid nor penalised. ``refused``: an unknown tool or
wrong arguments, so that nothing ran; the model is told so."""

DifficultyForm = Literal["paper", "code"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Calls:
    """How the calls of a trajectory went; a refused one is a call that did not succeed, and so is an idle one."""

    succeeded: int
    total: int
    idle: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.succeeded <= self.total - self.idle <= self.total:
            raise ValueError(
                f"{self.succeeded} of {self.total} calls succeeded and {self.idle} were idle: give 0 or more, and no "
                "more of both than calls"
            )

    @property
    def judged(self) -> int:
        """Calls that a reward counts: all but the idle ones, which could otherwise dilute a failure."""
        return self.total - self.idle


def call_outcome(turn: Turn) -> CallOutcome | None:
    """The outcome of a turn's call; None without one, for a malformed one, and for one that ended the episode unrun."""
    if not isinstance(turn.action, ToolCall):
        return None
    if turn.result is not None:
        if not turn.result.is_ok:
            return "failed"
        return "idle" if turn.result.data.get(WORK) == "idle" else "succeeded"
    # A refusal is shown to the model; after a call in the last turn there is nothing to show.
    return None if turn.observation is None else "refused"


def calls_of(trajectory: Trajectory) -> Calls:
    """Succeeded and all calls of a trajectory, of whatever tools."""
    outcomes = [outcome for turn in trajectory.turns if (outcome := call_outcome(turn)) is not None]
    return Calls(succeeded=outcomes.count("succeeded"), total=len(outcomes), idle=outcomes.count("idle"))


def difficulty_scale(
    group_accuracy: float, *, gamma: float = 4.0, shift: float = 0.2, form: DifficultyForm = "paper"
) -> float:
    """CodeDance's d(mu): large where few of a group are right, below zero where nearly all are.

    ``paper``: sigmoid(gamma (0.5 - mu)) - shift; with the defaults 0.681 at mu = 0, -0.081 at 1, zero at 0.8466.
    ``code``: (1 + tanh(gamma (0.5 - mu))) / 2 - shift, twice as steep; zero at 0.6733.
    """
    if not 0 <= group_accuracy <= 1:
        raise ValueError(f"group_accuracy={group_accuracy} is no share of right answers; it lies between 0 and 1")
    check_difficulty(gamma=gamma, shift=shift)
    slope = gamma if form == "paper" else 2 * gamma
    # sigmoid(2x) = (1 + tanh x) / 2; tanh never overflows.
    return (1.0 + math.tanh(slope * (0.5 - group_accuracy) / 2)) / 2 - shift


def check_difficulty(*, gamma: float, shift: float) -> None:
    """UserError for numbers that no scale can have."""
    if not 0 <= gamma < math.inf:
        raise UserError(f"gamma={gamma} must be a finite number of 0 or more (4 is the paper's)")
    if not 0 <= shift <= 1:
        raise UserError(f"shift={shift} must lie between 0 and 1 (0.2 is the paper's)")


def adaptive_tool_reward(
    *,
    is_correct: bool,
    succeeded: int,
    total: int,
    group_accuracy: float,
    gamma: float = 4.0,
    shift: float = 0.2,
    base_weight: float = 0.5,
    form: DifficultyForm = "paper",
) -> float:
    """CodeDance's R_seq (equation 1): (base_weight + 1[correct]) * succeeded / total * d(group_accuracy); 0.0 without
    a call.

    ``group_accuracy`` is the mean accuracy of the group, of right or wrong alone and before any other term. Only the
    share of calls that ran counts, never their number.
    """
    calls = Calls(succeeded=succeeded, total=total)
    if not 0 <= base_weight < math.inf:
        raise UserError(f"base_weight={base_weight} must be a finite number of 0 or more (0.5, or 1 for mathematics)")
    scale = difficulty_scale(group_accuracy, gamma=gamma, shift=shift, form=form)
    return (base_weight + is_correct) * calls.succeeded / calls.total * scale if calls.total else 0.0


def turn_returns(failed: Sequence[bool], *, penalty: float = -0.5, discount: float = 0.2) -> list[float]:
    """CodeDance's G_t (equation 2) for each turn: G_t = r_t + discount * G_{t+1}, r_t = ``penalty`` where it failed.

    ``failed`` is False for turns that ran nothing, the answer among them.
    """
    if not -math.inf < penalty <= 0:
        raise UserError(f"penalty={penalty} must be a finite number of 0 or less: failed turns are not paid for")
    if not 0 <= discount <= 1:
        raise UserError(f"discount={discount} must lie between 0 and 1")
    returns: list[float] = []
    following = 0.0
    # Backwards, because a turn's return includes the penalties that follow it.
    for is_failure in reversed(failed):
        following = (penalty if is_failure else 0.0) + discount * following
        returns.append(following)
    return returns[::-1]


def execution_returns(trajectory: Trajectory, *, penalty: float = -0.5, discount: float = 0.2) -> list[float]:
    """``turn_returns`` of a trajectory's calls: those that failed or were refused cost ``penalty``."""
    failed = [call_outcome(turn) in ("failed", "refused") for turn in trajectory.turns]
    return turn_returns(failed, penalty=penalty, discount=discount)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeepEyesReward:
    """DeepEyes' reward: 0.8 accuracy + 0.2 format + 1.2 tool, as DeepEyes' code weighs them.

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


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceReward:
    """CodeDance's group reward: the outcome's terms and R_seq, the term ``tool``: a bonus for code that runs and works,
    larger where the question is hard.

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
    """Subtracted from the bonus, so that calls cost something where nearly all are right."""
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
