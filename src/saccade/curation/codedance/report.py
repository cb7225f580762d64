"""What a curation came to: counts by reason, for people and for programs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.curation.codedance.outcomes import QuestionOutcome
from saccade.types import Json

Counts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationReport:
    """Counts over the questions; ``failed`` ones have no outcome yet, by the machine's fault, and can be resumed."""

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
    """What was asked of each role by all processes: requests, replies from the cache, retries, tokens."""

    def as_json(self) -> dict[str, Json]:
        return {
            "questions": self.questions,
            "kept": self.kept,
            "failed": self.failed,
            "levels": dict(self.levels),
            "kept_levels": dict(self.kept_levels),
            "kept_ways": dict(self.kept_ways),
            "kept_kinds": dict(self.kept_kinds),
            "other_kind": self.other_kind,
            "rejected": dict(self.rejected),
            "tries": dict(self.tries),
            "verdicts": dict(self.verdicts),
            "asked": {role: dict(counts) for role, counts in self.asked.items()},
        }

    def describe(self) -> str:
        """The counts as lines of text."""
        lines = [f"{self.kept} examples of {self.questions} questions"]
        if self.failed:
            lines.append(f"{self.failed} questions failed by no fault of theirs; resume to try them again")
        if self.other_kind:
            lines.append(f"{self.other_kind} examples do another kind of thing than was asked for")
        for title, counts in (
            ("questions by level", self.levels),
            ("examples by level", self.kept_levels),
            ("examples by way", self.kept_ways),
            ("examples by kind", self.kept_kinds),
            ("questions left out", self.rejected),
            ("tries that failed", self.tries),
            ("verdicts", self.verdicts),
            *((f"asked of the {role}", counts) for role, counts in self.asked.items()),
        ):
            if any(counts.values()):
                lines.append(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
        return "\n".join(lines) + "\n"


def curation_report(
    outcomes: Sequence[QuestionOutcome], *, questions: int, asked: Mapping[str, Counts] | None = None
) -> CurationReport:
    """Counts over the outcomes of a set of questions."""
    kept = [outcome for outcome in outcomes if outcome.row is not None]
    return CurationReport(
        questions=questions,
        kept=len(kept),
        failed=questions - len(outcomes),
        levels=_counted(outcome.level for outcome in outcomes),
        kept_levels=_counted(outcome.level for outcome in kept),
        kept_ways=_counted(outcome.way for outcome in kept if outcome.way is not None),
        kept_kinds=_counted(outcome.kind or "no code" for outcome in kept),
        other_kind=sum(outcome.asked_kind not in (None, outcome.kind) for outcome in kept),
        rejected=_counted(outcome.reason for outcome in outcomes if outcome.reason is not None),
        tries=_counted(f"{one.way}/{one.reason}" for outcome in outcomes for one in outcome.tries),
        verdicts=_counted(f"{one.step}/{one.value}" for outcome in outcomes for one in outcome.verdicts),
        asked=asked or {},
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    """From the most frequent, ties in alphabetical order."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
