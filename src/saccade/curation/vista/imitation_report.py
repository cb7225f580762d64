"""What making trajectories to imitate came to: counts by reason, for people and for programs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.types import Json

Counts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImitationReport:
    """Counts over questions; ``failed`` ones have no outcome yet, by the machine's fault, and can be resumed."""

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
    """What was asked of each role by all processes: requests, replies from the cache, retries, tokens."""

    def as_json(self) -> dict[str, Json]:
        return {
            "questions": self.questions,
            "kept": self.kept,
            "dense": self.dense,
            "failed": self.failed,
            "families": dict(self.families),
            "tools": dict(self.tools),
            "given_up": dict(self.given_up),
            "tries": dict(self.tries),
            "asked": {role: dict(counts) for role, counts in self.asked.items()},
        }

    def describe(self) -> str:
        """The counts as lines of text."""
        lines = [f"{self.kept} examples of {self.questions} questions, {self.dense} thought out at length"]
        if self.failed:
            lines.append(f"{self.failed} questions failed by no fault of theirs; resume to try them again")
        for title, counts in (
            ("examples by family", self.families),
            ("calls by tool", self.tools),
            ("questions given up", self.given_up),
            ("tries that failed", self.tries),
            *((f"asked of the {role}", counts) for role, counts in self.asked.items()),
        ):
            if any(counts.values()):
                lines.append(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
        return "\n".join(lines) + "\n"


def imitation_report(
    *,
    questions: int,
    kept: Sequence[bool],
    dense: int,
    tries: Sequence[Sequence[str]],
    calls: Sequence[Sequence[str]],
    families: Sequence[str],
    asked: Mapping[str, Counts],
) -> ImitationReport:
    """Counts; all sequences have an item for each question with an outcome, ``tries`` its reasons."""
    return ImitationReport(
        questions=questions,
        kept=sum(kept),
        dense=dense,
        failed=questions - len(kept),
        families=_counted([family for family, is_kept in zip(families, kept, strict=True) if is_kept]),
        tools=_counted([name for names in calls for name in names]),
        given_up=_counted([reasons[-1] for is_kept, reasons in zip(kept, tries, strict=True) if not is_kept]),
        tries=_counted([reason for reasons in tries for reason in reasons]),
        asked=asked,
    )


def _counted(names: Sequence[str]) -> dict[str, int]:
    """From the most frequent, ties in alphabetical order."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
