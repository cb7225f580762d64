"""Reports of curations: counts by reason, as JSON and as lines of text.

In every report ``asked`` counts the requests of each role by all processes: requests, replies from the cache, retries,
tokens. What is ``failed`` has no outcome yet, by the machine's fault, and is tried again when the curation is resumed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.curation.codedance.outcomes import QuestionOutcome

Counts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationReport:
    """Counts over the questions."""

    questions: int
    kept: int
    failed: int
    levels: Counts
    kept_levels: Counts
    kept_ways: Counts
    kept_kinds: Counts
    other_kind: int
    """Kept although the code does another kind of thing than the teacher was asked for."""
    rejected: Counts
    """Questions without an example, by reason; where several tries were made, by that of the last."""
    tries: Counts
    """Tries that gave no example, by way and reason."""
    verdicts: Counts
    """By step and value."""
    asked: Mapping[str, Counts]

    def describe(self) -> str:
        """The counts as lines of text."""
        other = f"{self.other_kind} examples are of another kind than requested" if self.other_kind else ""
        counted = (
            ("questions by level", self.levels),
            ("examples by level", self.kept_levels),
            ("examples by way", self.kept_ways),
            ("examples by kind", self.kept_kinds),
            ("questions left out", self.rejected),
            ("tries that failed", self.tries),
            ("verdicts", self.verdicts),
        )
        return report_lines(
            [f"{self.kept} examples of {self.questions} questions", failed_line(self.failed, "questions"), other],
            counted,
            self.asked,
        )


def curation_report(
    outcomes: Sequence[QuestionOutcome], *, questions: int, asked: Mapping[str, Counts] | None = None
) -> CurationReport:
    """Counts over the outcomes of a set of questions."""
    kept = [outcome for outcome in outcomes if outcome.row is not None]
    return CurationReport(
        questions=questions,
        kept=len(kept),
        failed=questions - len(outcomes),
        levels=counts_by_name(outcome.level for outcome in outcomes),
        kept_levels=counts_by_name(outcome.level for outcome in kept),
        kept_ways=counts_by_name(outcome.way for outcome in kept if outcome.way is not None),
        kept_kinds=counts_by_name(outcome.kind or "no code" for outcome in kept),
        other_kind=sum(outcome.asked_kind not in (None, outcome.kind) for outcome in kept),
        rejected=counts_by_name(outcome.reason for outcome in outcomes if outcome.reason is not None),
        tries=counts_by_name(f"{one.way}/{one.reason}" for outcome in outcomes for one in outcome.tries),
        verdicts=counts_by_name(f"{one.step}/{one.value}" for outcome in outcomes for one in outcome.verdicts),
        asked=asked or {},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RephrasingReport:
    """Counts over trajectories."""

    trajectories: int
    chosen: int
    """Those that were to be rephrased."""
    told: int
    failed: int
    streams: Counts
    """Examples in the file, by stream."""
    given_up: Counts
    """Trajectories that stayed as they were, or were left out, by the reason of the last try."""
    tries: Counts
    """All tries that gave nothing, by reason."""
    asked: Mapping[str, Counts]

    def describe(self) -> str:
        """The counts as lines of text."""
        counted = (
            ("examples by stream", self.streams),
            ("trajectories given up", self.given_up),
            ("tries that failed", self.tries),
        )
        return report_lines(
            [
                f"{self.told} of {self.chosen} chosen trajectories are rewritten in plain words",
                failed_line(self.failed, "trajectories"),
            ],
            counted,
            self.asked,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ImitationReport:
    """Counts over questions."""

    questions: int
    kept: int
    dense: int
    """Trajectories among those kept with thoughts at length."""
    failed: int
    families: Counts
    """Examples by family or data set."""
    tools: Counts
    """Calls in the examples, by tool (the paper's Figure 3)."""
    given_up: Counts
    """Questions without an example, by the reason of the last try."""
    tries: Counts
    """All tries that gave nothing, by reason."""
    asked: Mapping[str, Counts]

    def describe(self) -> str:
        """The counts as lines of text."""
        counted = (
            ("examples by family", self.families),
            ("calls by tool", self.tools),
            ("questions given up", self.given_up),
            ("tries that failed", self.tries),
        )
        return report_lines(
            [
                f"{self.kept} examples of {self.questions} questions, {self.dense} with long thoughts",
                failed_line(self.failed, "questions"),
            ],
            counted,
            self.asked,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionReport:
    """Counts over questions."""

    questions: int
    kept: int
    failed: int
    dropped: Counts
    """Questions that are too easy (``above``) or too hard (``below``)."""
    pass_rates: Counts
    asked: Mapping[str, Counts]

    def describe(self) -> str:
        """The counts as lines of text."""
        counted = (("questions left out", self.dropped), ("questions by pass rate", self.pass_rates))
        return report_lines(
            [f"{self.kept} of {self.questions} questions kept", failed_line(self.failed, "questions")],
            counted,
            self.asked,
        )


def counts_by_name(names: Iterable[str]) -> dict[str, int]:
    """Numbers of each name, from the most frequent, ties in alphabetical order."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def report_lines(first: Sequence[str], counted: Sequence[tuple[str, Counts]], asked: Mapping[str, Counts]) -> str:
    """The first lines that are not empty, one for each of the counts that has any, and one for each role asked."""
    lines = [line for line in first if line]
    for title, counts in (*counted, *((f"usage of the {role}", of_role) for role, of_role in asked.items())):
        if any(counts.values()):
            lines.append(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
    return "\n".join(lines) + "\n"


def failed_line(count: int, things: str) -> str:
    return f"{count} {things} failed at a server or machine; resume to try them again" if count else ""
