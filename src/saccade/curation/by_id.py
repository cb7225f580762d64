"""Files that say something about questions by their ids, one JSON object a line."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from saccade.errors import UserError
from saccade.tasks.readers.fields import required_text
from saccade.tasks.readers.rows import Row, RowError, json_lines

BAD_ROWS_SHOWN = 20

Value = TypeVar("Value")


def read_by_id(path: Path, value_of: Callable[[Row], Value]) -> dict[str, Value]:
    """Task id to what its row says. Raises UserError that names the file and its bad rows, those of an id again too."""
    values: dict[str, Value] = {}
    bad: list[str] = []
    try:
        for numbered in json_lines(path):
            try:
                if isinstance(numbered.row, RowError):
                    raise numbered.row
                task_id = required_text(numbered.row, "id")
                value = value_of(numbered.row)
                if task_id in values:
                    raise RowError("id", f"{task_id!r} stands there twice")
                values[task_id] = value
            except RowError as error:
                bad.append(f"  {path}, row {numbered.number}: {f'{error.key}: ' if error.key else ''}{error.why}")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if bad:
        more = [f"  and {len(bad) - BAD_ROWS_SHOWN} more"] if len(bad) > BAD_ROWS_SHOWN else []
        raise UserError("\n".join([f"{path}: {len(bad)} rows cannot be used", *bad[:BAD_ROWS_SHOWN], *more]))
    return values


def read_chains(path: Path) -> dict[str, str]:
    """Chains of thought in words, to be rewritten: ``{"id": …, "chain": "…"}``."""
    return read_by_id(path, lambda row: required_text(row, "chain"))
