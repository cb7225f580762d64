"""Rows of a release that keeps them in JSON or parquet beside its pictures: a list, lines, or a file a question."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from saccade.errors import UserError
from saccade.tasks.rows.fields import Row, RowError, RowValue
from saccade.tasks.rows.tables import parquet_rows
from saccade.tasks.rows.text_files import open_text_rows

ReleaseRow = Callable[[Row, Path, int], Mapping[str, RowValue] | None]
"""A row of a file, the file and the row's number, from 1, in the TSV's columns; None where it is another benchmark's.

``image_path`` is a path below the release's folder, or a list of them.
"""


class NamedRow(dict[str, RowValue]):
    """A row that says which of its columns is missing."""

    def __missing__(self, name: str) -> RowValue:
        raise RowError(name, "is missing")


def release_rows(pattern: str, row: ReleaseRow) -> Callable[[Path], Iterator[Mapping[str, str]]]:
    """A reader of the folder's files of this pattern, for ``FileLayout.release_rows``.

    ``UserError`` names file, row and column of what is wrong.
    """
    return partial(_rows, pattern=pattern, row=row)


def _rows(folder: Path, *, pattern: str, row: ReleaseRow) -> Iterator[Mapping[str, str]]:
    for path in sorted(folder.glob(pattern)):
        for one in parquet_rows(path) if path.suffix == ".parquet" else open_text_rows(path):
            try:
                if isinstance(one.row, RowError):
                    raise one.row
                columns = row(NamedRow(one.row), path, one.number)
            except RowError as error:
                raise UserError(f"{path}, row {one.number}, column {error.key!r}: {error.why}") from error
            if columns is not None:
                yield {name: str(value) for name, value in columns.items() if value is not None and value != ""}


def shipped_picture(folder: Path, name: str) -> str:
    """The picture's path below the folder; some are named with another ending than they have."""
    others = (str(Path(name).with_suffix(ending)) for ending in (".png", ".jpg", ".jpeg", ".webp"))
    return next((one for one in (name, *others) if (folder / one).is_file()), name)
