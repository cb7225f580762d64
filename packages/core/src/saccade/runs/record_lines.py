"""Lines of a file of records: where each trajectory stands, so that one is read by its offset and no file whole.

A trajectory's line ends with its segments, the token arrays, which are most of it. What stands before them, its head,
is JSON of its own and says everything but the tokens.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from saccade.codec.fields import Fields
from saccade.codec.text import parsed
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.runs.records import check_version
from saccade.runs.segments import MAX_LINE_BYTES, SEGMENTS, RecordPlace
from saccade.runs.trajectory_json import CODEC
from saccade.types import Json, Trajectory

_BEGIN = b'{"kind": "trajectory", '
_BUFFER_BYTES = 1 << 20
_IDS, _LOGPROBS, _ADVANTAGES = b'"ids": [', b'"logprobs": [', b', "advantages": '
_ACTION = b'"role": "action"'
_MAX_TRIES = 8

_read_numbers = msgspec.json.Decoder(list[float]).decode


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenCounts:
    """Tokens of a trajectory, without the tokens."""

    total: int
    actions: int
    entropy: float | None
    """Mean -log p of the sampled tokens in nats: an estimate of the policy's entropy; None without any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScannedLine:
    """A trajectory of a file without its tokens."""

    place: RecordPlace
    task: Mapping[str, Json]
    trajectory: Trajectory | Mapping[str, Json]
    """Without its segments: itself, or as JSON where it has to be read field by field."""
    advantages: Json
    tokens: TokenCounts


_MAX_PASSED_BYTES = 1 << 30
"""Of a line that is too long; one that goes on is no line, but a file with a hole."""


@dataclass(kw_only=True)
class RecordScan:
    """One pass over a file; ``notes`` name what was damaged, ``stage`` and ``step`` are what its header says."""

    path: Path
    stage: str = ""
    step: int = 0
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[ScannedLine]:
        """The trajectories that can be read. UserError when the file cannot be opened or is of another version."""
        try:
            file = open_plain(self.path, buffer_bytes=_BUFFER_BYTES)
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {error.strerror}") from error
        tasks: dict[str, tuple[int, int, Mapping[str, Json]]] = {}
        with file:
            for number, offset, line in self._raw_lines(file):
                try:
                    found = self._read(line, offset, tasks)
                except (ValueError, OverflowError, RecursionError, BrokenRecordError) as error:
                    self._note(number, str(error)[:300])
                    continue
                if found is not None:
                    yield found

    def _note(self, number: int, what: str) -> None:
        self.notes.append(f"{self.path.name}:{number}: {what}; the line is left out")

    def _raw_lines(self, file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
        number, offset = 0, 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            length = len(line)
            if length == MAX_LINE_BYTES and not line.endswith(b"\n"):
                self._note(number, f"longer than {MAX_LINE_BYTES >> 20} MiB")
                while (rest := file.readline(1 << 20)) and not rest.endswith(b"\n"):
                    length += len(rest)
                    if length > _MAX_PASSED_BYTES:
                        self.notes.append(f"{self.path.name}: nothing after line {number} is read")
                        return
                length += len(rest)
            elif not line.endswith(b"\n"):
                self._note(number, "it has no end; was the file cut?")
            else:
                yield number, offset, line
            offset += length

    def _read(
        self, line: bytes, offset: int, tasks: dict[str, tuple[int, int, Mapping[str, Json]]]
    ) -> ScannedLine | None:
        known = trajectory_head(line)
        if known is not None:
            return self._scanned_line(line, offset, known[0], known[1].task_id, known[1], Fields({}), tasks)
        head, values = head_of(line)
        fields = Fields(values)
        kind = fields.option("kind", ("header", "task", "trajectory"))
        if kind == "header":
            check_version(self.path, fields.whole("version"))
            self.stage, self.step = fields.text("stage"), fields.whole("step")
            return None
        if kind == "task":
            tasks[fields.text("id")] = (offset, len(line), fields.values)
            return None
        trajectory = {**fields.values, "segments": []}
        return self._scanned_line(line, offset, head, fields.text("task_id"), trajectory, fields, tasks)

    def _scanned_line(
        self,
        line: bytes,
        offset: int,
        head: int,
        task_id: str,
        trajectory: Trajectory | Mapping[str, Json],
        fields: Fields,
        tasks: dict[str, tuple[int, int, Mapping[str, Json]]],
    ) -> ScannedLine:
        if task_id not in tasks:
            raise BrokenRecordError(f"task {task_id[:100]!r} does not come before its trajectory")
        task_offset, task_length, task = tasks[task_id]
        tokens, advantages = _rest(line, head, fields)
        place = RecordPlace(
            offset=offset, length=len(line), head=head, task_offset=task_offset, task_length=task_length
        )
        return ScannedLine(place=place, task=task, trajectory=trajectory, advantages=advantages, tokens=tokens)


def head_of(line: bytes) -> tuple[int, Json]:
    """Bytes of a line before its segments, and what they say; all of it where the two are not told apart.

    Raises ValueError or RecursionError for a line that is no JSON.
    """
    at = line.find(SEGMENTS)
    for _ in range(_MAX_TRIES):
        if at < 0:
            break
        try:
            return at, parsed(line[:at] + b"}")
        except (ValueError, RecursionError):
            # The same key inside the arguments of a call; only behind a whole object is it the line's own.
            at = line.find(SEGMENTS, at + 1)
    return len(line), parsed(line)


def _rest(line: bytes, head: int, fields: Fields) -> tuple[TokenCounts, Json]:
    """What the tokens come to, and the advantages behind them."""
    if head == len(line):
        return _parsed_counts(fields), fields.values.get("advantages")
    total, actions, count, summed, at = 0, 0, 0, 0.0, head
    while (ids := line.find(_IDS, at)) >= 0:
        end = line.index(b"]", ids)
        length = _commas(line, ids + len(_IDS), end)
        is_action = line.rfind(_ACTION, at, ids) >= 0
        total += length
        actions += length if is_action else 0
        at = end
        if is_action and line.startswith(b", " + _LOGPROBS, end + 1):
            start = end + 2 + len(_LOGPROBS)
            at = line.index(b"]", start)
            values = numbers_in(line[start : at + 1])
            count += len(values)
            summed += sum(values)
    counted = TokenCounts(total=total, actions=actions, entropy=-summed / count if count else None)
    told = line.find(_ADVANTAGES, at)
    advantages = parsed(line[told + len(_ADVANTAGES) : line.rindex(b"}")]) if told >= 0 else None
    return counted, advantages


def _parsed_counts(fields: Fields) -> TokenCounts:
    """Of a line that was not written by Saccade."""
    segments = fields.objects("segments")
    actions = [segment for segment in segments if segment.values.get("role") == "action"]
    logprobs = [number for segment in actions if segment.has("logprobs") for number in segment.numbers("logprobs")]
    return TokenCounts(
        total=sum(len(segment.items("ids")) for segment in segments),
        actions=sum(len(segment.items("ids")) for segment in actions),
        entropy=-sum(logprobs) / len(logprobs) if logprobs else None,
    )


def _commas(line: bytes, start: int, end: int) -> int:
    return line.count(b",", start, end) + 1 if end > start else 0


def numbers_in(listed: bytes) -> list[float]:
    """The numbers of a JSON list in Python's dialect; ValueError for anything else."""
    try:
        return _read_numbers(listed)
    except msgspec.DecodeError:
        return list(Fields({"logprobs": json.loads(listed)}).numbers("logprobs"))


def trajectory_head(line: bytes) -> tuple[int, Trajectory] | None:
    """Bytes of a line before its segments, and its trajectory without them; None where the slower way is to look."""
    at = line.find(SEGMENTS)
    if at < 0 or not line.startswith(_BEGIN):
        return None
    try:
        return at, CODEC.reader(Trajectory).strict(line[:at] + SEGMENTS + b"]}")
    except (ValueError, RecursionError):
        return None
