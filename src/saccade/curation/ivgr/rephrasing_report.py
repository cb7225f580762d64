"""What telling trajectories anew came to: counts by reason, for people and for programs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.types import Json

Counts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class RephrasingReport:
    """Counts over trajectories; ``failed`` ones have no outcome yet, by the machine's fault, and can be resumed."""

    trajectories: int
    chosen: int
    """Those that were to be told anew."""
    told: int
    failed: int
    streams: Counts
    """Examples in the file, by stream."""
    given_up: Counts
    """Trajectories that stayed as they were, or were left out, by the reason of the last try."""
    tries: Counts
    """All tries that gave nothing, by reason."""
    asked: Mapping[str, Counts]
    """What was asked of each role by all processes: requests, replies from the cache, retries, tokens."""

    def as_json(self) -> dict[str, Json]:
        return {
            "trajectories": self.trajectories,
            "chosen": self.chosen,
            "told": self.told,
            "failed": self.failed,
            "streams": dict(self.streams),
            "given_up": dict(self.given_up),
            "tries": dict(self.tries),
            "asked": {role: dict(counts) for role, counts in self.asked.items()},
        }

    def describe(self) -> str:
        """The counts as lines of text."""
        lines = [f"{self.told} of {self.chosen} chosen trajectories are told in plain words"]
        if self.failed:
            lines.append(f"{self.failed} trajectories failed by no fault of theirs; resume to try them again")
        for title, counts in (
            ("examples by stream", self.streams),
            ("trajectories given up", self.given_up),
            ("tries that failed", self.tries),
            *((f"asked of the {role}", counts) for role, counts in self.asked.items()),
        ):
            if any(counts.values()):
                lines.append(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
        return "\n".join(lines) + "\n"


def rephrasing_report(
    *,
    trajectories: int,
    chosen: int,
    told: Sequence[bool],
    tries: Sequence[Sequence[str]],
    streams: Sequence[str],
    asked: Mapping[str, Counts],
) -> RephrasingReport:
    """Counts; ``told`` and ``tries`` have an item for each trajectory with an outcome, ``tries`` its reasons."""
    return RephrasingReport(
        trajectories=trajectories,
        chosen=chosen,
        told=sum(told),
        failed=chosen - len(told),
        streams=_counted(streams),
        given_up=_counted([reasons[-1] for is_told, reasons in zip(told, tries, strict=True) if not is_told]),
        tries=_counted([reason for reasons in tries for reason in reasons]),
        asked=asked,
    )


def _counted(names: Sequence[str]) -> dict[str, int]:
    """From the most frequent, ties in alphabetical order."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
