"""How each evaluation of a run asked and how new its questions were: ``asked.json``, for the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.atomic import write_json_atomic
from saccade.errors import UserError
from saccade.runs.asking import Way, way_from_json
from saccade.runs.runinfo import read_json_object
from saccade.runs.task_json import BrokenRecordError, Fields
from saccade.runs.trained_on import Novelty, novelty_from_json
from saccade.types import Json

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedIn:
    """An evaluation, or the curve of a training stage."""

    way: Way
    novelty: Novelty
    first_pass: str | None = None
    """The evaluation whose boxes cut out what this one saw."""
    views: tuple[str, ...] = ()
    """What it saw beside the original: ``crops``, ``union``."""

    def as_json(self) -> dict[str, Json]:
        return {
            "way": self.way.as_json(),
            "novelty": self.novelty.as_json(),
            "first_pass": self.first_pass,
            "views": list(self.views),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedRecord:
    """Content of the file."""

    remarks: tuple[str, ...] = ()
    """What the plan has to say about how it asks."""
    evaluations: Mapping[str, AskedIn] = field(default_factory=dict)
    curves: Mapping[str, AskedIn] = field(default_factory=dict)
    """By training stage: the last point."""
    streams: Mapping[str, Way] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        return {
            "version": VERSION,
            "remarks": list(self.remarks),
            "evaluations": {name: one.as_json() for name, one in self.evaluations.items()},
            "curves": {name: one.as_json() for name, one in self.curves.items()},
            "streams": {name: way.as_json() for name, way in self.streams.items()},
        }


def read_asked(path: Path) -> AskedRecord:
    """The record of the file; empty where there is none. UserError for one that cannot be read."""
    if not path.exists():
        return AskedRecord()
    fields = Fields(read_json_object(path), str(path))
    try:
        if (version := fields.whole("version")) != VERSION:
            raise UserError(f"{path} is of version {version}, and this Saccade reads version {VERSION}; update it")
        return AskedRecord(
            remarks=fields.texts("remarks"),
            evaluations=_by_name(fields.fields("evaluations")),
            curves=_by_name(fields.fields("curves")),
            streams={name: way_from_json(Fields(way, name)) for name, way in fields.mapping("streams").items()},
        )
    except BrokenRecordError as error:
        raise UserError(f"{path} cannot be read: {error}") from error


@dataclass(kw_only=True)
class AskedFile:
    """The file of a run that goes on, written anew with each evaluation."""

    path: Path
    asked: AskedRecord

    def evaluated(self, name: str, how: AskedIn) -> None:
        self._write(replace(self.asked, evaluations={**self.asked.evaluations, name: how}))

    def drew_point(self, stage: str, how: AskedIn) -> None:
        """A point of the stage's learning curve."""
        if self.asked.curves.get(stage) != how:
            self._write(replace(self.asked, curves={**self.asked.curves, stage: how}))

    def _write(self, asked: AskedRecord) -> None:
        self.asked = asked
        write_json_atomic(self.path, asked.as_json())


def open_asked(path: Path, *, remarks: tuple[str, ...], streams: Mapping[str, Way]) -> AskedFile:
    """The file as an earlier process left it, or a new one."""
    file = AskedFile(path=path, asked=replace(read_asked(path), remarks=remarks, streams=streams))
    write_json_atomic(path, file.asked.as_json())
    return file


def _by_name(fields: Fields) -> dict[str, AskedIn]:
    return {name: _asked_in(Fields(one, name)) for name, one in fields.values.items()}


def _asked_in(fields: Fields) -> AskedIn:
    return AskedIn(
        way=way_from_json(fields.fields("way")),
        novelty=novelty_from_json(fields.fields("novelty")),
        first_pass=fields.text("first_pass") if fields.has("first_pass") else None,
        views=fields.texts("views"),
    )
