"""Figures of evidence by the verdicts of a judge, where no regions are known (``saccade.rewards.judges``)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.evaluation.statistics import ClusteredMean, clustered_mean
from saccade.rewards.evidence import is_aimed
from saccade.rewards.judges.evidence_judge import EvidenceJudge, PictureVerdicts
from saccade.rewards.places import SeenParts
from saccade.rewards.reward import counts_as_right
from saccade.rewards.seen import seen_by_turn
from saccade.types import Attempt


async def picture_verdicts(attempts: Iterable[Attempt], judge: EvidenceJudge) -> dict[int, PictureVerdicts]:
    """The verdicts by the attempt's place, those without a call that gave a picture too; not of failed attempts."""
    placed = {place: one for place, one in enumerate(attempts) if one.trajectory.status != "failed"}
    asked = (judge.verdicts(one.task, one.trajectory) for one in placed.values())
    return dict(zip(placed, await asyncio.gather(*asked)))


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedEvidence:
    """Evidence in an evaluation by a judge's verdicts."""

    faithful: ClusteredMean
    """Share of trajectories with a call that the judge says yes to, among those with a picture given back: together
    their calls returned no more than half of a picture."""
    faithful_calls: ClusteredMean
    right_without_evidence: ClusteredMean
    """Of the right answers, the share whose trajectory is not faithful."""
    wrong_with_evidence: ClusteredMean
    no_verdict: int
    """Calls without a verdict; trajectories that depend on one are left out."""


def judged_evidence(attempts: Sequence[Attempt], verdicts: Mapping[int, PictureVerdicts]) -> JudgedEvidence:
    """The figures of the attempts that have verdicts, by their places."""
    found = [(attempts[place], given) for place, given in sorted(verdicts.items()) if place < len(attempts)]
    told = [(one, given, is_faithful) for one, given in found if (is_faithful := _is_faithful(one, given)) is not None]
    right = [counts_as_right(one.task, one.trajectory) for one, _, _ in told]
    return JudgedEvidence(
        faithful=_share([(one, is_faithful) for one, given, is_faithful in told if given]),
        faithful_calls=_share([(one, said) for one, given in found for said in given.values() if said is not None]),
        right_without_evidence=_share(
            [(one, not is_faithful) for (one, _, is_faithful), is_right in zip(told, right) if is_right]
        ),
        wrong_with_evidence=_share(
            [(one, is_faithful) for (one, _, is_faithful), is_right in zip(told, right) if not is_right]
        ),
        no_verdict=sum(said is None for _, given in found for said in given.values()),
    )


def _is_faithful(attempt: Attempt, given: PictureVerdicts) -> bool | None:
    union = SeenParts.union([one for one in seen_by_turn(attempt.task, attempt.trajectory) if one is not None])
    if not is_aimed(attempt.task, union, times=2):
        return False
    return True if True in given.values() else None if None in given.values() else False


def _share(values: Sequence[tuple[Attempt, bool]]) -> ClusteredMean:
    return clustered_mean([float(value) for _, value in values], [one.task.id for one, _ in values])
