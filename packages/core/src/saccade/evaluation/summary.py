"""Summary of an evaluation, in the numbers of a report."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
from saccade.evaluation.figure import MeasuredFigure, logger, measure_figures
from saccade.evaluation.samples import Belonging
from saccade.evaluation.statistics import Accuracy, share_of_questions, share_right
from saccade.evaluation.tool_use import ToolUse, tool_use, uses_tool
from saccade.rewards.groups import UNANSWERED
from saccade.rewards.reward import counts_as_right, keeps_format
from saccade.types import Attempt, Json, Task, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """How many of so many trajectories failed, and how many a limit on tokens cut off."""

    FORM: ClassVar = Form(apart=("of",), sparse=("unanswered",))

    of: int = 0
    failed: int = 0
    """The machine's failures, and prompts that left no room to answer: in no figure."""
    cut_off: int = 0
    """Ended by a limit on tokens before they answered: wrong in every figure."""
    unanswered: int = 0
    """Replies to questions that come without an answer: in no figure."""

    def describe(self) -> str:
        """``2 of 6 failed and are left out, 1 of 6 cut off by a token limit``; nothing where there are none."""
        failed = f"{self.failed:,} of {self.of:,} failed and {'is' if self.failed == 1 else 'are'} left out"
        cut_off = f"{self.cut_off:,} of {self.of:,} cut off by a token limit"
        unanswered = f"{self.unanswered:,} of {self.of:,} without an answer to score by"
        said = ((self.failed, failed), (self.cut_off, cut_off), (self.unanswered, unanswered))
        return ", ".join(words for count, words in said if count)


def count_unfinished(trajectories: Iterable[Trajectory]) -> Unfinished:
    ended = list(trajectories)
    statuses = [trajectory.status for trajectory in ended]
    failed = statuses.count("failed")
    unanswered = [trajectory.failure for trajectory in ended].count(UNANSWERED) if failed else 0
    return Unfinished(
        of=len(ended),
        failed=failed - unanswered,
        cut_off=statuses.count("token_limit"),
        unanswered=unanswered,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilySummary:
    """The questions of one task family in an evaluation."""

    FORM: ClassVar = Form(flat=("answers", "unfinished"))

    answers: Accuracy
    unfinished: Unfinished


@dataclass(frozen=True, kw_only=True, slots=True)
class StageSummary:
    """Summary of one evaluation. Trajectories that the machine failed are counted in ``unfinished`` alone.

    The rates are None when nothing was scored.
    """

    FORM: ClassVar = Form(flat=("overall", "unfinished"), sparse=("buckets",), apart=("figures",))

    name: str
    overall: Accuracy
    families: Mapping[str, FamilySummary]
    """By task family, in alphabetical order, with those of which nothing was scored."""
    buckets: Mapping[str, FamilySummary] = field(default_factory=dict)
    """By ``Task.buckets``, likewise; a question counts in each of its own."""
    tool_rate: float | None
    """Share of trajectories in which at least one tool call ran without an error."""
    turns_mean: float | None
    format_rate: float | None
    """Share of trajectories that end with an answer and whose every turn is well-formed."""
    reward_mean: float | None
    """Over the trajectories that have a score."""
    unfinished: Unfinished = Unfinished()
    tools: ToolUse = ToolUse()
    figures: Mapping[str, MeasuredFigure] = field(default_factory=dict)
    """What else is measured, by name, as far as there is anything to measure."""

    def as_json(self) -> dict[str, Json]:
        """As ``report.json`` has it: the figures behind all else, each under its name."""
        values = plain_json(self)
        return {**values, **{name: one.values for name, one in self.figures.items() if name not in values}}

    def describe(self, *, has_tools: bool = True) -> str:
        """One line: ``after_rl: 63.3% right (57.2% to 68.9%, 256 tasks), tool used in 98%``.

        ``has_tools=False``: none was offered, so that none used is no news.
        """
        missing = f", {self.unfinished.describe()}" if self.unfinished.describe() else ""
        if self.overall.accuracy is None:
            return f"{self.name}: nothing scored{missing}"
        low, high = self.overall.ci95
        text = f"{self.name}: {self.overall.accuracy:.1%} right ({low:.1%} to {high:.1%}, {self.overall.n} tasks)"
        if self.tool_rate is not None and (has_tools or self.tool_rate):
            text += f", tool used in {self.tool_rate:.0%}"
        return f"{text}{missing}"


def summarise(
    name: str,
    attempts: Iterable[tuple[Task, Trajectory]],
    belonging: Callable[[Task], Belonging] | None = None,
    tell: Callable[[str], object] = logger.warning,
) -> StageSummary:
    """The summary of tasks with their trajectories.

    With ``belonging`` a question is counted once, however often it was asked, and the intervals are over clusters;
    without it each trajectory counts as a question that is independent of all others. ``tell`` is given a sentence on
    each figure that its package cannot give.
    """
    everything = list(attempts)
    fine = [(task, trajectory) for task, trajectory in everything if trajectory.status != "failed"]
    trajectories = [trajectory for _, trajectory in fine]
    played = [Attempt(task=task, trajectory=trajectory) for task, trajectory in fine]
    return StageSummary(
        name=name,
        overall=_share_right(everything, belonging),
        families={
            family: _family([one for one in everything if one[0].family == family], belonging)
            for family in sorted({task.family for task, _ in everything})
        },
        buckets={
            bucket: _family([one for one in everything if bucket in one[0].buckets], belonging)
            for bucket in sorted({bucket for task, _ in everything for bucket in task.buckets})
        },
        tool_rate=_mean([uses_tool(trajectory) for trajectory in trajectories]),
        turns_mean=_mean([len(trajectory.turns) for trajectory in trajectories]),
        format_rate=_mean([keeps_format(trajectory) for trajectory in trajectories]),
        reward_mean=_mean([trajectory.score.total for trajectory in trajectories if trajectory.score]),
        unfinished=count_unfinished(trajectory for _, trajectory in everything),
        tools=tool_use(played),
        figures=measure_figures(played, tell),
    )


def _family(
    attempts: Sequence[tuple[Task, Trajectory]], belonging: Callable[[Task], Belonging] | None
) -> FamilySummary:
    return FamilySummary(
        answers=_share_right(attempts, belonging), unfinished=count_unfinished(one for _, one in attempts)
    )


def _share_right(
    attempts: Sequence[tuple[Task, Trajectory]], belonging: Callable[[Task], Belonging] | None
) -> Accuracy:
    scored = [(task, one) for task, one in attempts if one.status != "failed"]
    right = [counts_as_right(task, one) for task, one in scored]
    if belonging is None:
        return share_right(right)
    return share_of_questions(right, [belonging(task) for task, _ in scored])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
