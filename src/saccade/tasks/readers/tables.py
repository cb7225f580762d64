"""Rows of Arrow tables: parquet files and Hugging Face ``datasets``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.errors import UserError
from saccade.tasks.readers.rows import NumberedRow, Row

ROWS_AT_ONCE = 64
"""Rows in memory together; each may carry its images' bytes."""

SAVED_DATASET_FILES = ("dataset_dict.json", "state.json")
"""One of them marks a saved data set; ``dataset_info.json`` does not, LLaMA-Factory writes one too."""


class _Table(Protocol):
    """What is used of an Arrow table."""

    def to_pylist(self) -> list[Row]: ...


class _Dataset(Protocol):
    """What is used of ``datasets.Dataset``; the package is optional and has no types."""

    def with_format(self, kind: str) -> "_Dataset": ...

    def iter(self, *, batch_size: int) -> Iterator[_Table]: ...


def parquet_rows(path: Path) -> Iterator[NumberedRow]:
    """Rows of a parquet file, a batch at a time; ``UserError`` when the file is damaged."""
    number = 0
    try:
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield NumberedRow(number, row)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: cannot be read as parquet after row {number} ({error})") from error


def is_saved_dataset(directory: Path) -> bool:
    """Whether ``datasets.save_to_disk`` wrote this directory."""
    return any((directory / name).is_file() for name in SAVED_DATASET_FILES)


def dataset_rows(name: str, split: str | None) -> Iterator[NumberedRow]:
    """Rows of a data set that ``save_to_disk`` wrote, or of one on the Hugging Face hub, images as stored bytes.

    Without ``split``: ``train``, or the only split there is.
    """
    dataset = _load(name, split)
    number = 0
    # As Arrow, images stay what they are on disk: bytes or a path, not yet decoded.
    for table in dataset.with_format("arrow").iter(batch_size=ROWS_AT_ONCE):
        for row in table.to_pylist():
            number += 1
            yield NumberedRow(number, row)


def _load(name: str, split: str | None) -> _Dataset:
    try:
        import datasets
    except ImportError as error:
        raise UserError(f'reading {name!r} needs the package datasets: pip install "saccade[datasets]"') from error
    try:
        if not Path(name).is_dir():
            loaded = datasets.load_dataset(name, split=split)
        else:
            loaded = datasets.load_from_disk(name)
    except (OSError, ValueError) as error:
        raise UserError(f"the data set {name!r} cannot be loaded ({error})") from error
    if isinstance(loaded, datasets.Dataset):
        if split is not None and Path(name).is_dir():
            raise UserError(f"the data set {name!r} has no splits; leave out {split!r}")
        whole: _Dataset = loaded
        return whole
    wanted = split or ("train" if "train" in loaded else next(iter(loaded)) if len(loaded) == 1 else "")
    if wanted not in loaded:
        raise UserError(f"the data set {name!r} has no split {wanted!r}; choose one of {', '.join(loaded)}")
    part: _Dataset = loaded[wanted]
    return part
