"""Clocks of trajectories: when turns were sampled and calls ran, in files beside the records.

They depend on the machine, so they stand outside of what a resumed run repeats: nothing reads them but the viewer. One
Arrow file for each file of records, a row for each trajectory in its order.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from saccade.atomic import write_whole
from saccade.codec.wrong import BrokenRecordError
from saccade.plain_files import check_plain
from saccade.runs.columns import number_column, text_column
from saccade.runs.trajectory_json import CODEC
from saccade.types import Clock, TurnClock

DIRECTORY = "clocks"
MAX_SPANS_BYTES = 1 << 20


def write_clocks(path: Path, clocks: Sequence[Clock | None]) -> None:
    """Write the clocks of a file of records; nothing where no trajectory has one. Raises OSError."""
    if not any(clocks):
        return
    seconds = [math.nan if clock is None else clock.total_s for clock in clocks]
    spans = [None if clock is None else f"[{', '.join(map(_turn_text, clock.turns))}]" for clock in clocks]
    write_table(path, pa.table({"seconds": number_column(seconds, np.float32), "turns": text_column(spans)}))


def write_table(path: Path, table: pa.Table) -> None:
    """One batch of rows in one step; not forced to the disk."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(1, table.num_rows))
    write_whole(sink.getvalue().to_pybytes(), path)


def read_table(path: Path) -> pa.Table | None:
    """The rows of such a file, mapped; None where there is none that can be read."""
    try:
        with pa.memory_map(str(check_plain(path))) as source:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)
    except (OSError, pa.ArrowException):
        return None
    return table


def read_seconds(path: Path, count: int) -> NDArray[np.float32] | None:
    """Seconds that each trajectory took; None where they are not known."""
    table = read_table(path)
    if table is None or table.num_rows != count or "seconds" not in table.column_names:
        return None
    column = table.column("seconds")
    return np.array(column.to_numpy()) if column.type == pa.float32() else None


def read_clock(path: Path, row: int) -> Clock | None:
    """The clock of one trajectory; None where it is not known."""
    table = read_table(path)
    if table is None or not 0 <= row < table.num_rows or "turns" not in table.column_names:
        return None
    text = table.column("turns")[row].as_py()
    if not isinstance(text, str) or len(text) > MAX_SPANS_BYTES:
        return None
    try:
        return CODEC.reader(Clock).from_text(f'{{"turns": {text}}}'.encode(), "the clock")
    except (ValueError, RecursionError, BrokenRecordError):
        return None


def _turn_text(turn: TurnClock) -> str:
    """The turn as JSON, to the microsecond; formatted by hand, since each training step writes hundreds of turns."""
    prefill = "" if turn.prefill_s is None else f', "prefill_s": {turn.prefill_s:.6f}'
    return f'{{"start_s": {turn.start_s:.6f}, "decode_s": {turn.decode_s:.6f}, "tool_s": {turn.tool_s:.6f}{prefill}}}'
