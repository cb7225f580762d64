"""Parts of a row that all layouts share: pictures, options, targets, and notes of what is left out."""

import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from saccade.errors import UserError
from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    listed,
    literal,
    optional_number,
    optional_text,
    row_with,
    without_markers,
)
from saccade.tasks.rows.pages import RowScope, read_scope
from saccade.tasks.rows.videos import EVENT_KEYS, RowVideo, find_video
from saccade.types import AnswerKind

FRAMES = ("pixels", "0-1", "0-999", "0-1000")
"""Frames in which a row may write boxes: pixels of the original, or shares of its sides."""
LEAST_IOU = 0.01
IMAGE_KEYS = ("images", "image", "image_bytes", "image_path", "file_name", "filename", "file", "pictures")

_LETTERS = string.ascii_uppercase
_NUMBERED_IMAGE = re.compile(r"image_?([1-9])")
_OPTION_COLUMN = re.compile(r"(?:(?:option|choice)[ _]?|a(?=[0-9]))([0-9]|[a-h])", re.IGNORECASE)
TARGET_KEYS = ("boxes", "target_instances")
"""Keys of the boxes that a question is about; the first that is there is read."""
_UNREAD = ("objects", "bboxs", "bboxes", "masks", "points")
"""Keys that look like targets, and that no layout reads as such."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowDefaults:
    """What holds for rows of a file that say nothing else; None is inferred from each row."""

    answer_kind: AnswerKind | None = None
    box_frame: str | None = None
    min_iou: float | None = None

    def check(self) -> None:
        """UserError for a value that no row may have."""
        if self.box_frame is not None and self.box_frame not in FRAMES:
            raise UserError(f"box_frame {self.box_frame!r} is not one of {', '.join(FRAMES)}")
        if self.min_iou is not None and not LEAST_IOU <= self.min_iou <= 1:
            raise UserError(f"min_iou={self.min_iou} must lie between {LEAST_IOU} and 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowParts:
    """Parts of a row, before images are opened and answers are understood."""

    question: str
    answer: RowValue
    answer_key: str
    images: tuple[RowValue, ...]
    images_key: str
    id: str | None = None
    family: str | None = None
    choices: RowValue = None
    answer_kind: str | None = None
    metric: str | None = None
    """The published set whose metric judges the answer."""
    tolerance: float | None = None
    min_iou: float | None = None
    box_frame: str | None = None
    """The frame of the boxes of an answer, where the row says it."""
    difficulty: float | None = None
    targets: RowValue = None
    targets_key: str = TARGET_KEYS[0]
    wordings: Mapping[str, str] = field(default_factory=dict)
    accepted: RowValue = None
    """Further answers that count."""
    video: RowVideo | None = None
    """Instead of images."""
    event: RowValue = None
    event_key: str = EVENT_KEYS[0]
    scope: RowScope = RowScope()
    buckets: RowValue = None
    notes: tuple[str, ...] = ()
    """What of the row is left out, each a few words that name it."""


def with_defaults(parts: RowParts, defaults: RowDefaults) -> RowParts:
    """The parts with what holds for the whole file, where the row says nothing."""
    return replace(
        parts,
        answer_kind=parts.answer_kind or defaults.answer_kind,
        box_frame=parts.box_frame or defaults.box_frame,
        min_iou=parts.min_iou or defaults.min_iou,
    )


def row_parts(
    row: Row,
    question: str,
    answer: RowValue,
    answer_key: str,
    *,
    question_key: str = "question",
    notes: Sequence[str] = (),
) -> RowParts:
    """The parts of a row whose question and answer are found; ``RowError`` names the key."""
    images_key, row = with_pictures(row)
    video = find_video(row, images_key)
    images = () if video else tuple(listed(row.get(images_key), images_key))
    event_key = next((key for key in EVENT_KEYS if row.get(key)), EVENT_KEYS[0])
    targets_key = next((key for key in TARGET_KEYS if row.get(key)), TARGET_KEYS[0])
    unread = [f"`{key}`" for key in (*TARGET_KEYS, *_UNREAD) if row.get(key) and key != targets_key]
    second = [f"pictures of `{key}`" for key in ("image",) if images_key == "images" and row.get(key)]
    return RowParts(
        question=without_markers(question, pictures(images, video), question_key, has_video=video is not None),
        answer=answer,
        answer_key=answer_key,
        images=images,
        images_key=images_key,
        id=optional_text(row, "id", "question_id"),
        family=optional_text(row, "family", "category", "data_source", "datasource"),
        choices=_options(row),
        answer_kind=optional_text(row, "answer_kind"),
        metric=optional_text(row, "metric"),
        tolerance=optional_number(row, "tolerance", low=0.0, high=1.0),
        min_iou=optional_number(row, "min_iou", low=LEAST_IOU, high=1.0),
        box_frame=optional_text(row, "box_frame"),
        difficulty=optional_number(row, "difficulty", low=0.0, high=1.0),
        targets=row.get(targets_key),
        targets_key=targets_key,
        accepted=row.get("accepted"),
        video=video,
        event=row.get(event_key) if video or event_key == EVENT_KEYS[0] else None,
        event_key=event_key,
        scope=read_scope(row),
        buckets=row.get("buckets"),
        notes=(*notes, *unread, *second),
    )


def with_pictures(row: Row) -> tuple[str, Row]:
    """The key of the row's pictures, and the row with them as a list where they are one in text, or have a key each."""
    key = next((key for key in IMAGE_KEYS if row.get(key)), "")
    if not key:
        numbered = sorted((int(match[1]), name) for name in row if (match := _NUMBERED_IMAGE.fullmatch(name)))
        found = [row[name] for _, name in numbered if row[name] is not None]
        return "images", row_with(row, {"images": found}) if found else row
    value = row[key]
    if isinstance(value, str) and value.startswith("[") and value.rstrip().endswith("]"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = _python_list(value, key)
    return key, row_with(row, {key: value}) if isinstance(value, list) else row


def _python_list(text: str, key: str) -> RowValue:
    try:
        return literal(text, key)
    except RowError:
        return text


def pictures(images: Sequence[RowValue], video: RowVideo | None) -> int:
    """How many pictures a row's text may mark."""
    return len(images) if video is None else len(video.frames)


def _options(row: Row) -> RowValue:
    """``choices`` or ``options``, else the columns A, B, C, … or ``option0``, … or ``a0``, …, as far as they go."""
    for key in ("choices", "options"):
        if row.get(key) is not None:
            return row[key]
    named = sorted((match[1].casefold(), key) for key in row if (match := _OPTION_COLUMN.fullmatch(key)))
    if len(named) > 1:
        return [row[key] for _, key in named]
    ends = next((place for place, letter in enumerate(_LETTERS) if row.get(letter) in (None, "")), len(_LETTERS))
    return [row[letter] for letter in _LETTERS[:ends]] if ends > 1 else None
