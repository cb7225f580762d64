"""``completions/*.parquet`` of TRL: prompts, completions, rewards and advantages of a step."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.errors import UserError
from saccade.plain_files import check_plain
from saccade.runs.position import Position
from saccade.runs.segments import RecordPlace, Rows
from saccade.types import Attempt, Json
from saccade.viewer.store.foreign_lines import as_number, digest, foreign_row
from saccade.viewer.store.formats import Indexed, RecordFormat
from saccade.viewer.store.message_reading import completion_from, messages_from
from saccade.viewer.store.messages import Told, attempt_of
from saccade.viewer.store.shelf import Shelf

_OWN = frozenset({"step", "prompt", "completion", "advantage"})
_STEP = re.compile(r"_(\d{1,8})\.parquet$")
MAX_FILE_BYTES, MAX_ROWS = 1 << 30, 1_000_000


def _open_table(path: Path) -> pq.ParquetFile:
    """UserError for a file that is none."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UserError(f"{path.name} has more than {MAX_FILE_BYTES >> 30} GiB")
        file = pq.ParquetFile(check_plain(path))
        if not {"prompt", "completion"} <= set(file.schema_arrow.names) or file.metadata.num_rows > MAX_ROWS:
            raise UserError(f"{path.name} has no columns prompt and completion, or more than {MAX_ROWS:,} rows")
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path.name} is no Parquet file that can be read: {str(error)[:200]}") from error
    return file


def _rows(path: Path) -> Iterator[Mapping[str, Json]]:
    try:
        for batch in _open_table(path).iter_batches(batch_size=256):
            yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path.name} is damaged: {str(error)[:200]}") from error


def _index(path: Path, pictures: Path) -> Indexed:
    rows: Rows = []
    samples: dict[str, int] = {}
    shelf = Shelf(folder=pictures, root=path.parent, is_quick=True)
    for number, row in enumerate(_rows(path)):
        shelf.begin()
        attempt = _attempt(row, shelf)
        sample = samples[attempt.task.id] = samples.get(attempt.task.id, -1) + 1
        place = RecordPlace(offset=number, length=1, head=1, task_offset=number, task_length=1)
        rows.append((place, replace(foreign_row(attempt), sample=sample)))
    found = _STEP.search(path.name)
    position = Position(stage="completions", step=int(found[1]) if found else 0)
    return Indexed(rows=rows, position=position, notes=shelf.notes(path.name))


def _open(path: Path, place: RecordPlace, pictures: Path) -> Attempt:
    for number, row in enumerate(_rows(path)):
        if number == place.offset:
            return _attempt(row, Shelf(folder=pictures, root=path.parent))
    raise UserError(f"{path.name} has no row {place.offset}")


def _attempt(row: Mapping[str, Json], shelf: Shelf) -> Attempt:
    prompt = messages_from(row["prompt"], shelf)
    rewards = {name: number for name in row if name not in _OWN and (number := as_number(row[name])) is not None}
    told = Told(
        task=digest("\n".join(f"{one.role} {one.text}" for one in prompt)),
        family="trl",
        expected=str(row.get("answer", row.get("solution", "")) or ""),
        rewards=rewards,
        total=sum(rewards.values()) if rewards else None,
        advantage=as_number(row.get("advantage")),
    )
    return attempt_of([*prompt, *completion_from(row["completion"], shelf)], told)


TRL = RecordFormat(
    name="trl",
    index=_index,
    open=_open,
    words="TRL removes pictures before it writes completions, so none can be shown. Rewards are added without weights, "
    "because TRL does not write the weights.",
)


def completions_of(folder: Path) -> Iterator[Path]:
    """Of an output folder of TRL, or of its folder ``completions``."""
    inside = folder if folder.name == "completions" else folder / "completions"
    return (path for path in sorted(inside.glob("completions_*.parquet")) if not path.is_symlink())


def is_trl(path: Path) -> bool:
    """By its columns."""
    try:
        return path.suffix == ".parquet" and {"prompt", "completion"} <= set(_open_table(path).schema_arrow.names)
    except UserError:
        return False
