"""A judge's stars for reasoning, kept in a run for its report: ``stars.json``.

``{"version": 1, "evaluations": {name: {"judge": …, "sees_pages": …, "sha256": …, "verdicts": {place: [coherence,
faithfulness, agreement] | "attack" | null}}}}``; the hash is that of the evaluation's file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.evaluation.stars import FEWEST, MOST, STAR_KINDS, StarReport, StarVerdict, star_report
from saccade.runs.runinfo import RunPaths
from saccade.types import Json
from saccade.viewer.section import Section
from saccade.viewer.verdicts import read_judged, write_judged
from saccade.viewer.words import visible


@dataclass(frozen=True, kw_only=True, slots=True)
class StarredEvaluation:
    """A judge's stars by the place of the trajectory in the evaluation's file."""

    judge: str
    sees_pages: bool
    verdicts: Mapping[int, StarVerdict]

    @property
    def report(self) -> StarReport:
        return star_report(self.verdicts.values())

    def describe(self) -> str:
        """``coherence 4.20, faithfulness 3.90, agreement 4.80 of 5 by m, which reads …; 22 judged, …``."""
        found = self.report
        means = ", ".join(f"{kind} {mean:.2f}" for kind, mean in found.means.items())
        said = f"{means} of {MOST}" if means else "no stars"
        reads = "pages and response" if self.sees_pages else "the response, not the pages"
        counts = [f"{found.judged:,} judged", f"{found.no_verdict:,} without a verdict"]
        if found.attacks:
            counts.append(f"{found.attacks:,} that speak to the judge count as {FEWEST} each")
        return f"{said}, by {visible(self.judge, 80)}, who sees {reads}; {', '.join(counts)}"


def read_star_record(paths: RunPaths) -> dict[str, StarredEvaluation]:
    """By evaluation, as far as their trajectories are still those. UserError for a file that cannot be read."""
    return read_judged(paths, paths.stars, _evaluation_from)


def write_star_record(paths: RunPaths, starred: Mapping[str, StarredEvaluation]) -> None:
    """Keeps the stars of these evaluations and no others."""
    write_judged(paths, paths.stars, {name: _evaluation_fields(one) for name, one in starred.items()})


def _evaluation_from(fields: Fields) -> StarredEvaluation:
    verdicts = {int(place): _verdict(said) for place, said in fields.mapping("verdicts").items()}
    return StarredEvaluation(judge=fields.text("judge"), sees_pages=fields.truth("sees_pages"), verdicts=verdicts)


def _evaluation_fields(one: StarredEvaluation) -> dict[str, Json]:
    verdicts: dict[str, Json] = {
        str(place): list(said) if isinstance(said, tuple) else said for place, said in one.verdicts.items()
    }
    return {"judge": one.judge, "sees_pages": one.sees_pages, "verdicts": verdicts}


def _verdict(value: Json) -> StarVerdict:
    if value is None:
        return None
    if value == "attack":
        return "attack"
    if isinstance(value, list) and len(value) == len(STAR_KINDS):
        stars = [float(one) for one in value if isinstance(one, int | float) and FEWEST <= one <= MOST]
        if len(stars) == len(STAR_KINDS):
            return stars[0], stars[1], stars[2]
    raise BrokenRecordError(f"{value!r} is no verdict in stars")


SECTION = Section(
    read=lambda evidence, _: read_star_record(evidence.paths),
    rows=lambda stars: {"stars": {name: starred.report.as_json() for name, starred in stars.items()}},
    lines=lambda stars: {name: f"stars: {starred.describe()}" for name, starred in stars.items()},
)
