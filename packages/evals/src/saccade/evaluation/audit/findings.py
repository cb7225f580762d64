"""Findings of an audit: a check's figure beside its bound, the verdict, and an example to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from saccade.codec.forms import Form
from saccade.evaluation.statistics import wilson_interval

Verdict = Literal["passes", "convicted", "reported", "not applicable"]
"""``reported`` figures have no bound; ``not applicable`` says in the note what the family lacks for the check."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilyAudit:
    """All findings on one family."""

    FORM: ClassVar = Form(also=("convicted_by", "not_checked"))

    family: str
    tasks: int
    findings: tuple[Checked, ...]

    @property
    def convicted_by(self) -> tuple[str, ...]:
        """The checks that convict it."""
        return tuple(one.check for one in self.convictions)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """The checks that say nothing of it: what a pass does not vouch for."""
        return tuple(one.check for one in self.findings if one.verdict in ("not applicable", "reported"))

    @property
    def convictions(self) -> tuple[Checked, ...]:
        return tuple(one for one in self.findings if one.verdict == "convicted")

    def finding(self, check: str) -> Checked:
        """The finding of this check; KeyError where it was not run."""
        for one in self.findings:
            if one.check == check:
                return one
        raise KeyError(check)


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
