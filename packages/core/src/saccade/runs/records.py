"""Trajectories on disk, one JSON object per line: a header, then each task once, before its trajectories.

``{"kind": "header", "version": 2, "stage": ..., "step": ...}``, ``{"kind": "task", ...}``,
``{"kind": "trajectory", ...}``. The JSON is Python's dialect: a NaN that a model wrote stays a bare NaN.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.codec.codecs import Codec, Reader
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.plain_files import open_plain, plain_lines
from saccade.runs.position import Position
from saccade.runs.segments import SEGMENTS, RecordPlace
from saccade.runs.trajectory_json import FORMS
from saccade.types import Attempt, ImageRef, Json, Task, Trajectory

if TYPE_CHECKING:
    from saccade.learner.step_figures import NonFiniteStep

_VERSION = 2
"""Version 1 had a score's parts without their weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeaderLine:
    """The first line of a file."""

    version: int
    stage: str
    step: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLine:
    """The line of a task, before those of its trajectories."""

    task: Task


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryLine:
    """The line of a trajectory."""

    trajectory: Trajectory
    advantages: tuple[float, ...] | None = None


Line = HeaderLine | TaskLine | TrajectoryLine

LINES = Codec(
    {
        **FORMS,
        HeaderLine: Form(tag=("kind", "header")),
        TaskLine: Form(tag=("kind", "task"), flat=("task",)),
        TrajectoryLine: Form(tag=("kind", "trajectory"), flat=("trajectory",), sparse=("advantages",)),
    }
)


def write_records(
    path: Path, position: Position, records: Iterable[Attempt], *, media: MediaStore, media_directory: Path
) -> tuple[RecordPlace, ...]:
    """Write a step's records in one step on disk, after the images that they mention; where each trajectory stands.

    Each image is exported once per hash. Raises UserError or MachineError when the disk does not take them.
    """
    lines: list[Line] = [HeaderLine(version=_VERSION, stage=position.stage, step=position.step)]
    tasks: dict[str, Task] = {}
    records = list(records)
    for record in records:
        task = record.task
        if tasks.get(task.id) != task:
            tasks[task.id] = task
            lines.append(TaskLine(task=task))
        lines.append(TrajectoryLine(trajectory=record.trajectory, advantages=record.advantages))
    export_images(records, media=media, media_directory=media_directory)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    written = [(line, f"{LINES.text(line)}\n".encode("ascii")) for line in lines]
    write_bytes_atomic(path, b"".join(text for _, text in written))
    return tuple(_places(written))


def _places(written: Iterable[tuple[Line, bytes]]) -> Iterator[RecordPlace]:
    offset, task_offset, task_length = 0, 0, 0
    for line, text in written:
        if isinstance(line, TaskLine):
            task_offset, task_length = offset, len(text)
        elif isinstance(line, TrajectoryLine):
            yield RecordPlace(
                offset=offset,
                length=len(text),
                head=text.rindex(SEGMENTS),
                task_offset=task_offset,
                task_length=task_length,
            )
        offset += len(text)


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
    for number, line in _lines(path):
        if isinstance(line, TaskLine):
            tasks[line.task.id] = line.task
        elif isinstance(line, TrajectoryLine):
            if line.trajectory.task_id not in tasks:
                task_id = line.trajectory.task_id
                raise UserError(f"{path}:{number}: task {task_id!r} does not come before its trajectory")
            yield Attempt(task=tasks[line.trajectory.task_id], trajectory=line.trajectory, advantages=line.advantages)


def position_of(path: Path) -> Position:
    """The stage and step that wrote a file of records. Raises UserError when it has no header."""
    for number, line in _lines(path):
        if not isinstance(line, HeaderLine):
            raise UserError(f"{path}:{number}: the first line must be a header")
        return Position(stage=line.stage, step=line.step)
    raise UserError(f"{path}:1: the file is empty; it must begin with a header")


def check_version(path: Path, version: int) -> None:
    if version != _VERSION:
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


def _lines(path: Path) -> Iterator[tuple[int, Line]]:
    """The lines with their numbers from 1."""
    reader: Reader[Line] = LINES.reader(HeaderLine, TaskLine, TrajectoryLine)
    try:
        file = open_plain(path)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    with file:
        for number, text in enumerate(plain_lines(file), start=1):
            try:
                line = reader.from_text(text, "the line")
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}:{number}: not JSON ({error}); was the file cut?") from None
            except BrokenRecordError as error:
                raise UserError(f"{path}:{number}: {error}") from None
            if isinstance(line, HeaderLine):
                check_version(path, line.version)
            yield number, line


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
            # Experts to replay are bytes, and many.
            "sequences": [{k: v for k, v in asdict(one).items() if k != "routed_experts"} for one in step.sequences],
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
