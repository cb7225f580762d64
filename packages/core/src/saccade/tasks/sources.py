"""Files and data sets in which questions lie: what a path or ``hf:name[:split]`` means, and its splits."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError
from saccade.media.decode import is_lfs_pointer
from saccade.tasks.rows.fields import NumberedRow
from saccade.tasks.rows.text_files import kind_of_file, open_text_rows
from saccade.tasks.splits import (
    ALL,
    FILE_KINDS,
    Splits,
    chosen_split,
    is_saved_dataset,
    measured_split,
    saved_splits,
    splits_of_folder,
    task_files,
    training_split,
)

HUB_PREFIX = "hf:"
_HUB_COPY = re.compile(r"/datasets--[^/]+/snapshots/[0-9a-f]{7,40}(?:/|$)")
"""In the path of a data set that was fetched from a hub."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file or data set: the name for messages, its rows, the folder of its images."""

    name: str
    stem: str
    rows: Iterator[NumberedRow]
    image_root: Path

    @property
    def is_from_hub(self) -> bool:
        return is_from_hub(self.name)


def is_from_hub(name: Path | str) -> bool:
    """Whether what lies there was written on another machine, by ``hf:`` or fetched from the hub."""
    return str(name).startswith(HUB_PREFIX) or _HUB_COPY.search(str(name)) is not None


def splits_of(path: Path | str) -> Splits:
    """The splits of what ``read_tasks`` reads; none of a single file, or where the path itself names one.

    Files are known where they lie in a folder of their own; one name alone may be a split too.
    """
    name, split = _hub_parts(path)
    folder = Path(name)
    if split or folder.is_file():
        return {}
    if is_saved_dataset(folder):
        return dict.fromkeys(saved_splits(folder), ())
    if _is_by_library(path):
        from saccade.tasks.rows.tables import dataset_splits

        return dict.fromkeys(dataset_splits(name), ())
    return splits_of_files(path)


def splits_of_files(path: Path | str) -> Splits:
    """As ``splits_of``, of a folder whose files are read here."""
    folder = Path(_hub_parts(path)[0])
    if not folder.is_dir() or is_saved_dataset(folder) or _is_by_library(path):
        return {}
    found = splits_of_folder(folder)
    return {} if list(found) == [""] else found


def measured_part(path: Path | str) -> str | None:
    """The split to measure on of what ``read_tasks`` reads; None where there are not several."""
    splits = splits_of(path)
    return measured_split(splits, path) if len(splits) > 1 else None


def _hub_parts(path: Path | str) -> tuple[str, str | None]:
    """The name, or the path, and the split that it names itself."""
    text = str(path)
    if not text.startswith(HUB_PREFIX):
        return text, None
    name, _, split = text.removeprefix(HUB_PREFIX).partition(":")
    return name, split or None


def _is_by_library(path: Path | str) -> bool:
    """Whether the library ``datasets`` reads it: a name on the hub, or a folder by ``hf:`` without files at its top."""
    name, split = _hub_parts(path)
    return str(path).startswith(HUB_PREFIX) and (bool(split) or not Path(name).is_dir() or not task_files(Path(name)))


def sources_of(path: Path | str, image_root: Path | None, split: str | None) -> Iterator[FileSource]:
    """The files or the data set of what ``read_tasks`` reads, one after the other."""
    name, named = _hub_parts(path)
    folder = Path(name)
    if split and named:
        raise UserError(f"{path} names a split, and --split {split} another; give one of them")
    if is_saved_dataset(folder) or _is_by_library(path):
        if split == ALL:
            raise UserError(f"{path}: splits of a data set are read one by one; choose one with --split NAME")
        wanted = named or (split and chosen_split(splits_of(path), split, path))
        from saccade.tasks.rows.tables import dataset_rows

        root = image_root or (folder if folder.is_dir() else Path.cwd())
        yield FileSource(str(path), folder.name, dataset_rows(name, wanted), root)
        return
    for file in _files_of(folder, split):
        stem = Path(file.name.removesuffix(".gz")).stem
        yield FileSource(str(file), stem, _rows_of(file), image_root or file.parent)


def _files_of(path: Path, split: str | None) -> Sequence[Path]:
    """The file, or those of a folder that belong to a split, by default that to train on."""
    if not path.is_dir():
        if split:
            raise UserError(f"{path} is a file, which has no splits; leave out --split {split}")
        return [path]
    if split == ALL:
        return task_files(path) or sorted(file for files in splits_of_folder(path).values() for file in files)
    splits = splits_of_folder(path)
    if not splits:
        raise UserError(f"{path}: the folder holds no file of tasks ({', '.join(FILE_KINDS)})")
    return splits[chosen_split(splits, split, path) if split else training_split(splits, path)]


def _rows_of(file: Path) -> Iterator[NumberedRow]:
    if not file.is_file():
        raise UserError(f"{file}: there is no such file; give a file, a folder or hf:name[:split]")
    if kind_of_file(file) not in FILE_KINDS:
        raise UserError(f"{file}: cannot tell the kind of file; it must end in {', '.join(FILE_KINDS)}")
    if is_lfs_pointer(file):
        raise UserError(f"{file}: is a Git LFS pointer and not the file itself; run git lfs pull in its folder")
    if kind_of_file(file) != ".parquet":
        return open_text_rows(file)
    from saccade.tasks.rows.tables import parquet_rows

    return parquet_rows(file)
