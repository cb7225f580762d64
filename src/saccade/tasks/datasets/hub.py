"""Rows of a data set on the Hugging Face hub, or of a folder laid out like one there, images as stored bytes."""

from collections.abc import Iterator
from typing import Protocol

from saccade.errors import UserError
from saccade.tasks.readers.rows import NumberedRow, Row
from saccade.tasks.readers.tables import ROWS_AT_ONCE


class _Table(Protocol):
    """What is used of an Arrow table."""

    def to_pylist(self) -> list[Row]: ...


class _Dataset(Protocol):
    """What is used of ``datasets.Dataset``; the package is optional and has no types."""

    def with_format(self, kind: str) -> "_Dataset": ...

    def iter(self, *, batch_size: int) -> Iterator[_Table]: ...


def hub_rows(name: str, config: str | None, split: str) -> Iterator[NumberedRow]:
    """Each row with its number, a batch in memory at a time; ``UserError`` when the split cannot be loaded."""
    dataset = _load(name, config, split)
    number = 0
    # As Arrow, images stay what they are on disk: bytes or a path, not yet decoded.
    for table in dataset.with_format("arrow").iter(batch_size=ROWS_AT_ONCE):
        for row in table.to_pylist():
            number += 1
            yield NumberedRow(number, row)


def _load(name: str, config: str | None, split: str) -> _Dataset:
    try:
        import datasets
    except ImportError as error:
        raise UserError(f'reading {name!r} needs the package datasets: pip install "saccade[datasets]"') from error
    try:
        loaded: _Dataset = datasets.load_dataset(name, config, split=split)
    except (OSError, ValueError) as error:
        wanted = f"{name}:{config}" if config else name
        raise UserError(f"the split {split!r} of the data set {wanted!r} cannot be loaded ({error})") from error
    return loaded
