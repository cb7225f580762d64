"""Signals of trajectories: numbers for each action token, worked out for learning, in files beside the records.

Advantages, entropies, log-probabilities of reference and teacher, where they were computed. They follow from seed and
data as the records do. One Arrow file for each file of records, a row for each trajectory in its order.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa

from saccade.runs.clocks import read_table, write_table
from saccade.runs.columns import list_column
from saccade.types import Segment, Signals

DIRECTORY = "signals"
_NAMES = ("advantages", "entropy", "reference_logprobs", "teacher_logprobs")


def write_signals(path: Path, signals: Sequence[Signals | None]) -> None:
    """Write the signals of a file of records; nothing where no trajectory has any. Raises OSError."""
    columns = {name: [None if one is None else getattr(one, name) for one in signals] for name in _NAMES}
    known = {name: list_column(rows) for name, rows in columns.items() if any(rows)}
    if known:
        write_table(path, pa.table(known))


def read_signals(path: Path, row: int) -> Signals | None:
    """The signals of one trajectory; None where there are none."""
    table = read_table(path)
    if table is None or not 0 <= row < table.num_rows:
        return None
    found: dict[str, tuple[float, ...] | None] = {}
    for name in _NAMES:
        is_there = name in table.column_names and table.column(name).type == pa.list_(pa.float32())
        values = table.column(name)[row].as_py() if is_there else None
        found[name] = None if values is None or None in values else tuple(values)
    if not any(found.values()):
        return None
    return Signals(**found)


def by_turn(values: Sequence[float] | None, segments: Sequence[Segment]) -> tuple[tuple[float, ...], ...] | None:
    """A number for each action token, cut where turns end; None where they are not as many as the tokens."""
    if values is None:
        return None
    lengths = [len(segment.ids) for segment in segments if segment.role == "action"]
    if sum(lengths) != len(values):
        return None
    left = iter(values)
    return tuple(tuple(islice(left, length)) for length in lengths)
