"""Place of a trajectory in its file of records."""

from dataclasses import dataclass

MAX_LINE_BYTES = 64 << 20
"""Longer lines are skipped with a note."""

SEGMENTS = b', "segments": ['
"""Where a trajectory's line goes over to its tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordPlace:
    """Where a trajectory and its task stand in their file, in bytes."""

    offset: int
    length: int
    """Of the line, with its end."""
    head: int
    """Bytes before the segments; the whole length where the line was not written by Saccade."""
    task_offset: int
    task_length: int
