"""Trajectories on disk, one JSON object per line: a header, then each task once, before its trajectories.

``{"kind": "header", "version": 2, "stage": ..., "step": ...}``, ``{"kind": "task", ...}``,
``{"kind": "trajectory", ...}``. The JSON is Python's dialect: a NaN that a model wrote stays a bare NaN.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.record_places import SEGMENTS, RecordPlace
from saccade.runs.task_json import BrokenRecordError, Fields, task_from_json, task_to_json
from saccade.runs.trajectory_json import (
    trajectory_from_json,
    trajectory_to_json,
)
from saccade.types import Attempt, ImageRef, Json, Task

if TYPE_CHECKING:
    from saccade.learner.learner import NonFiniteStep

_VERSION = 2
"""Version 1 had a score's parts without their weights."""


def write_records(
    path: Path, position: Position, records: Iterable[Attempt], *, media: MediaStore, media_directory: Path
) -> tuple[RecordPlace, ...]:
    """Write a step's records in one step on disk, after the images that they mention; where each trajectory stands.

    Each image is exported once per hash. Raises UserError or MachineError when the disk does not take them.
    """
    header: dict[str, Json] = {"kind": "header", "version": _VERSION, "stage": position.stage, "step": position.step}
    lines = [header]
    tasks: dict[str, Task] = {}
    records = list(records)
    for record in records:
        task, trajectory = record.task, record.trajectory
        if tasks.get(task.id) != task:
            tasks[task.id] = task
            lines.append({"kind": "task", **task_to_json(task)})
        trained = {} if record.advantages is None else {"advantages": list(record.advantages)}
        lines.append({"kind": "trajectory", **trajectory_to_json(trajectory), **trained})
    export_images(records, media=media, media_directory=media_directory)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    written = [(line["kind"], (json.dumps(line) + "\n").encode("ascii")) for line in lines]
    write_bytes_atomic(path, b"".join(line for _, line in written))
    return tuple(_places(written))


def _places(written: Iterable[tuple[Json, bytes]]) -> Iterator[RecordPlace]:
    offset, task_offset, task_length = 0, 0, 0
    for kind, line in written:
        if kind == "task":
            task_offset, task_length = offset, len(line)
        elif kind == "trajectory":
            yield RecordPlace(
                offset=offset,
                length=len(line),
                head=line.rindex(SEGMENTS),
                task_offset=task_offset,
                task_length=task_length,
            )
        offset += len(line)


def export_images(records: Iterable[Attempt], *, media: MediaStore, media_directory: Path) -> None:
    """Each image that the records mention as a PNG file, once per hash."""
    images = {image.hash: image for record in records for image in images_of(record)}
    with disk_errors(media_directory):
        for image in images.values():
            media.export(image, media_directory)


def read_records(path: Path) -> Iterator[Attempt]:
    """The records of a file, one at a time.

    UserError that names file and line of a broken line, and for a file of another record version.
    """
    tasks: dict[str, Task] = {}
    for number, fields in _lines(path):
        try:
            kind = fields.option("kind", ("header", "task", "trajectory"))
            if kind == "header":
                check_version(path, fields)
            elif kind == "task":
                task = task_from_json(fields.values)
                tasks[task.id] = task
            elif kind == "trajectory":
                trajectory = trajectory_from_json(fields.values)
                if trajectory.task_id not in tasks:
                    raise BrokenRecordError(f"task {trajectory.task_id!r} does not come before its trajectory")
                advantages = fields.numbers("advantages") if fields.has("advantages") else None
                yield Attempt(task=tasks[trajectory.task_id], trajectory=trajectory, advantages=advantages)
        except BrokenRecordError as error:
            raise UserError(f"{path}:{number}: {error}") from None


def position_of(path: Path) -> Position:
    """The stage and step that wrote a file of records. Raises UserError when it has no header."""
    for number, fields in _lines(path):
        try:
            fields.option("kind", ("header",))
            check_version(path, fields)
            return Position(stage=fields.text("stage"), step=fields.whole("step"))
        except BrokenRecordError as error:
            raise UserError(f"{path}:{number}: {error}") from None
    raise UserError(f"{path}:1: the file is empty; it must begin with a header")


def check_version(path: Path, header: Fields) -> None:
    if (version := header.whole("version")) != _VERSION:
        raise UserError(
            f"{path} is of record version {version}, and this Saccade reads version {_VERSION}; use the version of "
            "Saccade that wrote the run, or run it again"
        )


def images_of(record: Attempt) -> list[ImageRef]:
    """Every image that a record mentions: the question's, the tokens', and what tools gave back."""
    images = [*record.task.images, *record.trajectory.images]
    for turn in record.trajectory.turns:
        images += turn.result.images if turn.result else ()
        images += turn.observation.images if turn.observation else ()
    return images


def _lines(path: Path) -> Iterator[tuple[int, Fields]]:
    """Line numbers from 1 and the JSON objects there."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    with file:
        for number, line in enumerate(file, start=1):
            try:
                yield number, Fields(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}:{number}: not JSON ({error}); was the file cut?") from None
            except BrokenRecordError as error:
                raise UserError(f"{path}:{number}: {error}") from None


logger = logging.getLogger(__name__)


def write_nonfinite(directory: Path, position: Position, steps: "Sequence[NonFiniteStep]") -> Path:
    """``<stage>-<step>.json``: of each skipped optimiser step its sums, its suspects and every sequence it was given.

    The JSON is Python's dialect, since what is looked for are NaN and Infinity.
    """
    path = directory / f"{position.stage}-{position.step:06d}.json"
    content: list[Mapping[str, Json]] = [
        {
            "gradient_norm": step.gradient_norm,
            "totals": dict(step.totals),
            "suspects": list(step.suspects),
            "sequences": [asdict(sequence) for sequence in step.sequences],
        }
        for step in steps
    ]
    with disk_errors(path):
        directory.mkdir(exist_ok=True)
    write_bytes_atomic(path, (json.dumps(content) + "\n").encode("ascii"))
    logger.warning(
        "step %d of stage %s gave no finite loss or gradient and changed no weight; its batch is in %s",
        position.step,
        position.stage,
        path,
    )
    return path
