"""What a data set is: where its rows lie, and what a row asks."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from saccade.errors import UserError
from saccade.tasks.readers.fields import as_number, short
from saccade.tasks.readers.rows import NumberedRow, Row, RowError, RowValue
from saccade.types import AnswerKind

TaskType = Literal[
    "charts", "geometry", "mathematics", "maps and infographics", "science", "documents", "scenes", "general", "tables"
]
"""What the paper groups its sets by (appendix A); the sets kept for evaluation are put where they belong."""

NO_ANSWER = "no answer is published"
NO_IMAGE = "asked without an image"
NO_SHORT_ANSWER = "no short answer that can be checked"

_MARK = re.compile(r"\s*<image\s*(\d*)>\s*")
_MARK_AT_END = re.compile(r"^(?:\[image \d+\]\s*)+|(?:\s*\[image \d+\])+$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What a row asks, before its images are opened."""

    question: str
    answer: str
    kind: AnswerKind
    images: tuple[RowValue, ...]
    images_key: str = "image"
    answer_key: str = "answer"
    id: str | None = None
    """Unique in the split; None where the data set gives none."""
    choices: tuple[str, ...] = ()
    tolerance: float = 0.0
    accepted: tuple[str, ...] = ()
    boxes: RowValue = None
    """What the answer depends on, in pixels of the first image."""
    boxes_key: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that is in order but cannot be used; ``why`` is counted."""

    why: str


Asked = Problem | LeftOut

ReadRow = Callable[[Row], Sequence[Asked]]
"""What a row asks, in either of its layouts, mostly one question; ``RowError`` names the key that is wrong."""

RowsOfFile = Callable[[Path], Iterator[NumberedRow]]

Files = Callable[[Path, str], Iterator[tuple[Path, Path]]]
"""The files of a split in the folder of a release, each with the folder of its images."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hub:
    """Where a data set lies on the Hugging Face hub, with its images."""

    name: str
    config: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    """Our name of a split to the hub's, where they differ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSet:
    """A data set that can be read by name."""

    name: str
    """In small letters: family and source of its tasks, and what its metric goes by."""
    title: str
    task_type: TaskType
    read: ReadRow
    files: Files
    rows: RowsOfFile
    splits: Mapping[str, str] = field(default_factory=dict)
    """Our name of a split (``train``, ``validation``, ``test``) to the release's, where they differ."""
    split_key: str | None = None
    """Where one file holds several splits: the key that says which."""
    hub: Hub | None = None
    as_published: Callable[[Problem], Problem] | None = None
    """The problem as the set's own script counts its answer, where we are stricter."""
    train_size: int = 0
    """Questions that the paper trains on (table 5); 0 for a set that it only evaluates on."""
    test_size: int = 0


def files_at(patterns: Sequence[str], images: Sequence[str] = ()) -> Files:
    """The files of the first pattern that fits any, each with the first of the image folders that is there.

    ``{split}`` in either stands for the split. Without an image folder the images lie beside the file. The files
    raise ``UserError`` where nothing fits.
    """

    def find(root: Path, split: str) -> Iterator[tuple[Path, Path]]:
        wanted = [pattern.format(split=split) for pattern in patterns]
        found = next((sorted(files) for pattern in wanted if (files := list(root.glob(pattern)))), [])
        if not found:
            raise UserError(f"{root}: the folder holds no split {split!r} of this data set; looked for {wanted}")
        folders = [root / folder.format(split=split) for folder in images]
        folder = next((folder for folder in folders if folder.is_dir()), root)
        for file in found:
            yield file, folder if images else file.parent

    return find


def letter_of(index: RowValue, choices: Sequence[str], key: str) -> str:
    """The letter of the option with this number, counted from 0; a number in quotes is taken."""
    number = as_number(int(index) if isinstance(index, str) and index.strip().isdecimal() else index)
    if number is None or not number.is_integer() or not 0 <= number < len(choices):
        raise RowError(key, f"{short(index)} is not the number of one of the {len(choices)} options, counted from 0")
    return chr(ord("A") + int(number))


def without_image_marks(question: str) -> str:
    """The question without marks such as ``<image>`` and ``<image1>``; one inside a sentence stays, in words."""
    named = _MARK.sub(lambda match: f" [image {match[1] or 1}] ", question).strip()
    return _MARK_AT_END.sub("", named).strip()
