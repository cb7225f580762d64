"""Verdicts of a judge on wrong trajectories, kept in a run for its report: ``verdicts.json``.

``{"version": 1, "evaluations": {name: {"judge": …, "sha256": …, "verdicts": {place: ["E4"] | "attack" | null}}}}``;
the hash is that of the evaluation's file, since verdicts on other trajectories say nothing.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.atomic import disk_errors, write_json_atomic
from saccade.errors import UserError
from saccade.evaluation.errors import JUDGED_KINDS, Verdict
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.runs.task_json import BrokenRecordError, Fields
from saccade.types import Json

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedEvaluation:
    """A judge's verdicts by the place of the trajectory in the evaluation's file."""

    judge: str
    verdicts: Mapping[int, Verdict]


def read_verdicts(paths: RunPaths) -> dict[str, JudgedEvaluation]:
    """By evaluation, as far as their trajectories are still those. UserError for a file that cannot be read."""
    if not paths.verdicts.exists():
        return {}
    try:
        fields = Fields(read_json_object(paths.verdicts))
        if (version := fields.whole("version")) != VERSION:
            raise UserError(f"{paths.verdicts} is of version {version}, and this Saccade reads version {VERSION}")
        found = {}
        for name, value in fields.mapping("evaluations").items():
            one = Fields(value, name)
            if one.text("sha256") == evaluation_digest(paths.evaluation(name)):
                found[name] = JudgedEvaluation(
                    judge=one.text("judge"),
                    verdicts={int(place): _verdict(said) for place, said in one.mapping("verdicts").items()},
                )
        return found
    except (BrokenRecordError, ValueError) as error:
        raise UserError(f"{paths.verdicts} cannot be read: {error}") from error


def write_verdicts(paths: RunPaths, judged: Mapping[str, JudgedEvaluation]) -> None:
    """Keeps the verdicts of these evaluations and no others."""
    evaluations: dict[str, Json] = {
        name: {
            "judge": one.judge,
            "sha256": evaluation_digest(paths.evaluation(name)),
            "verdicts": {
                str(place): sorted(said) if isinstance(said, frozenset) else said
                for place, said in one.verdicts.items()
            },
        }
        for name, one in judged.items()
    }
    write_json_atomic(paths.verdicts, {"version": VERSION, "evaluations": evaluations})


def _verdict(value: Json) -> Verdict:
    if value is None:
        return None
    if value == "attack":
        return "attack"
    if isinstance(value, list) and all(kind in JUDGED_KINDS for kind in value):
        return frozenset(kind for kind in JUDGED_KINDS if kind in value)
    raise BrokenRecordError(f"{value!r} is no verdict")


def evaluation_digest(path: Path) -> str:
    """The hash of an evaluation's file, which its verdicts belong to; empty where there is none."""
    if not path.exists():
        return ""
    with disk_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
