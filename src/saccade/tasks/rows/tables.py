"""Rows of Arrow tables: parquet files and Hugging Face ``datasets``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from saccade.errors import UserError, missing_extra
from saccade.plain_files import check_plain, check_plain_below, plain_bytes
from saccade.tasks.rows.fields import NumberedRow, Row

ROWS_AT_ONCE = 64
"""Rows in memory together; each may carry its images' bytes."""

SAVED_DATASET_FILES = ("dataset_dict.json", "state.json")
"""One of them marks a saved data set; ``dataset_info.json`` does not, LLaMA-Factory writes one too."""


class _Table(Protocol):
    """The part of an Arrow table that is used here."""

    def to_pylist(self) -> list[Row]: ...


class _Dataset(Protocol):
    """The part of ``datasets.Dataset`` that is used here; the package is optional and has no types."""

    def with_format(self, kind: str) -> "_Dataset": ...

    def iter(self, *, batch_size: int) -> Iterator[_Table]: ...


def parquet_rows(path: Path) -> Iterator[NumberedRow]:
    """Rows of a parquet file, a batch at a time; ``UserError`` when the file is damaged."""
    number = 0
    try:
        with pq.ParquetFile(check_plain(path)) as table:
            for batch in table.iter_batches(batch_size=ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield NumberedRow(number, row)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: cannot be read as parquet after row {number} ({error})") from error


def is_saved_dataset(directory: Path) -> bool:
    """Whether ``datasets.save_to_disk`` wrote this directory."""
    return any((directory / name).is_file() for name in SAVED_DATASET_FILES)


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


def _refuse_outside_files(folder: Path) -> None:
    """UserError for a folder whose card names data files elsewhere: the library would open or fetch them."""
    for name in ("README.md", ".huggingface.yaml"):
        card = folder / name
        if not card.is_file():
            continue
        try:
            named = list(_data_files(plain_bytes(card).decode("utf-8", "replace")))
        except (yaml.YAMLError, RecursionError) as error:
            raise UserError(f"{card} cannot be read: {type(error).__name__}") from error
        for file in named:
            if "://" in file or Path(file).is_absolute() or ".." in Path(file).parts:
                raise UserError(f"{card} names the data file {file[:200]!r}, outside the folder; take the line out")


def _data_files(text: str) -> Iterator[str]:
    """What the configs of a card, or of the YAML at its head, name."""
    values = yaml.safe_load(text.split("---", 2)[1] if text.startswith("---") and text.count("---") > 1 else text)
    configs = values.get("configs") if isinstance(values, dict) else None
    for config in configs if isinstance(configs, list) else ():
        yield from _texts(config.get("data_files") if isinstance(config, dict) else None)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _load(name: str, split: str | None, config: str | None) -> _Dataset:
    try:
        import datasets
    except ImportError as error:
        raise missing_extra("datasets", "datasets", needed_for=f"reading {name!r}") from error
    is_saved = is_saved_dataset(Path(name))
    if not is_saved and Path(name).is_dir():
        _refuse_outside_files(Path(name))
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
    if isinstance(loaded, datasets.Dataset):
        if split is not None and is_saved:
            raise UserError(f"the data set {name!r} has no splits; leave out {split!r}")
        whole: _Dataset = loaded
        return whole
    wanted_split = split or ("train" if "train" in loaded else next(iter(loaded)) if len(loaded) == 1 else "")
    if wanted_split not in loaded:
        raise UserError(f"the data set {name!r} has no split {wanted_split!r}; choose one of {', '.join(loaded)}")
    chosen: _Dataset = loaded[wanted_split]
    return chosen


def _refuse_saved_elsewhere(folder: Path) -> None:
    """UserError for a saved data set whose record names files that are not beside it. ValueError for a damaged one."""
    for record in (folder / "state.json", *folder.glob("*/state.json")):
        said = json.loads(plain_bytes(record)) if record.is_file() else None
        files = said.get("_data_files") if isinstance(said, dict) else None
        for file in files if isinstance(files, list) else ():
            name = str(file.get("filename") if isinstance(file, dict) else file)
            if Path(name).name != name:
                raise UserError(f"{record} names the file {name[:200]!r}, outside of the data set")
