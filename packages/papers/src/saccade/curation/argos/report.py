"""Report of Argos' curation: yield by questions and by traces: one in thirty traces may be one in four questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.codec.forms import Form
from saccade.curation.argos.outcomes import TracedQuestion
from saccade.curation.reports import Counts, counts_by_name, failed_line, report_lines
from saccade.types import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class TracingReport:
    """Counts over questions and over their traces."""

    FORM: ClassVar = Form(also=("yield_of_questions", "yield_of_traces"))

    questions: int
    kept: int
    """Questions with an example."""
    failed: int
    traces: int
    """Replies of the teacher."""
    right: int
    passing: int
    """Traces that may be kept: right ones that reach the threshold."""
    families: Counts
    """Examples by family or data set."""
    given_up: Counts
    """Questions without an example, by their own reason or that of the trace that came nearest."""
    refused: Counts
    """Traces that may not be kept, by reason."""
    asked: Mapping[str, Counts]

    @property
    def yield_of_questions(self) -> float:
        """Share of the questions with an outcome that have an example."""
        return self.kept / max(1, self.questions - self.failed)

    @property
    def yield_of_traces(self) -> float:
        """Share of the traces that may be kept."""
        return self.passing / max(1, self.traces)

    def describe(self) -> str:
        """The counts as lines of text."""
        return report_lines(
            [
                f"{self.kept} of {self.questions - self.failed} questions have an example "
                f"({self.yield_of_questions:.1%})",
                f"{self.passing} of {self.traces} traces may be kept ({self.yield_of_traces:.1%}), "
                f"{self.right} are right",
                failed_line(self.failed, "questions"),
            ],
            (
                ("examples by family", self.families),
                ("questions given up", self.given_up),
                ("traces refused", self.refused),
            ),
            self.asked,
        )


def tracing_report(
    outcomes: Sequence[TracedQuestion], tasks: Mapping[str, Task], *, asked: Mapping[str, Counts]
) -> TracingReport:
    """Counts over the outcomes of these questions."""
    kept = [one for one in outcomes if one.best is not None]
    tries = [tried for one in outcomes for tried in one.tries]
    return TracingReport(
        questions=len(tasks),
        kept=len(kept),
        failed=len(tasks) - len(outcomes),
        traces=len(tries),
        right=sum(one.is_right for one in tries),
        passing=sum(one.reason is None for one in tries),
        families=counts_by_name(tasks[one.task_id].family for one in kept),
        given_up=counts_by_name(one.reason for one in outcomes if one.best is None),
        refused=counts_by_name(one.reason for one in tries if one.reason is not None),
        asked=asked,
    )
