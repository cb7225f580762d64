"""Verdicts of a judge on wrong trajectories, kept in a run for its report: ``verdicts.json``.

``{"version": 1, "evaluations": {name: {"judge": …, "sha256": …, "verdicts": {place: ["E4"] | "attack" | null}}}}``;
the hash is that of the evaluation's file, since verdicts on other trajectories say nothing.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from saccade.atomic import read_errors, write_json_atomic
from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.evaluation.errors import JUDGED_KINDS, Verdict
from saccade.plain_files import open_plain
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.strict_json import finite_object
from saccade.types import Json

VERSION = 1
"""Of every file of a judge's words."""

Judged = TypeVar("Judged")


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedEvaluation:
    """A judge's verdicts by the place of the trajectory in the evaluation's file."""

    judge: str
    verdicts: Mapping[int, Verdict]


def read_verdicts(paths: RunPaths) -> dict[str, JudgedEvaluation]:
    """By evaluation, as far as their trajectories are still those. UserError for a file that cannot be read."""
    return read_judged(paths, paths.verdicts, _evaluation_from)


def write_verdicts(paths: RunPaths, judged: Mapping[str, JudgedEvaluation]) -> None:
    """Keeps the verdicts of these evaluations and no others."""
    write_judged(paths, paths.verdicts, {name: _evaluation_fields(one) for name, one in judged.items()})


def read_judged(paths: RunPaths, file: Path, read: Callable[[Fields], Judged]) -> dict[str, Judged]:
    """What a judge said of a run's evaluations, each read from its fields, as far as their files are still those."""
    if not file.exists():
        return {}
    try:
        fields = Fields(read_json_object(file))
        if (version := fields.whole("version")) != VERSION:
            raise UserError(f"{file} is of version {version}, and this Saccade reads version {VERSION}")
        every = {name: Fields(value, name) for name, value in fields.mapping("evaluations").items()}
        return {name: read(one) for name, one in every.items() if one.text("sha256") == _digest(paths.evaluation(name))}
    except (BrokenRecordError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {error}") from error


def write_judged(paths: RunPaths, file: Path, judged: Mapping[str, Mapping[str, Json]]) -> None:
    """Keeps what a judge said of these evaluations, with the hashes of their files."""
    evaluations: dict[str, Json] = {
        name: {**one, "sha256": _digest(paths.evaluation(name))} for name, one in judged.items()
    }
    write_json_atomic(file, finite_object({"version": VERSION, "evaluations": evaluations}))


def _evaluation_from(fields: Fields) -> JudgedEvaluation:
    verdicts = {int(place): _verdict(said) for place, said in fields.mapping("verdicts").items()}
    return JudgedEvaluation(judge=fields.text("judge"), verdicts=verdicts)


def _evaluation_fields(one: JudgedEvaluation) -> dict[str, Json]:
    verdicts: dict[str, Json] = {
        str(place): sorted(said) if isinstance(said, frozenset) else said for place, said in one.verdicts.items()
    }
    return {"judge": one.judge, "verdicts": verdicts}


def _verdict(value: Json) -> Verdict:
    if value is None:
        return None
    if value == "attack":
        return "attack"
    if isinstance(value, list) and all(kind in JUDGED_KINDS for kind in value):
        return frozenset(kind for kind in JUDGED_KINDS if kind in value)
    raise BrokenRecordError(f"{value!r} is no verdict")


def _digest(path: Path) -> str:
    """The hash of an evaluation's file, which its verdicts belong to; empty where there is none."""
    if not path.exists():
        return ""
    with read_errors(path), open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
