"""Annotations on the rows of a list."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import RowsView


def marked_rows(run: Run, view: RowsView) -> dict[int, int]:
    """How many annotations stand on each row that has any."""
    counts = Counter(item.trajectory for item in run.annotations.read().standing)
    return rows_of(run, view, counts) if counts else {}


def rows_of(run: Run, view: RowsView, counts: Mapping[str, int]) -> dict[int, int]:
    wanted: dict[tuple[int, int], int] = {}
    for identity, count in counts.items():
        try:
            file, ordinal = run.locate(identity)
        except GoneError:
            continue
        wanted[file.number, ordinal] = count
    return found_rows(view, wanted)


def found_rows(view: RowsView, wanted: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """Rows by file and place in it."""
    if not wanted:
        return {}
    keys = (view.columns["file"].astype(np.int64) << 32) | view.columns["ordinal"].astype(np.int64)
    listed = np.array([(file << 32) | ordinal for file, ordinal in wanted], np.int64)
    rows = np.flatnonzero(np.isin(keys, listed))
    return {int(row): wanted[int(view.columns["file"][row]), int(view.columns["ordinal"][row])] for row in rows}
