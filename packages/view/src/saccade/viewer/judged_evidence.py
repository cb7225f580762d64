"""A judge's verdicts on pictures that calls returned, kept in a run for its report: ``evidence.json``.

``{"version": 1, "evaluations": {name: {"judge": …, "sha256": …, "verdicts": {place: {turn: true | false | null}}}}}``;
the hash is that of the evaluation's file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.codec.codecs import plain_json
from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.evaluation.evidence_judge import JudgedEvidence, judged_evidence
from saccade.rewards.judges.evidence_judge import PictureVerdicts
from saccade.runs.runinfo import RunPaths
from saccade.types import Json
from saccade.viewer.evidence import Evidence
from saccade.viewer.section import Section, Tell
from saccade.viewer.verdicts import read_judged, write_judged
from saccade.viewer.words import percent_text, visible


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedPictures:
    """A judge's verdicts by the place of the trajectory in the evaluation's file."""

    judge: str
    verdicts: Mapping[int, PictureVerdicts]


def read_judged_evidence(paths: RunPaths) -> dict[str, JudgedPictures]:
    """By evaluation, as far as their trajectories are still those. UserError for a file that cannot be read."""
    return read_judged(paths, paths.judged_evidence, _from_fields)


def write_judged_evidence(paths: RunPaths, judged: Mapping[str, JudgedPictures]) -> None:
    """Keeps the verdicts of these evaluations and no others."""
    write_judged(paths, paths.judged_evidence, {name: _fields(one) for name, one in judged.items()})


def _from_fields(fields: Fields) -> JudgedPictures:
    verdicts = {int(place): _verdicts(said) for place, said in fields.mapping("verdicts").items()}
    return JudgedPictures(judge=fields.text("judge"), verdicts=verdicts)


def _fields(one: JudgedPictures) -> dict[str, Json]:
    verdicts: dict[str, Json] = {
        str(place): {str(turn): said for turn, said in of.items()} for place, of in one.verdicts.items()
    }
    return {"judge": one.judge, "verdicts": verdicts}


def _verdicts(value: Json) -> PictureVerdicts:
    if not isinstance(value, Mapping) or not all(said is None or isinstance(said, bool) for said in value.values()):
        raise BrokenRecordError(f"{value!r} are no verdicts on pictures")
    return {int(turn): said for turn, said in value.items() if said is None or isinstance(said, bool)}


Measured = dict[str, tuple[JudgedPictures, JudgedEvidence]]


def _read(evidence: Evidence, _: Tell) -> Measured | None:
    judged = read_judged_evidence(evidence.paths)
    attempts = {one.name: one.attempts for one in evidence.evaluations}
    return {
        name: (one, judged_evidence(attempts[name], one.verdicts)) for name, one in judged.items() if name in attempts
    }


def _line(who: str, found: JudgedEvidence) -> str:
    """``evidence by m: faithful 54 % (47 % to 61 %) of 200 with a picture; …``."""
    (low, high), right, wrong = found.faithful.ci95, found.right_without_evidence, found.wrong_with_evidence
    without = f"; {found.no_verdict:,} calls without a verdict" if found.no_verdict else ""
    calls = f"{percent_text(found.faithful_calls.mean)} of {found.faithful_calls.n:,} calls"
    return (
        f"evidence by {visible(who, 80)}: faithful {percent_text(found.faithful.mean)} ({percent_text(low)} to "
        f"{percent_text(high)}) of {found.faithful.n:,} with a picture given back; {calls}; right without evidence "
        f"{percent_text(right.mean)} of {right.n:,}; wrong with it {percent_text(wrong.mean)} of {wrong.n:,}{without}"
    )


SECTION = Section(
    read=_read,
    rows=lambda found: {
        "judged_evidence": {name: {"judge": one.judge, **plain_json(of)} for name, (one, of) in found.items()}
    },
    lines=lambda found: {name: _line(one.judge, of) for name, (one, of) in found.items()},
)
