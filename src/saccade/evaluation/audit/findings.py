"""Findings of an audit: a check's figure beside its bound, the verdict, and an example to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, cast

from saccade.codec.codecs import plain_json
from saccade.evaluation.statistics import wilson_interval
from saccade.types import Json

Verdict = Literal["passes", "convicted", "reported", "not applicable"]
"""``reported`` figures have no bound; ``not applicable`` says in the note what the family lacks for the check."""


class CheckedFields(TypedDict):
    """A finding as JSON has it."""

    check: str
    verdict: Verdict
    figure: float | None
    bound: float | None
    is_least: bool
    note: str
    example: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What one check says of a family."""

    check: str
    verdict: Verdict
    figure: float | None = None
    bound: float | None = None
    """The most that passes, or the least where ``is_least``."""
    is_least: bool = False
    note: str = ""
    example: str = ""

    def as_json(self) -> dict[str, Json]:
        return plain_json(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilyAudit:
    """All findings on one family."""

    family: str
    tasks: int
    findings: tuple[Checked, ...]

    @property
    def convictions(self) -> tuple[Checked, ...]:
        return tuple(one for one in self.findings if one.verdict == "convicted")

    def finding(self, check: str) -> Checked:
        """The finding of this check; KeyError where it was not run."""
        for one in self.findings:
            if one.check == check:
                return one
        raise KeyError(check)

    def as_json(self) -> dict[str, Json]:
        return {
            "family": self.family,
            "tasks": self.tasks,
            "convicted_by": [one.check for one in self.convictions],
            "findings": [one.as_json() for one in self.findings],
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Json]) -> "FamilyAudit":
        """The audit that ``as_json`` wrote."""
        findings = tuple(Checked(**one) for one in cast("Sequence[CheckedFields]", written["findings"]))
        return cls(family=str(written["family"]), tasks=int(cast("int", written["tasks"])), findings=findings)


def share_at_most(check: str, hits: Sequence[bool], bound: float, *, note: str = "", example: str = "") -> Checked:
    """A share that may not exceed its bound: convicted where the whole 95 % interval lies above it."""
    if not hits:
        return Checked(check=check, verdict="not applicable", bound=bound, note=note or "there is nothing to count")
    low, _ = wilson_interval(sum(hits), len(hits))
    return Checked(
        check=check,
        verdict="convicted" if low > bound else "passes",
        figure=sum(hits) / len(hits),
        bound=bound,
        note=note,
        example=example,
    )


def none_of(check: str, hits: Sequence[bool], *, note: str = "", example: str = "") -> Checked:
    """A share that must be 0: a single hit convicts."""
    if not hits:
        return Checked(check=check, verdict="not applicable", bound=0.0, note=note or "there is nothing to count")
    verdict: Verdict = "convicted" if any(hits) else "passes"
    return Checked(check=check, verdict=verdict, figure=sum(hits) / len(hits), bound=0.0, note=note, example=example)
