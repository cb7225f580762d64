"""Index of trajectories: one Arrow file for each file of records, with a row for every trajectory in its order.

A segment says of which file it is by a fingerprint, so that a copied run keeps its index and a changed file has none.
What it says is data like any other: places are checked against the file before anything is read by them.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from saccade.atomic import write_whole
from saccade.plain_files import open_plain
from saccade.runs.columns import number_column, text_column, word_column
from saccade.runs.position import Position
from saccade.types import Json

MAX_LINE_BYTES = 64 << 20
"""Longer lines are skipped with a note."""

SEGMENTS = b', "segments": ['
"""Where a trajectory's line goes over to its tokens."""
VERSION = 1
MAX_TERMS = 64
"""Reward terms that have columns; further ones are in the records alone."""
REASONS: Mapping[str, str] = {
    "out_of_turns": "no answer: out of turns",
    "out_of_tokens": "no answer: out of tokens",
    "no_answer": "no answer",
    "no_choice": "the answer is none of the choices",
    "no_call": "answered without a call",
    "calls_failed": "every call failed",
    "looked_elsewhere": "looked elsewhere: no crop touches the target",
    "saw_part": "a crop shows a part of the target",
    "saw_target": "a crop shows the target, the answer is wrong",
    "after_calls": "wrong after calls",
}
"""Why an answer is wrong, in words; the first that holds is taken, in this order."""
SEPARATOR = "\n"
"""Between the names in ``tools`` and ``errors``."""
TERM_PREFIX = "term:"
SUFFIX = ".arrow"
DIRECTORY = "index"

_EDGE_BYTES = 4096

Kind = Literal["train", "eval"]


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


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexRow:
    """What lists and filters know of a trajectory."""

    task: str
    family: str
    stream: str
    sample: int
    status: str
    is_right: bool | None
    reward: float | None
    terms: Mapping[str, float] = field(default_factory=dict)
    """Contributions to the reward, by term."""
    advantage: float | None = None
    """Mean over its turns."""
    turns: int = 0
    tokens: int = 0
    action_tokens: int = 0
    entropy: float | None = None
    """Mean -log p of the sampled tokens, in nats."""
    tools: tuple[str, ...] = ()
    """Tools that ran, each once."""
    errors: tuple[str, ...] = ()
    """Kinds of calls that did not succeed, each once."""
    reason: str = ""
    """Why its answer is wrong, by a key of ``REASONS``; empty where it is not known to be."""
    question: str = ""
    expected: str = ""
    answer: str | None = None
    image: str | None = None
    """Hash of the question's first picture."""


Rows = list[tuple[RecordPlace, IndexRow]]
"""The rows of a file of records, each with where its trajectory stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentInfo:
    """What a segment says of its file of records."""

    position: Position
    kind: Kind
    fingerprint: str
    notes: tuple[str, ...] = ()


def fingerprint(path: Path) -> str:
    """A file by its size, beginning and end: records are written once, whole. Raises OSError."""
    size = path.stat().st_size
    digest = hashlib.blake2b(f"{VERSION} {size}\0".encode(), digest_size=16)
    with open_plain(path) as file:
        digest.update(file.read(_EDGE_BYTES))
        file.seek(max(0, size - _EDGE_BYTES))
        digest.update(file.read(_EDGE_BYTES))
    return digest.hexdigest()


def task_key(task_id: str) -> int:
    """A task's id as 63 bits, by which equal tasks are found."""
    return int.from_bytes(hashlib.blake2b(task_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def write_segment(path: Path, rows: Sequence[tuple[RecordPlace, IndexRow]], *, info: SegmentInfo) -> None:
    """Write the segment in one step; not forced to the disk, since it can be made again. Raises OSError."""
    names = term_names(row for _, row in rows)
    keys = {task: task_key(task) for task in {row.task for _, row in rows}}
    columns: dict[str, pa.Array] = {
        **{
            name: number_column([getattr(place, name) for place, _ in rows], np.int64)
            for name in ("offset", "length", "head", "task_offset", "task_length")
        },
        "task_key": number_column([keys[row.task] for _, row in rows], np.int64),
        **{
            name: word_column([getattr(row, name) for _, row in rows])
            for name in ("family", "stream", "status", "reason")
        },
        **{name: word_column([SEPARATOR.join(getattr(row, name)) for _, row in rows]) for name in ("tools", "errors")},
        **{
            name: number_column([_clipped(getattr(row, name)) for _, row in rows], np.int32)
            for name in ("sample", "turns", "tokens", "action_tokens")
        },
        "right": number_column([-1 if row.is_right is None else int(row.is_right) for _, row in rows], np.int8),
        **{
            name: number_column([_number(getattr(row, name)) for _, row in rows], np.float32)
            for name in ("reward", "advantage", "entropy")
        },
        **{
            TERM_PREFIX + name: number_column([_number(row.terms.get(name)) for _, row in rows], np.float32)
            for name in names
        },
        **{
            name: text_column([getattr(row, name) for _, row in rows])
            for name in ("task", "question", "expected", "answer", "image")
        },
    }
    told: dict[str, Json] = {
        "version": VERSION,
        "stage": info.position.stage,
        "step": info.position.step,
        "kind": info.kind,
        "fingerprint": info.fingerprint,
        "notes": list(info.notes),
    }
    table = pa.table(columns).replace_schema_metadata({"saccade": json.dumps(told)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        # One batch, so that a column is one piece of memory.
        writer.write_table(table.combine_chunks(), max_chunksize=max(1, len(rows)))
    write_whole(sink.getvalue().to_pybytes(), path)


def term_names(rows: Iterable[IndexRow]) -> list[str]:
    """The reward terms of the rows, in order of first appearance, up to ``MAX_TERMS``."""
    names: dict[str, None] = {}
    for row in rows:
        for name in row.terms:
            if name not in names and len(names) < MAX_TERMS:
                names[name.encode("utf-8", "replace").decode("utf-8")] = None
    return list(names)


def _number(value: float | None) -> float:
    return math.nan if value is None or not math.isfinite(value) else value


def _clipped(value: int) -> int:
    return max(-(2**31), min(2**31 - 1, value))
