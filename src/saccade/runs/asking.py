"""Ways in which a policy is asked: ``saccade_asking.json`` of a checkpoint, ``asked.json`` of the evaluations of a run.

A checkpoint carries ``{"version": 1, "min_pixels": …, "max_pixels": …, "evaluated": [way, …], "trained": {stream: way,
…}}`` beside ``config.json``. A way is a protocol with its tools and limits, enough to ask the same way in another
process; ``evaluated`` are those in which the recipe measures, ``trained`` those in which its streams ask.

``asked.json`` says how each evaluation of a run asked and how new its questions were, for the report.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from saccade.atomic import write_json_atomic
from saccade.errors import UserError
from saccade.models.loading import ASKING_RECORD
from saccade.protocols.box_text import BoxForm
from saccade.protocols.instructions import Style
from saccade.protocols.linguistic_tools import LinguisticToolbox
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.runinfo import read_json_object
from saccade.runs.task_json import BrokenRecordError, Fields
from saccade.runs.trained_on import Novelty, novelty_from_json
from saccade.types import Json, ToolSpec

_VERSION = 1
MAX_NAMED = 8
"""Tools that are named where a way is described in a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRecord:
    """A tool that a policy may call."""

    spec: ToolSpec
    origin: Mapping[str, Json]
    """Origin that the tool is made from (``saccade.runs.recorded_tools``); empty for one of the recipe's own."""

    def as_json(self) -> dict[str, Json]:
        spec = self.spec
        return {
            "name": spec.name,
            "description": spec.description,
            "parameters": dict(spec.parameters),
            "origin": dict(self.origin),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way of asking."""

    protocol: str
    is_known: bool
    """Whether the protocol is one of Saccade's own, by this name."""
    style: Style
    box_form: BoxForm
    tools: tuple[ToolRecord, ...]
    max_turns: int
    states_turns: bool
    """Whether the instructions speak of the number of turns."""
    rollout: RolloutSettings
    system: str | None
    """The instructions, word by word; None where they are not known without a question."""
    toolbox: LinguisticToolbox | None = None
    """Linguistic tools that the instructions name; None where they name none, or a stage has yet to make them."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools)

    def describe(self) -> str:
        """``code with execute_python_code, 10 turns``."""
        return words_for(self.protocol, [tool.spec.name for tool in self.tools], self.max_turns)

    def as_json(self) -> dict[str, Json]:
        return {
            "protocol": self.protocol,
            "is_known": self.is_known,
            "style": self.style,
            "box_form": self.box_form,
            "tools": [tool.as_json() for tool in self.tools],
            "max_turns": self.max_turns,
            "states_turns": self.states_turns,
            "max_turn_tokens": self.rollout.max_turn_tokens,
            "max_tokens": self.rollout.max_tokens,
            "top_p": self.rollout.top_p,
            "top_k": self.rollout.top_k,
            "system": self.system,
            **({} if self.toolbox is None else {"toolbox": self.toolbox.to_json()}),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class AskingRecord:
    """The whole record."""

    evaluated: tuple[Way, ...]
    trained: Mapping[str, Way] = field(default_factory=dict)
    min_pixels: int | None = None
    """Limit of a picture as the policy sees it; None where the model's family has another rule."""
    max_pixels: int | None = None

    @property
    def ways(self) -> tuple[Way, ...]:
        """Ways in which the policy is measured: the recipe's evaluations, or its streams where it has none."""
        return self.evaluated or tuple(self.trained.values())

    def as_json(self) -> dict[str, Json]:
        return {
            "version": _VERSION,
            "min_pixels": self.min_pixels,
            "max_pixels": self.max_pixels,
            "evaluated": [way.as_json() for way in self.evaluated],
            "trained": {stream: way.as_json() for stream, way in self.trained.items()},
        }


def words_for(protocol: str, tools: Sequence[str], max_turns: int) -> str:
    """A way of asking in a few words."""
    named = ", ".join(tools[:MAX_NAMED])
    more = f" and {len(tools) - MAX_NAMED} more tools" if len(tools) > MAX_NAMED else ""
    return (
        f"{protocol} {f'with {named}{more}' if tools else 'without tools'}, {max_turns} "
        f"turn{'s' if max_turns != 1 else ''}"
    )


def read_asking(checkpoint: Path) -> AskingRecord | None:
    """The record of a checkpoint; None where there is none. UserError for one that cannot be read."""
    path = checkpoint / ASKING_RECORD
    if not path.exists():
        return None
    try:
        fields = Fields(json.loads(path.read_text(encoding="utf-8")), "the record")
        if (version := fields.whole("version")) != _VERSION:
            raise UserError(f"{path} is of version {version}, and this Saccade reads version {_VERSION}; update it")
        return AskingRecord(
            evaluated=tuple(map(way_from_json, fields.objects("evaluated"))),
            trained={name: way_from_json(Fields(way, name)) for name, way in fields.mapping("trained").items()},
            min_pixels=fields.whole("min_pixels") if fields.has("min_pixels") else None,
            max_pixels=fields.whole("max_pixels") if fields.has("max_pixels") else None,
        )
    except (OSError, ValueError, RecursionError, BrokenRecordError) as error:
        raise UserError(
            f"{path}, which says how this checkpoint is asked, cannot be read: {error}; delete it and say how with "
            "--protocol, --tools and --turns"
        ) from error


def way_from_json(fields: Fields) -> Way:
    """Raises BrokenRecordError."""
    max_turns = fields.whole("max_turns")
    if max_turns < 1:
        raise fields.wrong("max_turns", "1 or more")
    try:
        rollout = RolloutSettings(
            max_turn_tokens=fields.whole("max_turn_tokens"),
            max_tokens=fields.whole("max_tokens"),
            top_p=fields.number("top_p"),
            top_k=fields.whole("top_k"),
        )
    except UserError as error:
        raise BrokenRecordError(str(error)) from error
    try:
        toolbox = LinguisticToolbox.from_json(fields.mapping("toolbox")) if fields.has("toolbox") else None
    except UserError as error:
        raise BrokenRecordError(str(error)) from error
    return Way(
        protocol=fields.text("protocol"),
        is_known=fields.truth("is_known"),
        style=fields.option("style", get_args(Style)),
        box_form=fields.option("box_form", get_args(BoxForm)),
        tools=tuple(map(_tool_from_json, fields.objects("tools"))),
        max_turns=max_turns,
        states_turns=fields.truth("states_turns"),
        rollout=rollout,
        system=fields.text("system") if fields.has("system") else None,
        toolbox=toolbox,
    )


def _tool_from_json(fields: Fields) -> ToolRecord:
    spec = ToolSpec(
        name=fields.text("name"), description=fields.text("description"), parameters=fields.mapping("parameters")
    )
    return ToolRecord(spec=spec, origin=fields.mapping("origin"))


_ASKED = 1
"""Version of ``asked.json``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedIn:
    """An evaluation, or the curve of a training stage."""

    way: Way
    novelty: Novelty
    first_pass: str | None = None
    """The evaluation whose boxes cut out what this one saw."""
    views: tuple[str, ...] = ()
    """Views that it saw beside the original: ``crops``, ``union``."""

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
    """Sentences of the plan on how it asks."""
    evaluations: Mapping[str, AskedIn] = field(default_factory=dict)
    curves: Mapping[str, AskedIn] = field(default_factory=dict)
    """The last point of each training stage."""
    streams: Mapping[str, Way] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        return {
            "version": _ASKED,
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
        if (version := fields.whole("version")) != _ASKED:
            raise UserError(f"{path} is of version {version}, and this Saccade reads version {_ASKED}; update it")
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
