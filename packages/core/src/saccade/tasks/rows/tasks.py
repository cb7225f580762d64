"""The task of a row whose parts are found: pictures opened, answers understood, boxes brought to pixels."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.geometry import Box
from saccade.tasks.rows.answers import agreed_answers, choice_texts, golds_of
from saccade.tasks.rows.fields import Row, RowError, listed, texts
from saccade.tasks.rows.grounding import gold_boxes, guessed_frame, written_gold
from saccade.tasks.rows.images import ImageReader, read_targets
from saccade.tasks.rows.pages import RowScope
from saccade.tasks.rows.parts import RowParts
from saccade.tasks.rows.videos import ReadVideo, VideoReader, read_event
from saccade.types import ImageRef, Task

_NUMBERS_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class BadRow:
    """An unusable row of a file; ``key`` is empty when the whole row is meant."""

    file: str
    row: int
    """Counted from 1: the line in JSONL and CSV, else the row."""
    key: str
    why: str

    def __str__(self) -> str:
        return self.in_words(f"row {self.row}")

    def in_words(self, rows: str) -> str:
        return f"{self.file}, {rows}: {f'{self.key}: ' if self.key else ''}{self.why}"


def lines_of(bad: Sequence[BadRow], most: int) -> list[str]:
    """A line for each reason, at most so many, with the numbers of the first rows that it is true of."""
    alike: dict[str, list[BadRow]] = {}
    for one in bad:
        alike.setdefault(one.in_words("row"), []).append(one)
    listed_rows = list(alike.values())[:most]
    lines = [f"  {rows[0].in_words(_numbers(rows))}" for rows in listed_rows]
    more = len(bad) - sum(map(len, listed_rows))
    return [*lines, f"  and {more:,} more"] if more else lines


def _numbers(rows: Sequence[BadRow]) -> str:
    if len(rows) == 1:
        return f"row {rows[0].row}"
    first = [str(one.row) for one in rows[:_NUMBERS_SHOWN]]
    more = len(rows) - len(first)
    return f"rows {', '.join(first)} and {more:,} more" if more else f"rows {', '.join(first[:-1])} and {first[-1]}"


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
    notes: tuple[str, ...] = ()
    """What of the row is left out."""
    guessed_frame: str = ""
    """The frame in which the boxes of its answer were taken to be; empty where it is said, or there are none."""
    unread: tuple[str, ...] = ()
    """Keys of the row that nothing reads."""

    def bad_row(self, error: RowError) -> BadRow:
        """The row as one that cannot be used."""
        return BadRow(file=self.file, row=self.number, key=error.key, why=error.why)


def with_agreement(parts: RowParts) -> RowParts:
    """The parts with those ``answers`` that enough annotators gave, where a metric does not weigh them all; items of
    one list, points and boxes are no annotators' answers."""
    if parts.answer_key != "answers" or parts.metric or parts.answer_kind in ("list", "click", "boxes"):
        return parts
    agreed = agreed_answers(parts.answer, parts.answer_key)
    if agreed == parts.answer:
        return parts
    return replace(parts, answer=agreed, notes=(*parts.notes, "answers that fewer annotators gave"))


def task_of(parts: RowParts, images: ImageReader, videos: VideoReader, *, where: str, stem: str) -> tuple[Task, str]:
    """The task, and the frame that was guessed for the boxes of its answer.

    ``where`` names file and row in messages, ``stem`` the file. ``RowError`` names the key.
    """
    choices = choice_texts(parts.choices)
    boxes = _boxes(parts, choices)
    kind, accepted = (
        ("boxes", ())
        if boxes
        else golds_of(parts.answer, parts.accepted, parts.answer_kind, choices, parts.question, key=parts.answer_key)
    )
    shown = _read_pictures(parts, images, videos, where)
    scope = parts.scope
    scope.check_shown(shown.images)
    guessed = ""
    if boxes:
        guessed, accepted = _in_pixels(parts, boxes, shown.images)
    answer, are_several = accepted[0], len({text.casefold() for text in accepted}) > 1
    task = Task(
        id=parts.id or content_id(parts.question, answer, choices, shown.images, scope),
        family=parts.family or stem,
        question=parts.question,
        answer=answer,
        answer_kind=kind,
        images=shown.images,
        choices=choices,
        tolerance=parts.tolerance or 0.0,
        min_iou=parts.min_iou or 0.5,
        targets=read_targets(parts.targets, parts.targets_key, shown.by_row),
        difficulty=0.5 if parts.difficulty is None else parts.difficulty,
        source=stem,
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
    return task, guessed


def row_identity(row: Row) -> str:
    """A hash of the row as it is written: names of pictures, or their bytes where the row holds them."""
    content = json.dumps(sorted(row.items(), key=lambda item: str(item[0])), default=_stable_text)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _stable_text(value: object) -> str:
    return hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else str(value)


def _boxes(parts: RowParts, choices: tuple[str, ...]) -> list[tuple[Box, ...]]:
    """The boxes of the answer and of each other one that counts, as the row writes them; empty where it is no boxes."""
    if parts.answer_kind not in (None, "boxes") or choices:
        return []
    found = []
    for answer in (parts.answer, *listed(parts.accepted, "accepted")):
        boxes = gold_boxes(answer, parts.question, is_said=parts.answer_kind == "boxes")
        if boxes is None and parts.answer_kind is None:
            return []
        if boxes is None:
            raise RowError(parts.answer_key, "is no box; give [x1, y1, x2, y2], or a list of them for several things")
        found.append(boxes)
    return found


def _in_pixels(
    parts: RowParts, golds: Sequence[tuple[Box, ...]], images: Sequence[ImageRef]
) -> tuple[str, tuple[str, ...]]:
    """The guessed frame, empty where the row says it, and the answers in pixels of the first image's original."""
    if not images or parts.video is not None:
        raise RowError(parts.answer_key, "is a box, and the row has no picture that it could be on")
    frame = parts.box_frame or guessed_frame(golds[0], images[0], parts.question)
    written = tuple(written_gold(boxes, frame, images[0], parts.answer_key) for boxes in golds)
    return "" if parts.box_frame else frame, written


def _read_pictures(parts: RowParts, images: ImageReader, videos: VideoReader, where: str) -> ReadVideo:
    if parts.video is not None:
        return videos.read(parts.video, where)
    refs = tuple(
        images.read(value, parts.images_key, f"{where}, image {place}")
        for place, value in enumerate(parts.images, start=1)
    )
    return ReadVideo(images=refs, times_s=(), by_row=refs)


def content_id(
    question: str, answer: str, choices: tuple[str, ...], images: tuple[ImageRef, ...], scope: RowScope
) -> str:
    """The same on every machine and in every file: it depends on what is asked about which pixels or pages alone."""
    where = [scope.content] if scope.content else []
    content = json.dumps([question, answer, choices, [image.hash for image in images], *where])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
