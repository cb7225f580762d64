"""Tasks from the user's own files, checked row by row before any work starts."""

import itertools
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.media.video import MAX_FRAMES
from saccade.tasks.rows.fields import RowError, WatchedRow
from saccade.tasks.rows.images import ImageReader
from saccade.tasks.rows.layouts import LAYOUTS, detect, reader_of, unknown_layout, with_renaming
from saccade.tasks.rows.parts import IMAGE_KEYS, RowDefaults, with_defaults
from saccade.tasks.rows.tasks import BadRow, TaskRow, lines_of, row_identity, task_of, with_agreement
from saccade.tasks.rows.videos import VideoReader
from saccade.tasks.sources import FileSource, sources_of
from saccade.types import AnswerKind, ImageRef, Task

logger = logging.getLogger(__name__)

AnyRow = TypeVar("AnyRow")

REASONS_IN_DETAIL = 20
_COUNTED_ROWS = 1024
"""Between two looks at the clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFile:
    """The tasks of a file in its order, and the rows that were left out."""

    tasks: tuple[Task, ...]
    skipped: tuple[BadRow, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict)
    """Of each task without an id of its own, a hash of its row as it is written: new pictures do not change it."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """Keys that nothing reads, with the number of their rows."""


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
    box_frame: str | None = None,
    min_iou: float | None = None,
    split: str | None = None,
) -> TaskFile:
    """The tasks of a JSONL, JSON, parquet or CSV file, of a folder of them, or of ``hf:name[:split]``.

    Of a folder with several splits (``saccade.tasks.splits``) only ``split`` is read: by default that to train on.
    ``layout`` is ``auto`` (decided for each row by its keys) or a key of ``LAYOUTS``. Relative image
    paths start at ``image_root``, by default the folder of the file, and stay inside it. A row's id is its own, else
    a hash of what it asks, with a number where a row is repeated. ``answer_kind``, ``box_frame`` and ``min_iou``
    hold for rows that name none; without them, kind and frame are inferred from the answer. Every image is decoded
    once here; of a video at most ``max_frames`` frames are taken, evenly spaced; a row without either is asked as text
    alone, which is said unless ``images_follow``, such as pages that are yet to be found. ``UserError`` lists the bad
    rows, unless they are to be skipped; without a single good row it is raised all the same.
    """
    tasks: list[Task] = []
    bad: list[BadRow] = []
    first_seen: dict[str, str] = {}
    identities: dict[str, str] = {}
    written: dict[str, tuple[ImageRef, ...]] = {}
    repeated = 0
    understood = _Understood()
    for read in task_rows(
        path,
        media=media,
        layout=layout,
        image_root=image_root,
        max_frames=max_frames,
        defaults=RowDefaults(answer_kind=answer_kind, box_frame=box_frame, min_iou=min_iou),
        split=split,
    ):
        result = read.task
        if isinstance(result, Task) and result.id in first_seen and not read.has_own_id:
            repeated += 1
            result = replace(result, id=_free_id(result.id, first_seen))
        elif isinstance(result, Task) and result.id in first_seen:
            result = RowError("id", f"{result.id!r} is also the task of {first_seen[result.id]}")
        if isinstance(result, RowError):
            bad.append(read.bad_row(result))
        else:
            first_seen[result.id] = f"{read.file}, row {read.number}"
            tasks.append(result)
            if not read.has_own_id and read.row is not None:
                identity = row_identity(read.row)
                # Two shards may hold the same row about pictures of the same name in other folders.
                is_other = written.setdefault(identity, result.images) != result.images
                identities[result.id] = result.id if is_other else identity
            understood.add(read, result)
    check_bad_rows(path, bad, len(tasks), skip_bad_rows=skip_bad_rows)
    understood.say()
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
    return TaskFile(
        tasks=tuple(tasks),
        skipped=tuple(bad),
        identities=identities,
        unread=sum(understood.unread.values(), Counter[str]()),
    )


def task_rows(
    path: Path | str,
    *,
    media: MediaStore,
    layout: str = "auto",
    image_root: Path | None = None,
    max_frames: int = MAX_FRAMES,
    defaults: RowDefaults = RowDefaults(),
    split: str | None = None,
) -> Iterator[TaskRow]:
    """Every row of what ``read_tasks`` reads, with its task or why there is none; ids may come again."""
    if max_frames < 1:
        raise UserError(f"max_frames={max_frames} shows nothing of a video; use 1 or more")
    if layout != "auto" and layout not in LAYOUTS:
        raise UserError(f"layout {layout!r} is not known; choose auto, {', '.join(LAYOUTS)}")
    defaults.check()
    for source in sources_of(path, image_root, split):
        yield from counted_rows(_tasks_of(source, media, layout, max_frames, defaults), source.name)


def counted_rows(rows: Iterator[AnyRow], name: str, every_s: float = 10.0) -> Iterator[AnyRow]:
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
    lines = [f"{path}: {len(bad)} of {len(bad) + good} rows cannot be used", *lines_of(bad, REASONS_IN_DETAIL)]
    if good:
        lines.append("Fix these rows, or leave them out with --skip-bad-rows (skip_bad_rows=True).")
    return "\n".join(lines)


def _tasks_of(
    source: FileSource, media: MediaStore, layout: str, max_frames: int, defaults: RowDefaults
) -> Iterator[TaskRow]:
    images = ImageReader(source.image_root, media, from_hub=source.is_from_hub)
    videos = VideoReader(images, media, max_frames)
    found = None if layout == "auto" else layout
    for numbered in source.rows:
        number, row = numbered.number, numbered.row
        if isinstance(row, RowError):
            yield TaskRow(source.name, number, None, row)
            continue
        found = found if layout != "auto" else detect(row) or found
        if found is None:
            yield TaskRow(source.name, number, row, unknown_layout(row))
            continue
        try:
            watched = WatchedRow(row)
            parts = with_agreement(with_defaults(reader_of(found)(watched), defaults))
            where = f"{source.name}, row {number}"
            task, guessed = task_of(parts, images, videos, where=where, stem=source.stem)
        except RowError as error:
            yield TaskRow(source.name, number, row, with_renaming(error, row))
        else:
            yield TaskRow(source.name, number, row, task, bool(parts.id), parts.notes, guessed, watched.unread)


def _by_file() -> dict[str, Counter[str]]:
    return defaultdict(Counter)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Understood:
    """What was understood of the rows of each file: in how many of them."""

    left_out: dict[str, Counter[str]] = field(default_factory=_by_file)
    frames: dict[str, Counter[str]] = field(default_factory=_by_file)
    """Frames that were guessed for boxes."""
    unread: dict[str, Counter[str]] = field(default_factory=_by_file)
    options: dict[str, Counter[str]] = field(default_factory=_by_file)
    """Unread keys that look like the options of a right answer."""

    def add(self, read: TaskRow, task: Task) -> None:
        if read.notes:
            self.left_out[read.file].update(dict.fromkeys(read.notes, 1))
        if read.guessed_frame:
            self.frames[read.file].update([read.guessed_frame])
        if read.unread:
            # Few rows have keys that nothing reads.
            from saccade.tasks.rows.unread import unread_options

            self.unread[read.file].update(read.unread)
            self.options[read.file].update(unread_options(read.row, read.unread, task))

    def say(self) -> None:
        """Lines about what is left out and not read, and the frame of boxes that name none.

        UserError where the rows of one file look as if they had several frames.
        """
        for file, counts in self.left_out.items():
            words = ", ".join(f"{what} ({rows} rows)" for what, rows in counts.most_common())
            logger.warning("%s: left out: %s", file, words)
        for file, found in self.frames.items():
            if len(found) > 1:
                seen = " and ".join(f"{rows} rows like {frame}" for frame, rows in found.most_common())
                raise UserError(
                    f"{file}: boxes look in {seen}; say which frame is meant with --box-frame, or by box_frame in the "
                    "rows"
                )
            for frame, rows in found.items():
                logger.warning(
                    "%s: the boxes of %d answers are taken to be in %s; --box-frame, or box_frame in the rows, says it",
                    *(file, rows, frame),
                )
        if self.unread:
            from saccade.tasks.rows.unread import say_what_is_unread

            say_what_is_unread(self.unread, self.options)


def _is_text_alone(task: Task) -> bool:
    """Without images, and without documents whose pages could become some."""
    return not task.images and task.corpus is None and task.document is None and task.gold_pages is None


def _free_id(content_id: str, taken: Collection[str]) -> str:
    """The id of a row that repeats an earlier one, by how often it came before: ``…-2``, ``…-3``."""
    return next(name for count in itertools.count(2) if (name := f"{content_id}-{count}") not in taken)
