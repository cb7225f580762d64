"""Figures of evidence: how often what calls returned holds what the answer depends on, and how that pays.

The definitions are those of ``saccade.rewards.evidence``. Intervals are over questions: answers to one are a cluster.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.characters import percent_text
from saccade.evaluation.figure import StageFigure
from saccade.evaluation.statistics import ClusteredMean, clustered_mean
from saccade.rewards.evidence import EvidenceFit, TrajectoryEvidence, evidence_of
from saccade.rewards.reward import counts_as_right
from saccade.types import Attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceUse:
    """Evidence in the trajectories of tasks that name regions, or pages that they do not show.

    Means are None where nothing was counted.
    """

    title: ClassVar = "evidence"

    trajectories: int
    """Of which everything is counted: those that the machine did not fail and whose calls can be traced."""
    untraced: int
    """Left out: the record does not say what one of their calls returned."""
    recall: float | None
    """Of all calls together, mean over the trajectories with a call."""
    precision: float | None
    """Likewise, mean over those that were returned something."""
    faithful: ClusteredMean
    """Share of faithful trajectories among those with a call."""
    recall_of_all: float | None
    """Mean over all trajectories, 0 without a call."""
    faithful_of_all: ClusteredMean
    faithful_calls: ClusteredMean
    """Share of faithful calls, refused and failed ones among them, without those that repeat another."""
    right_without_evidence: ClusteredMean
    """Of the right answers, the share whose trajectory is not faithful."""
    wrong_with_evidence: ClusteredMean
    """Of the wrong answers, the share whose trajectory is."""

    def describe(self) -> str:
        """``recall 61 %, precision 12 %, faithful 54 % (47 % to 61 %) of 200 with a call; of all 256 ...``."""
        left = f"; {self.untraced:,} left out, of which a call cannot be traced" if self.untraced else ""
        if not self.trajectories:
            return f"nothing measured{left}"
        low, high = (percent_text(end) for end in self.faithful.ci95)
        made, calls, right, wrong = (
            self.faithful,
            self.faithful_calls,
            self.right_without_evidence,
            self.wrong_with_evidence,
        )
        of_all = f"recall {percent_text(self.recall_of_all)}, faithful {percent_text(self.faithful_of_all.mean)}"
        parts = [
            f"recall {percent_text(self.recall)}, precision {percent_text(self.precision)}, faithful "
            f"{percent_text(made.mean)} ({low} to {high}) of {made.n:,} with a call",
            f"of all {self.trajectories:,} {of_all}" if made.n < self.trajectories else "",
            f"{percent_text(calls.mean)} of {calls.n:,} calls faithful" if calls.n != made.n else "",
            f"right without evidence {percent_text(right.mean)} of {right.n:,}",
            f"wrong with it {percent_text(wrong.mean)} of {wrong.n:,}",
        ]
        return "; ".join(filter(None, parts)) + left


def evidence_use(attempts: Iterable[Attempt]) -> EvidenceUse | None:
    """The figures; None where no trajectory of such a task has a call."""
    found = [
        (one, evidence)
        for one in attempts
        if one.trajectory.status != "failed" and (evidence := evidence_of(one.task, one.trajectory)) is not None
    ]
    if not any(evidence.calls for _, evidence in found):
        return None
    traced = [(one, evidence, evidence.fit) for one, evidence in found if evidence.fit is not None]
    with_call = [(one, evidence, fit) for one, evidence, fit in traced if evidence.calls]
    right = [counts_as_right(one.task, one.trajectory) for one, _, _ in traced]
    return EvidenceUse(
        trajectories=len(traced),
        untraced=len(found) - len(traced),
        recall=_mean([fit.recall for _, _, fit in with_call]),
        precision=_mean([fit.precision for _, _, fit in with_call if fit.precision is not None]),
        faithful=_share((one, evidence.is_faithful) for one, evidence, _ in with_call),
        recall_of_all=_mean([fit.recall for _, _, fit in traced]),
        faithful_of_all=_share((one, evidence.is_faithful) for one, evidence, _ in traced),
        faithful_calls=_share(
            (one, call.is_faithful) for one, evidence, _ in traced for call in evidence.calls if not call.is_repeat
        ),
        right_without_evidence=_share(
            (one, not evidence.is_faithful) for (one, evidence, _), is_right in zip(traced, right) if is_right
        ),
        wrong_with_evidence=_share(
            (one, evidence.is_faithful) for (one, evidence, _), is_right in zip(traced, right) if not is_right
        ),
    )


FIGURE = StageFigure(kind=EvidenceUse, of=evidence_use)


def fit_text(fit: EvidenceFit | None) -> str:
    """``recall 100 %, precision 56.2 %`` of what was returned, or that it is not known."""
    if fit is None:
        return "what it returned cannot be traced"
    if fit.precision is None:
        return "returned nothing"
    return f"recall {percent_text(fit.recall)}, precision {percent_text(fit.precision)}"


def call_texts(evidence: TrajectoryEvidence) -> dict[int, str]:
    """By the index of a turn what its call returned of the evidence: ``recall 100 %, precision 56.2 %: faithful``."""
    texts = {}
    for call in evidence.calls:
        verdict = "faithful" if call.is_faithful else "not faithful"
        if call.fit is not None and not call.fit.is_aimed and call.fit.best > 0:
            verdict += ", since it returned too much"
        elif call.is_repeat:
            verdict = "repeats a call before it"
        is_said = call.fit is not None and call.fit.precision is not None
        texts[call.turn] = f"{fit_text(call.fit)}{f': {verdict}' if is_said else ''}"
    return texts


def _share(values: Iterable[tuple[Attempt, bool]]) -> ClusteredMean:
    listed = list(values)
    return clustered_mean([float(value) for _, value in listed], [one.task.id for one, _ in listed])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
