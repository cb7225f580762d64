"""Trackio's ``PROJECT.db``: traces (TRL's asynchronous GRPO logs them) and tables of completions (its GRPO).

The data base is opened as a file that nobody changes, so nothing is written beside it; what a run that goes on has in
its ``-wal`` is not seen. All steps are in one file: the step of a trajectory is its stream.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from saccade.errors import UserError
from saccade.plain_files import check_plain, open_plain
from saccade.runs.position import Position
from saccade.runs.segments import MAX_LINE_BYTES, RecordPlace, Rows
from saccade.types import Attempt, Json
from saccade.viewer.store.foreign_lines import Fields, as_number, foreign_row, numbers_of, text_of
from saccade.viewer.store.formats import Indexed, RecordFormat
from saccade.viewer.store.message_reading import completion_from, list_or_empty, messages_from
from saccade.viewer.store.messages import Told, attempt_of, question_id
from saccade.viewer.store.shelf import Shelf

MAX_ROWS = 1_000_000
_MAGIC = b"SQLite format 3\0"
_TRACE, _TABLE = 1, 2
"""Lengths in a place, which tell a trace from the row of a table."""
_OWN = frozenset({"step", "prompt", "completion", "advantage", "image", "images"})
_NO_REWARDS = frozenset({"advantage", "group_id", "model_version", "prompt_tokens", "completion_tokens", "duration_ms"})
_MAX_STEPS = 2_000_000_000
"""Steps of SQLite's machine for one query, so that a view of a stranger's ends."""


def _opened(path: Path) -> sqlite3.Connection:
    where = quote(str(check_plain(path).absolute()))
    base = sqlite3.connect(f"file:{where}?mode=ro&immutable=1", uri=True)
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
    base.execute("PRAGMA trusted_schema = OFF")
    left = [_MAX_STEPS // 1_000_000]

    def is_over() -> bool:
        left[0] -= 1
        return left[0] < 0

    base.set_progress_handler(is_over, 1_000_000)
    return base


def _tables(base: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _records(base: sqlite3.Connection) -> Iterator[tuple[RecordPlace, Fields]]:
    """Each trace, and each row of a table with prompts and completions."""
    tables = _tables(base)
    if "traces" in tables:
        query = "SELECT rowid, run_name, step, messages, metadata FROM traces ORDER BY rowid LIMIT ?"
        for row, run, step, messages, metadata in base.execute(query, (MAX_ROWS,)):
            yield (
                _place(row, _TRACE, 0),
                {"run": run, "step": step, "messages": _json(messages), "metadata": _json(metadata)},
            )
    if "metrics" in tables:
        query = "SELECT id, run_name, step, metrics FROM metrics WHERE instr(metrics, 'trackio.table') LIMIT ?"
        for row, run, step, metrics in base.execute(query, (MAX_ROWS,)):
            for number, entry in enumerate(_rows_of_tables(_json(metrics))):
                yield _place(row, _TABLE, number), {**entry, "run": run, "step": step}


def _rows_of_tables(metrics: Json) -> list[Fields]:
    tables = metrics.values() if isinstance(metrics, Mapping) else ()
    return [
        row
        for table in tables
        if isinstance(table, Mapping) and table.get("_type") == "trackio.table"
        for row in list_or_empty(table.get("_value"))
        if isinstance(row, Mapping) and {"prompt", "completion"} <= set(row)
    ]


def _place(row: int, kind: int, number: int) -> RecordPlace:
    return RecordPlace(offset=row, length=kind, head=kind, task_offset=number, task_length=1)


def _json(value: object) -> Json:
    """None for what is no JSON."""
    if not isinstance(value, bytes | str):
        return None
    try:
        found: Json = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found


def _attempt(value: Fields, shelf: Shelf) -> Attempt:
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):
        messages = messages_from(value.get("messages"), shelf)
        if not messages:
            raise ValueError("its messages are no list of messages")
        rewards = {name: one for name, one in numbers_of(metadata).items() if name not in _NO_REWARDS}
        named = {name.removeprefix("rewards/"): one for name, one in rewards.items() if name.startswith("rewards/")}
        total, advantage = rewards.get("reward"), as_number(metadata.get("advantage"))
    else:
        pictures = list_or_empty(value.get("image"))
        prompt = messages_from(value.get("prompt"), shelf, pictures)
        messages = [*prompt, *completion_from(value.get("completion"), shelf)]
        named = numbers_of({name: one for name, one in value.items() if name not in _OWN})
        total, advantage = sum(named.values()) if named else None, as_number(value.get("advantage"))
    told = Told(
        task=question_id(messages, shelf),
        family=text_of(value.get("run"))[:100] or "trackio",
        stream=f"step {value.get('step')}"[:80],
        rewards=named,
        total=total,
        advantage=advantage,
    )
    return attempt_of(messages, told)


def _index(path: Path, pictures: Path) -> Indexed:
    shelf = Shelf(folder=pictures, root=path.parent / "media", is_quick=True)
    rows: Rows = []
    samples: dict[tuple[str, str], int] = {}
    left_out = 0
    try:
        with closing(_opened(path)) as base:
            for place, value in _records(base):
                shelf.begin()
                try:
                    attempt = _attempt(value, shelf)
                except (ValueError, RecursionError):
                    left_out += 1
                    continue
                key = (attempt.task.id, attempt.trajectory.stream)
                samples[key] = samples.get(key, -1) + 1
                rows.append((place, replace(foreign_row(attempt), sample=samples[key])))
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"{path.name} is no data base of Trackio that can be read: {str(error)[:200]}") from error
    notes = [f"{path.name}: {left_out} traces hold no messages and are left out"] if left_out else []
    if path.with_name(path.name + "-wal").exists():
        notes.append(f"{path.name}: what its -wal holds is not seen before the run that writes it ends")
    position = Position(stage=path.stem[:80], step=0)
    return Indexed(rows=rows, position=position, notes=(*shelf.notes(path.name), *notes))


def _open(path: Path, place: RecordPlace, pictures: Path) -> Attempt:
    query = "SELECT run_name, step, messages, metadata FROM traces WHERE rowid = ?"
    if place.length == _TABLE:
        query = "SELECT run_name, step, metrics, NULL FROM metrics WHERE id = ?"
    try:
        with closing(_opened(path)) as base:
            found = base.execute(query, (place.offset,)).fetchone()
        if found is None:
            raise UserError(f"{path.name} has no row {place.offset}")
        run, step, content, metadata = found
        value: Fields = {"messages": _json(content), "metadata": _json(metadata)}
        if place.length == _TABLE:
            value = _rows_of_tables(_json(content))[place.task_offset]
        return _attempt({**value, "run": run, "step": step}, Shelf(folder=pictures, root=path.parent / "media"))
    except (sqlite3.Error, OSError, ValueError, IndexError, RecursionError) as error:
        raise UserError(f"{path.name}: row {place.offset} cannot be read: {str(error)[:200]}") from error


TRACKIO = RecordFormat(
    name="trackio",
    index=_index,
    open=_open,
    words="Trackio has no pictures of this trajectory, or its folder media is not beside the data base.",
)


def is_trackio(path: Path) -> bool:
    """By its tables."""
    try:
        with open_plain(path) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
        with closing(_opened(path)) as base:
            return {"traces", "metrics"} <= _tables(base)
    except (sqlite3.Error, OSError, UserError):
        return False
