"""Rows of Arrow tables: parquet files and Hugging Face ``datasets``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.errors import UserError, missing_extra
from saccade.plain_files import check_plain, check_plain_below, plain_bytes
from saccade.tasks.rows.card import refuse_outside_files
from saccade.tasks.rows.fields import NumberedRow, Row
from saccade.tasks.splits import is_saved_dataset

ROWS_AT_ONCE = 64
"""Rows in memory together; each may carry its images' bytes."""


class _Table(Protocol):
    """The part of an Arrow table that is used here."""

    def to_pylist(self) -> list[Row]: ...


class _Dataset(Protocol):
    """The part of ``datasets.Dataset`` that is used here; the package is optional and has no types."""

    def with_format(self, kind: str) -> "_Dataset": ...

    def iter(self, *, batch_size: int) -> Iterator[_Table]: ...


def parquet_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[NumberedRow]:
    """Rows of a parquet file, a batch at a time, all ``columns`` or those named; ``UserError`` for a damaged file."""
    number = 0
    try:
        with pq.ParquetFile(check_plain(path)) as table:
            for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    yield NumberedRow(number, row)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: cannot be read as parquet after row {number} ({error})") from error


def dataset_rows(name: str, split: str | None, config: str | None = None) -> Iterator[NumberedRow]:
    """Rows of a data set that ``save_to_disk`` wrote, or of one on the Hugging Face hub, images as stored bytes.

    A folder that ``save_to_disk`` did not write is read as if it lay on the hub. ``config`` is one of several sets
    under a name there. Without ``split``: ``train``, or the only split there is. ``UserError`` when the set, the
    config or the split cannot be loaded.
    """
    dataset = _load(name, split, config)
    number = 0
    # As Arrow, images stay what they are on disk: bytes or a path, not yet decoded.
    for table in dataset.with_format("arrow").iter(batch_size=ROWS_AT_ONCE):
        for row in table.to_pylist():
            number += 1
            yield NumberedRow(number, row)


def dataset_splits(name: str) -> list[str]:
    """The splits of a data set that the library ``datasets`` reads, as ``dataset_rows`` names them."""
    loaded = _load_dataset(name, None, None)
    return list(loaded) if isinstance(loaded, Mapping) else []


def _load(name: str, split: str | None, config: str | None) -> _Dataset:
    loaded = _load_dataset(name, split, config)
    if not isinstance(loaded, Mapping):
        if split is not None and is_saved_dataset(Path(name)):
            raise UserError(f"the data set {name!r} has no splits; leave out {split!r}")
        return loaded
    wanted_split = split or ("train" if "train" in loaded else next(iter(loaded)) if len(loaded) == 1 else "")
    if not wanted_split:
        raise UserError(f"the data set {name!r} has the splits {', '.join(loaded)}; choose one with --split NAME")
    if wanted_split not in loaded:
        raise UserError(f"the data set {name!r} has no split {wanted_split!r}; choose one of {', '.join(loaded)}")
    return loaded[wanted_split]


def _load_dataset(name: str, split: str | None, config: str | None) -> _Dataset | Mapping[str, _Dataset]:
    try:
        import datasets
    except ImportError as error:
        raise missing_extra("datasets", "datasets", needed_for=f"reading {name!r}") from error
    is_saved = is_saved_dataset(Path(name))
    if not is_saved and Path(name).is_dir():
        refuse_outside_files(Path(name))
    if is_saved and config is not None:
        raise UserError(f"the data set {name!r} was saved to disk and has no configs; leave out {config!r}")
    if Path(name).is_dir():
        check_plain_below(Path(name))
    try:
        if is_saved:
            _refuse_saved_elsewhere(Path(name))
            loaded = datasets.load_from_disk(name)
        else:
            loaded = datasets.load_dataset(name, config, split=split)
    except (OSError, ValueError, ImportError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        wanted = f"{name}:{config}" if config else name
        part = f"the split {split!r} of " if split is not None and not is_saved else ""
        raise UserError(f"{part}the data set {wanted!r} cannot be loaded ({error})") from error
    found: _Dataset | Mapping[str, _Dataset] = loaded
    return found


def _refuse_saved_elsewhere(folder: Path) -> None:
    """UserError for a saved data set whose record names files that are not beside it. ValueError for a damaged one."""
    for record in (folder / "state.json", *folder.glob("*/state.json")):
        said = json.loads(plain_bytes(record)) if record.is_file() else None
        files = said.get("_data_files") if isinstance(said, dict) else None
        for file in files if isinstance(files, list) else ():
            name = str(file.get("filename") if isinstance(file, dict) else file)
            if Path(name).name != name:
                raise UserError(f"{record} names the file {name[:200]!r}, outside of the data set")
