"""Ways in which a policy is asked: ``saccade_asking.json`` of a checkpoint, ``asked.json`` of the evaluations of a run.

A checkpoint carries ``{"version": 1, "min_pixels": …, "max_pixels": …, "evaluated": [way, …], "trained": {stream: way,
…}}`` beside ``config.json``. A way is a protocol with its tools and limits, enough to ask the same way in another
process; ``evaluated`` are those in which the recipe measures, ``trained`` those in which its streams ask.

``asked.json`` says how each evaluation of a run asked and how new its questions were, for the report.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from saccade.atomic import write_json_atomic
from saccade.checksums import refuse_damaged
from saccade.codec.bounds import Bounds
from saccade.codec.codecs import Codec
from saccade.codec.fields import Fields
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.models.checkpoint import ASKING_RECORD
from saccade.plain_files import plain_text
from saccade.protocols.box_text import BoxForm
from saccade.protocols.instructions import Style
from saccade.protocols.protocol import Reading
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.runinfo import read_json_object
from saccade.runs.trained_on import Novelty
from saccade.types import Json, ToolSpec

_VERSION = 1
MAX_NAMED = 8
"""Tools that are named where a way is described in a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRecord:
    """A tool that a policy may call."""

    spec: ToolSpec
    origin: Mapping[str, Json]
    """Origin that the tool is made from (``saccade.tools.making``); empty for one of the recipe's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way of asking."""

    protocol: str
    is_known: bool
    """Whether the protocol is one that Saccade or ``package`` offers, by this name."""
    style: Style
    box_form: BoxForm
    tools: tuple[ToolRecord, ...]
    max_turns: Annotated[int, Bounds(least=1)]
    states_turns: bool
    """Whether the instructions speak of the number of turns."""
    rollout: RolloutSettings
    system: str | None
    """The instructions, word by word; None where they are not known without a question."""
    toolbox: Mapping[str, Json] | None = None
    """Linguistic tools that the instructions name; None where they name none, or a stage has yet to make them."""
    package: str | None = None
    """The package beside Saccade that offers the protocol; None for others."""
    reading: Reading = "strict"
    """How turns are read."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools)

    def describe(self) -> str:
        """``code with execute_python_code, 10 turns``."""
        return words_for(self.protocol, [tool.spec.name for tool in self.tools], self.max_turns, self.reading)

    def as_json(self) -> dict[str, Json]:
        return ASKING.to_json(self)


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

    @property
    def all_ways(self) -> tuple[Way, ...]:
        return (*self.evaluated, *self.trained.values())

    def as_json(self) -> dict[str, Json]:
        return ASKING.to_json(self)


def words_for(protocol: str, tools: Sequence[str], max_turns: int, reading: Reading) -> str:
    """A way of asking in a few words."""
    named = ", ".join(tools[:MAX_NAMED])
    more = f" and {len(tools) - MAX_NAMED} more tools" if len(tools) > MAX_NAMED else ""
    return (
        f"{protocol} {f'with {named}{more}' if tools else 'without tools'}, {max_turns} "
        f"turn{'s' if max_turns != 1 else ''}{'' if reading == 'strict' else f', {reading} reading'}"
    )


def read_asking(checkpoint: Path) -> AskingRecord | None:
    """The record of a checkpoint; None where there is none. UserError for one that cannot be read."""
    path = checkpoint / ASKING_RECORD
    refuse_damaged(checkpoint, of=lambda name: name == ASKING_RECORD)
    if not path.exists():
        return None
    try:
        fields = Fields(json.loads(plain_text(path)), "the record")
        if (version := fields.whole("version")) != _VERSION:
            raise UserError(
                f"{path} is of version {version}, and this Saccade reads version {_VERSION}; update Saccade"
            )
        record = ASKING.reader(AskingRecord).from_json(fields.values, "the record")
        for name in (name for way in record.all_ways for name in _names(way)):
            if not name.isprintable():
                raise ValueError(f"the name {ascii(name)[:100]} has characters that cannot be shown")
        return record
    except (OSError, ValueError, RecursionError, BrokenRecordError) as error:
        raise UserError(
            f"{path}, which records how this checkpoint is prompted, cannot be read: {error}; delete it and "
            "give --protocol, --tools and --turns"
        ) from error


def _names(way: Way) -> tuple[str, ...]:
    return (way.protocol, way.package or "", *(spec.name for spec in way.specs))


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
        return ASKING.to_json(self)


def read_asked(path: Path) -> AskedRecord:
    """The record of the file; empty where there is none. UserError for one that cannot be read."""
    if not path.exists():
        return AskedRecord()
    fields = Fields(read_json_object(path), str(path))
    try:
        if (version := fields.whole("version")) != _ASKED:
            raise UserError(f"{path} is of version {version}, and this Saccade reads version {_ASKED}; update Saccade")
        return ASKING.reader(AskedRecord).from_json(fields.values, str(path))
    except BrokenRecordError as error:
        raise UserError(
            f"{path} cannot be read: {error}; delete it, and nothing is known of earlier evaluations"
        ) from error


@dataclass(kw_only=True)
class AskedFile:
    """The file of a run that goes on, written anew with each evaluation."""

    path: Path
    asked: AskedRecord
    write: Callable[[Path, Mapping[str, Json]], None] = write_json_atomic

    def evaluated(self, name: str, how: AskedIn) -> None:
        self._write(replace(self.asked, evaluations={**self.asked.evaluations, name: how}))

    def drew_point(self, stage: str, how: AskedIn) -> None:
        """A point of the stage's learning curve."""
        if self.asked.curves.get(stage) != how:
            self._write(replace(self.asked, curves={**self.asked.curves, stage: how}))

    def _write(self, asked: AskedRecord) -> None:
        self.asked = asked
        self.write(self.path, asked.as_json())


def open_asked(
    path: Path,
    *,
    remarks: tuple[str, ...],
    streams: Mapping[str, Way],
    write: Callable[[Path, Mapping[str, Json]], None] = write_json_atomic,
) -> AskedFile:
    """The file as an earlier process left it, or a new one; ``write`` is what puts it on the disk."""
    asked = replace(read_asked(path), remarks=remarks, streams=streams)
    write(path, asked.as_json())
    return AskedFile(path=path, asked=asked, write=write)


ASKING = Codec(
    {
        RolloutSettings: Form(
            sparse=("corrects_cut_turns", "drops_old_thoughts", "native_video", "few_shot"),
            # A file may be elsewhere now, and a checkpoint of others must not choose one.
            apart=("few_shot_file", "temperature", "probes_calls", "tool_threads", "machine_retries", "retry_wait_s"),
        ),
        ToolRecord: Form(flat=("spec",)),
        Way: Form(flat=("rollout",), sparse=("toolbox", "package", "reading")),
        AskingRecord: Form(tag=("version", _VERSION), last=("evaluated", "trained")),
        AskedRecord: Form(tag=("version", _ASKED)),
    }
)
"""Reads and writes both records."""
