"""A judge's stars for reasoning, kept in a run for its report: ``stars.json``.

``{"version": 1, "evaluations": {name: {"judge": …, "sees_pages": …, "sha256": …, "verdicts": {place: [coherence,
faithfulness, agreement] | "attack" | null}}}}``; the hash is that of the evaluation's file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.atomic import write_json_atomic
from saccade.errors import UserError
from saccade.evaluation.stars import FEWEST, MOST, STAR_KINDS, StarReport, StarVerdict, star_report
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.runs.task_json import BrokenRecordError, Fields
from saccade.types import Json
from saccade.viewer.verdicts import evaluation_digest
from saccade.viewer.words import visible

VERSION = 1


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
    if not paths.stars.exists():
        return {}
    try:
        fields = Fields(read_json_object(paths.stars))
        if (version := fields.whole("version")) != VERSION:
            raise UserError(f"{paths.stars} is of version {version}, and this Saccade reads version {VERSION}")
        found = {}
        for name, value in fields.mapping("evaluations").items():
            one = Fields(value, name)
            if one.text("sha256") == evaluation_digest(paths.evaluation(name)):
                verdicts = {int(place): _verdict(said) for place, said in one.mapping("verdicts").items()}
                found[name] = StarredEvaluation(
                    judge=one.text("judge"), sees_pages=one.truth("sees_pages"), verdicts=verdicts
                )
        return found
    except (BrokenRecordError, ValueError) as error:
        raise UserError(f"{paths.stars} cannot be read: {error}") from error


def write_star_record(paths: RunPaths, starred: Mapping[str, StarredEvaluation]) -> None:
    """Keeps the stars of these evaluations and no others."""
    evaluations: dict[str, Json] = {
        name: {
            "judge": one.judge,
            "sees_pages": one.sees_pages,
            "sha256": evaluation_digest(paths.evaluation(name)),
            "verdicts": {
                str(place): list(said) if isinstance(said, tuple) else said for place, said in one.verdicts.items()
            },
        }
        for name, one in starred.items()
    }
    write_json_atomic(paths.stars, {"version": VERSION, "evaluations": evaluations})


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
