"""A data set: where its rows lie, and what a row asks."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from saccade.errors import UserError
from saccade.tasks.rows.answers import choice_texts
from saccade.tasks.rows.fields import Row, RowError, RowValue, as_number, short
from saccade.tasks.rows.pages import RowScope
from saccade.tasks.rows.text_files import RowsOfFile
from saccade.types import AnswerKind

TaskType = Literal[
    "charts", "geometry", "mathematics", "maps and infographics", "science", "documents", "scenes", "general", "tables"
]
"""The paper's groups of sets (appendix A); the sets kept for evaluation are put where they belong."""

NO_ANSWER = "no answer is published"
NO_IMAGE = "asked without an image"
NO_SHORT_ANSWER = "no short answer that can be checked"
_MARK = re.compile(r"\s*<image\s*(\d*)>\s*")
_MARK_AT_END = re.compile(r"^(?:\[image \d+\]\s*)+|(?:\s*\[image \d+\])+$")
_FIRST_OPTION = re.compile(r"\s*(?P<open>\(?)A(?P<close>[).:])\s*")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """The question of a row, before its images are opened."""

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
    """The regions that the answer depends on, in pixels of the first image."""
    boxes_key: str = ""
    scope: RowScope = RowScope()
    """Where it is asked; with a scope a question may come without images."""
    buckets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that is in order but cannot be used; ``why`` is counted."""

    why: str


RowReading = Problem | LeftOut

ReadRow = Callable[[Row], Sequence[RowReading]]
"""The questions of a row, in either of its layouts, mostly one; ``RowError`` names the key that is wrong."""

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


def files_at(patterns: Sequence[str], images: Sequence[str] = (), *, parts: Sequence[str] = ()) -> Files:
    """The files of the first pattern that fits any, each with the first of the image folders that is there.

    ``{split}`` in either stands for the split. Where the folder itself has none, one of the folders in it may be the
    release; all of ``parts`` are, for a release that comes in several. Image folders are looked for in the release,
    beside the file and in the folder that was given; without any the images lie beside the file. The files raise
    ``UserError`` where nothing fits, and where several folders do.
    """

    def find(root: Path, split: str) -> Iterator[tuple[Path, Path]]:
        wanted = [pattern.format(split=split) for pattern in patterns]
        folders = [folder.format(split=split) for folder in images]
        for release, file in _files_of(root, wanted, parts, split):
            beside = release if images else file.parent
            yield file, next(_folders_at((release, file.parent, root), folders), beside)

    return find


def _files_of(root: Path, wanted: Sequence[str], parts: Sequence[str], split: str) -> list[tuple[Path, Path]]:
    """The folder of the release and a file of it, for each file of the first pattern that fits any."""
    for pattern in wanted:
        if files := sorted(root.glob(pattern)):
            return [(root, file) for file in files]
    below = sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    for pattern in wanted:
        fitting = {folder: files for folder in below if (files := sorted(folder.glob(pattern)))}
        if len(fitting) > 1 and not all(folder.name in parts for folder in fitting):
            names = ", ".join(folder.name for folder in fitting)
            raise UserError(f"{root}: several folders hold the split {split!r} ({names}); give the one that is meant")
        if fitting:
            return [(folder, file) for folder, files in fitting.items() for file in files]
    raise UserError(f"{root}: the folder holds no split {split!r} of this data set; looked for {list(wanted)}")


def _folders_at(places: Sequence[Path], names: Sequence[str]) -> Iterator[Path]:
    """Folders of these names, by name and then by place; ``*`` stands for any."""
    for name in names:
        for place in places:
            found = sorted(place.glob(name)) if "*" in name else [place / name]
            yield from (folder for folder in found if folder.is_dir())


def letter_of(index: RowValue, choices: Sequence[object], key: str) -> str:
    """The letter of the option with this number, counted from 0; a number in quotes is taken."""
    number = as_number(int(index) if isinstance(index, str) and index.strip().isdecimal() else index)
    if number is None or not number.is_integer() or not 0 <= number < len(choices):
        raise RowError(key, f"{short(index)} is not the number of one of the {len(choices)} options, counted from 0")
    return chr(ord("A") + int(number))


def without_image_marks(question: str) -> str:
    """The question without marks such as ``<image>`` and ``<image1>``; one inside a sentence stays, in words."""
    named = _MARK.sub(lambda match: f" [image {match[1] or 1}] ", question).strip()
    return _MARK_AT_END.sub("", named).strip()


def lettered_options(text: str, key: str) -> tuple[str, ...]:
    """The options of ``(A) 25 (B) 30``, ``A. 25`` and ``B. 30`` on lines, or ``A. 25; B. 30``.

    All are marked as the first is, in the alphabet's order. ``RowError`` names the key where they are not.
    """
    first = _FIRST_OPTION.match(text)
    if first is None:
        raise RowError(key, f"the options {short(text)} do not begin with (A), A. or A:")
    return choice_texts([option.strip(" ;\n\t") for option in options_after(first, r"(?<=[\s;])\s*")])


def options_after(first: re.Match[str], before: str) -> list[str]:
    """The options of a text from A on, as long as one letter follows the other; the last one's to the text's end.

    All are marked as the ``first``, by what its groups ``open`` and ``close`` hold; ``before`` is a pattern of what
    stands between an option and the next one's mark.
    """
    text, place = first.string, first.end()
    opening, closing = re.escape(first["open"]), re.escape(first["close"])
    options = []
    for letter in _LETTERS[1:]:
        mark = re.compile(f"{before}{opening}{letter}{closing}\\s*").search(text, place)
        if mark is None:
            break
        options.append(text[place : mark.start()].strip())
        place = mark.end()
    return [*options, text[place:].strip()]
