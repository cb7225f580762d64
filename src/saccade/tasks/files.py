"""Tasks from the user's own files, checked row by row before any work starts."""

import hashlib
import itertools
import json
import logging
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.media.video import MAX_FRAMES
from saccade.tasks.rows.answers import choice_texts, golds_of
from saccade.tasks.rows.fields import NumberedRow, Row, RowError, texts
from saccade.tasks.rows.images import ImageReader, read_targets
from saccade.tasks.rows.layouts import IMAGE_KEYS, LAYOUTS, RowParts, detect
from saccade.tasks.rows.pages import RowScope
from saccade.tasks.rows.tables import dataset_rows, is_saved_dataset, parquet_rows
from saccade.tasks.rows.text_files import open_text_rows
from saccade.tasks.rows.videos import ReadVideo, VideoReader, read_event
from saccade.types import AnswerKind, ImageRef, Task

logger = logging.getLogger(__name__)

ROWS_IN_DETAIL = 20
_COUNTED_ROWS = 1024
"""Between two looks at the clock."""
HUB_PREFIX = "hf:"
FILE_KINDS = (".jsonl", ".json", ".parquet", ".csv")
NO_TASKS = ("dataset_info.json", "dataset_infos.json")
"""Files about data sets that lie beside them in a folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BadRow:
    """An unusable row of a file; ``key`` is empty when the whole row is meant."""

    file: str
    row: int
    """Counted from 1: the line in JSONL and CSV, else the row."""
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.row}: {f'{self.key}: ' if self.key else ''}{self.why}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFile:
    """The tasks of a file in its order, and the rows that were left out."""

    tasks: tuple[Task, ...]
    skipped: tuple[BadRow, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A row of a file beside its task."""

    file: str
    number: int
    row: Row | None
    """None where there is nothing to be read."""
    task: Task | RowError
    """The row's task, or why there is none."""
    has_own_id: bool = True
    """False where the task's id is a hash of what it asks."""

    def refused(self, error: RowError) -> BadRow:
        """The row as one that cannot be used."""
        return BadRow(file=self.file, row=self.number, key=error.key, why=error.why)


@dataclass(frozen=True, slots=True)
class _FileSource:
    """A file or data set: the name for messages, its rows, the folder of its images."""

    name: str
    stem: str
    rows: Iterator[NumberedRow]
    image_root: Path


def read_tasks(
    path: Path | str,
    *,
    media: MediaStore,
    layout: str = "auto",
    skip_bad_rows: bool = False,
    image_root: Path | None = None,
    max_frames: int = MAX_FRAMES,
    images_follow: bool = False,
    answer_kind: AnswerKind | None = None,
) -> TaskFile:
    """The tasks of a JSONL, JSON, parquet or CSV file, of a folder of them, or of ``hf:name[:split]``.

    ``layout`` is ``auto`` (decided per file by the first row that fits one) or a key of ``LAYOUTS``. Relative image
    paths start at ``image_root``, by default the folder of the file, and stay inside it. A row's id is its own, else
    a hash of what it asks, with a number where a row is repeated. ``answer_kind`` is the kind of answers of rows that
    name none; without it, it is inferred from the answer. Every image is decoded once here; of a video at most
    ``max_frames`` frames are taken, evenly spaced; a row without either is asked as text alone, which is said unless
    ``images_follow``, such as pages that are yet to be found. ``UserError`` lists the bad rows, unless they are to be
    skipped; without a single good row it is raised all the same.
    """
    tasks: list[Task] = []
    bad: list[BadRow] = []
    first_seen: dict[str, str] = {}
    repeated = 0
    for read in task_rows(
        path, media=media, layout=layout, image_root=image_root, max_frames=max_frames, answer_kind=answer_kind
    ):
        result = read.task
        if isinstance(result, Task) and result.id in first_seen and not read.has_own_id:
            repeated += 1
            result = replace(result, id=_free_id(result.id, first_seen))
        elif isinstance(result, Task) and result.id in first_seen:
            result = RowError("id", f"{result.id!r} is also the task of {first_seen[result.id]}")
        if isinstance(result, RowError):
            bad.append(read.refused(result))
        else:
            first_seen[result.id] = f"{read.file}, row {read.number}"
            tasks.append(result)
    check_bad_rows(path, bad, len(tasks), skip_bad_rows=skip_bad_rows)
    if repeated:
        logger.warning("%s: %d rows repeat an earlier row without an id of their own; they are kept", path, repeated)
    if not images_follow and (bare := sum(_is_text_alone(task) for task in tasks)):
        logger.warning(
            "%s: %d of %d rows have no image and are asked as text alone; images are read from %s",
            path,
            bare,
            len(tasks),
            ", ".join(IMAGE_KEYS),
        )
    return TaskFile(tasks=tuple(tasks), skipped=tuple(bad))


def task_rows(
    path: Path | str,
    *,
    media: MediaStore,
    layout: str = "auto",
    image_root: Path | None = None,
    max_frames: int = MAX_FRAMES,
    answer_kind: AnswerKind | None = None,
) -> Iterator[TaskRow]:
    """Every row of what ``read_tasks`` reads, with its task or why there is none; ids may come again."""
    if max_frames < 1:
        raise UserError(f"max_frames={max_frames} shows nothing of a video; use 1 or more")
    if layout != "auto" and layout not in LAYOUTS:
        raise UserError(f"layout {layout!r} is not known; choose auto, {', '.join(LAYOUTS)}")
    for source in _sources(path, image_root):
        yield from counted_rows(_tasks_of(source, media, layout, max_frames, answer_kind), source.name)


def counted_rows(rows: Iterator[TaskRow], name: str, every_s: float = 10.0) -> Iterator[TaskRow]:
    """The rows as they come; whoever waits for millions of them is told every so many seconds how far they are."""
    said_s = time.monotonic()
    for number, row in enumerate(rows, start=1):
        if number % _COUNTED_ROWS == 0 and time.monotonic() - said_s >= every_s:
            said_s = time.monotonic()
            logger.info("%s: %d rows read so far", name, number)
        yield row


def check_bad_rows(path: Path | str, bad: Sequence[BadRow], good: int, *, skip_bad_rows: bool) -> None:
    """``UserError`` that lists the bad rows, unless they are to be skipped and there are good ones."""
    if bad and (not skip_bad_rows or not good):
        raise UserError(_summary(path, bad, good))
    if not good:
        raise UserError(f"{path}: there is not a single row")


def _summary(path: Path | str, bad: Sequence[BadRow], good: int) -> str:
    lines = [f"{path}: {len(bad)} of {len(bad) + good} rows cannot be used"]
    lines += [f"  {row}" for row in bad[:ROWS_IN_DETAIL]]
    if len(bad) > ROWS_IN_DETAIL:
        lines.append(f"  and {len(bad) - ROWS_IN_DETAIL} more")
    lines.append("Fix these rows, or leave them out with --skip-bad-rows (skip_bad_rows=True).")
    return "\n".join(lines)


def _sources(path: Path | str, image_root: Path | None) -> Iterator[_FileSource]:
    text = str(path)
    if text.startswith(HUB_PREFIX):
        name, _, split = text.removeprefix(HUB_PREFIX).partition(":")
        directory = Path(name)
        if not directory.is_dir() or is_saved_dataset(directory) or split or not task_files(directory):
            root = image_root or (directory if directory.is_dir() else Path.cwd())
            yield _FileSource(text, directory.name, dataset_rows(name, split or None), root)
            return
        path = directory
    path = Path(path)
    if path.is_dir():
        if is_saved_dataset(path):
            yield _FileSource(str(path), path.name, dataset_rows(str(path), None), image_root or path)
            return
        files = task_files(path)
        if not files:
            raise UserError(f"{path}: the folder holds no file of tasks ({', '.join(FILE_KINDS)})")
    else:
        files = [path]
    for file in files:
        yield _FileSource(str(file), file.stem, _rows_of(file), image_root or file.parent)


def task_files(folder: Path) -> list[Path]:
    """Files of a folder that hold tasks, by their names."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in FILE_KINDS and file.name not in NO_TASKS)


def _rows_of(file: Path) -> Iterator[NumberedRow]:
    if not file.is_file():
        raise UserError(f"{file}: there is no such file; give a file, a folder or hf:name[:split]")
    if file.suffix.lower() not in FILE_KINDS:
        raise UserError(f"{file}: cannot tell the kind of file; it must end in {', '.join(FILE_KINDS)}")
    return parquet_rows(file) if file.suffix.lower() == ".parquet" else open_text_rows(file)


def _tasks_of(
    source: _FileSource, media: MediaStore, layout: str, max_frames: int, kind: AnswerKind | None
) -> Iterator[TaskRow]:
    images = ImageReader(source.image_root, media)
    videos = VideoReader(images, media, max_frames)
    found = None if layout == "auto" else layout
    for numbered in source.rows:
        number, row = numbered.number, numbered.row
        if isinstance(row, RowError):
            yield TaskRow(source.name, number, None, row)
            continue
        found = found or detect(row)
        if found is None:
            yield TaskRow(source.name, number, row, _unknown_layout(row))
            continue
        try:
            parts = LAYOUTS[found](row)
            parts = replace(parts, answer_kind=parts.answer_kind or kind)
            yield TaskRow(source.name, number, row, _task(parts, images, videos, source, number), bool(parts.id))
        except RowError as error:
            yield TaskRow(source.name, number, row, error)


def _unknown_layout(row: Row) -> RowError:
    keys = ", ".join(sorted(str(key) for key in row)[:12]) or "none"
    return RowError("", f"fits no layout ({', '.join(LAYOUTS)}); its keys are {keys}")


def _task(parts: RowParts, images: ImageReader, videos: VideoReader, source: _FileSource, number: int) -> Task:
    choices = choice_texts(parts.choices)
    kind, accepted = golds_of(
        parts.answer, parts.accepted, parts.answer_kind, choices, parts.question, key=parts.answer_key
    )
    answer, are_several = accepted[0], len({text.casefold() for text in accepted}) > 1
    where = f"{source.name}, row {number}"
    if parts.video is None:
        refs = tuple(
            images.read(value, parts.images_key, f"{where}, image {place}")
            for place, value in enumerate(parts.images, start=1)
        )
        shown = ReadVideo(images=refs, times_s=(), by_row=refs)
    else:
        shown = videos.read(parts.video, where)
    scope = parts.scope
    scope.check_shown(shown.images)
    return Task(
        id=parts.id or _content_id(parts.question, answer, choices, shown.images, scope),
        family=parts.family or source.stem,
        question=parts.question,
        answer=answer,
        answer_kind=kind,
        images=shown.images,
        choices=choices,
        tolerance=parts.tolerance or 0.0,
        targets=read_targets(parts.targets, parts.targets_key, shown.by_row),
        difficulty=0.5 if parts.difficulty is None else parts.difficulty,
        source=source.stem,
        metric=parts.metric or "",
        wordings=parts.wordings,
        accepted=accepted if are_several else (),
        frame_times_s=shown.times_s,
        event_s=read_event(parts.event, parts.event_key, shown.times_s),
        buckets=texts(parts.buckets, "buckets"),
        corpus=scope.corpus,
        document=scope.document,
        gold_pages=scope.gold_pages,
        shown_pages=scope.shown_pages,
    )


def _is_text_alone(task: Task) -> bool:
    """Without images, and without documents whose pages could become some."""
    return not task.images and task.corpus is None and task.document is None and task.gold_pages is None


def _free_id(content_id: str, taken: Collection[str]) -> str:
    """The id of a row that repeats an earlier one, by how often it came before: ``…-2``, ``…-3``."""
    return next(name for count in itertools.count(2) if (name := f"{content_id}-{count}") not in taken)


def _content_id(
    question: str, answer: str, choices: tuple[str, ...], images: tuple[ImageRef, ...], scope: RowScope
) -> str:
    """The same on every machine and in every file: it depends on what is asked about which pixels or pages alone."""
    where = [scope.content] if scope.content else []
    content = json.dumps([question, answer, choices, [image.hash for image in images], *where])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
