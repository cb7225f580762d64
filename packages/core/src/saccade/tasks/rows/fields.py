"""Values of a row with their types checked, its texts and their markers; a ``RowError`` names the key."""

import ast
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

RowValue = None | bool | int | float | str | bytes | Sequence["RowValue"] | Mapping[str, "RowValue"]
Row = Mapping[str, RowValue]

MAX_LITERAL_CHARACTERS = 1_000_000

IMAGE_MARKER = "<image>"
VIDEO_MARKER = "<video>"
MAX_QUESTION_CHARACTERS = 100_000

_ANSWER = re.compile(r"<(answer|CONCLUSION)>(.*?)</\1>", re.DOTALL)
_NUMBERED_MARKER = re.compile(r"<image ([1-9])>")
QWEN_MARKER = "<|vision_start|><|image_pad|><|vision_end|>"


class RowError(Exception):
    """One row cannot be used: ``key`` says where in it, empty for the whole row, and ``why`` says what is wrong."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key
        self.why = why


@dataclass(frozen=True, slots=True)
class NumberedRow:
    """A row, or why there is none, with its 1-based number: the line of a text file, else the row."""

    number: int
    row: Row | RowError


class WatchedRow(dict[str, RowValue]):
    """A row that knows which of its keys were read; asking whether a key is there, or for all keys, reads none."""

    __slots__ = ("read",)

    def __init__(self, row: Row, read: set[str] | None = None) -> None:
        super().__init__(row)
        self.read: set[str] = set() if read is None else read

    def __getitem__(self, key: str) -> RowValue:
        self.read.add(key)
        return dict.__getitem__(self, key)

    def get(self, key: str, default: RowValue = None) -> RowValue:  # type: ignore[override]
        self.read.add(key)
        return dict.get(self, key, default)

    @property
    def unread(self) -> tuple[str, ...]:
        """Keys with a value that nothing has read, in the row's order."""
        return tuple(key for key, value in self.items() if key not in self.read and value not in (None, "", [], {}))


def row_with(row: Row, values: Row, *, without: Collection[str] = ()) -> Row:
    """The row with other values, and without some keys; what is read of it counts as read of ``row``."""
    changed = {**{key: value for key, value in row.items() if key not in without}, **values}
    return WatchedRow(changed, row.read) if isinstance(row, WatchedRow) else changed


def optional_text(row: Row, *keys: str) -> str | None:
    """The first of the keys that is there, as stripped text; whole numbers are taken as their digits."""
    for key in keys:
        value = row.get(key)
        if value is None or value == "":
            continue
        if isinstance(value, str):
            if not is_encodable(value):
                raise RowError(key, "holds half a surrogate pair, which is no text")
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise RowError(key, f"must be text, not {kind_of(value)}")
    return None


def required_text(row: Row, key: str) -> str:
    text = optional_text(row, key)
    if not text:
        raise RowError(key, "is missing or empty")
    return text


def optional_number(row: Row, key: str, *, low: float, high: float) -> float | None:
    """A finite number within the bounds; text is read, for CSV."""
    value = row.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, str):
        try:
            number = as_number(float(value))
        except ValueError:
            number = None
    else:
        number = as_number(value)
    if number is None or not low <= number <= high:
        raise RowError(key, f"must be a number from {low:g} to {high:g}, not {short(value)}")
    return number


def as_number(value: RowValue) -> float | None:
    """A finite float, or None; a boolean is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def listed(value: RowValue, key: str) -> list[RowValue]:
    """A list as it is, nothing as an empty list, and a lone value as a list of one."""
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def texts(value: RowValue, key: str) -> tuple[str, ...]:
    """A list of texts, none of them empty."""
    found = [one.strip() for one in listed(value, key) if isinstance(one, str) and one.strip()]
    if len(found) != len(listed(value, key)):
        raise RowError(key, f"must be a list of texts, not {short(value)}")
    return tuple(found)


def literal(value: RowValue, key: str) -> RowValue:
    """Text that holds JSON or a Python literal, read; anything else as it is."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    if len(value) > MAX_LITERAL_CHARACTERS:
        raise RowError(key, f"has {len(value)} characters, more than {MAX_LITERAL_CHARACTERS}")
    try:
        return cast(RowValue, json.loads(value))
    except (ValueError, RecursionError):
        pass
    try:
        return cast(RowValue, ast.literal_eval(value.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise RowError(key, f"is neither JSON nor a Python literal: {short(value)}") from error


def mapping(value: RowValue, key: str) -> Row:
    if not isinstance(value, dict):
        raise RowError(key, f"must be an object with keys, not {kind_of(value)}")
    return value


def is_encodable(text: str) -> bool:
    """Whether the text can be written as UTF-8: JSON can spell lone surrogates, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def short(value: object) -> str:
    """At most 60 characters of a value, for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_worked(text: str) -> bool:
    """Whether a reply has a thought before its answer, or other parts beside it."""
    return "</think>" in text or (_ANSWER.search(text) is not None and _ANSWER.fullmatch(text.strip()) is None)


def final_answer(text: str, key: str) -> str:
    """The inside of ``<answer>``, or of LLaVA-CoT's ``<CONCLUSION>``; else what stands after a thought."""
    tagged = [inside for _, inside in _ANSWER.findall(text)]
    if len(tagged) > 1:
        raise RowError(key, f"the last message holds {len(tagged)} <answer> blocks; leave one")
    return str(tagged[0] if tagged else text.rpartition("</think>")[2]).strip()


def without_markers(question: str, images: int, key: str = "question", *, has_video: bool = False) -> str:
    """Markers at either end say nothing; one in the middle of a sentence becomes the image's number.

    The one marker of a video is left out wherever it stands; without images of its own, it may be an image's.
    """
    if not is_encodable(question):
        raise RowError(key, "holds half a surrogate pair, which is no text")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise RowError(key, f"has {len(question)} characters, more than {MAX_QUESTION_CHARACTERS}")
    question = question.replace(QWEN_MARKER, IMAGE_MARKER)
    numbers = [int(number) for number in _NUMBERED_MARKER.findall(question)]
    if images and numbers == list(range(1, images + 1)):
        question = _NUMBERED_MARKER.sub(IMAGE_MARKER, question)
    markers = (VIDEO_MARKER, IMAGE_MARKER) if has_video and not images else (VIDEO_MARKER,)
    count = sum(question.count(marker) for marker in markers)
    if has_video and count > 1:
        raise RowError(key, f"has {count} markers of videos; a question is about one video")
    if not has_video and question.lstrip().startswith(VIDEO_MARKER):
        raise RowError("videos", f"the text has a {VIDEO_MARKER} marker, but the row has no video")
    for marker in markers if has_video else ():
        question = question.replace(marker, "")
    pieces = question.split(IMAGE_MARKER)
    if len(pieces) > 1 and len(pieces) - 1 != images:
        raise RowError("images", f"{len(pieces) - 1} {IMAGE_MARKER} markers in the text but {images} images")
    body = pieces[0]
    for number, piece in enumerate(pieces[1:], start=1):
        is_inside = body.strip() and any(later.strip() for later in pieces[number:])
        body += (f"[image {number}]" if is_inside else "") + piece
    body = body.strip()
    if not body:
        raise RowError(key, "is empty but for image markers")
    return body
