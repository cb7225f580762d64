"""Traces: reasoning that points, with what the verifier says of it; read, written, and selected to be imitated.

A row of a file of traces is a question in the plain layout with ``turns`` and ``sample``, ``score``, ``is_right``,
``parts``; several traces of a question have ids of their own. Right and wrong are the verifier's, and are not judged
again when traces are read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from saccade.atomic import write_text_atomic
from saccade.curation.examples import read_tool_turns, read_turn_rows, tool_turn_rows
from saccade.curation.rows import IMAGES, question_row
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.pointed import pointed_protocol, pointed_with_tools_protocol
from saccade.protocols.points import with_points
from saccade.seeding import seed_for
from saccade.tasks.rows.fields import Row, RowError, kind_of, mapping, optional_number
from saccade.types import Answer, Attempt, Example, ExpertTurn, Json, Task, ToolCall, Turn

TraceFilter = Literal["all", "right", "grounded"]
"""Which traces are imitated: all of them; right ones; right ones that the verifier gives the threshold or more."""

THRESHOLD = 0.7
"""Least score of a trace that is kept (appendix C.3)."""


LARGEST = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class PointedTrace:
    """A reasoning that ends with an answer, and its score."""

    example: Example
    """Points of its thoughts are in pixels of the originals."""
    sample: int
    """Index among the traces of its question."""
    score: float
    """Total of the verifier's reward."""
    is_right: bool
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Values of the score's terms, those that were found on this trace."""

    def passes(self, by: TraceFilter, threshold: float = THRESHOLD) -> bool:
        return by == "all" or (self.is_right and (by == "right" or self.score >= threshold))


def select(
    traces: Sequence[PointedTrace],
    by: TraceFilter,
    *,
    count: int | None = None,
    threshold: float = THRESHOLD,
    distinct: bool = True,
    seed: int = 0,
) -> list[PointedTrace]:
    """The traces that pass the filter, in their order; at most ``count`` of them.

    ``distinct`` takes each text of a question once, however often it was sampled.
    Which ``count`` are taken depends on seed, question and sample alone, so that a smaller set is part of a larger one
    and what two filters let pass is taken by both or neither, as far as numbers allow.
    """
    first = {(one.example.task.id, one.example.turns): id(one) for one in reversed(traces)}
    passing = [
        one
        for one in traces
        if one.passes(by, threshold) and (not distinct or first[one.example.task.id, one.example.turns] == id(one))
    ]
    if count is None or count >= len(passing):
        return passing
    drawn = sorted(passing, key=lambda one: seed_for(seed, "traces", one.example.task.id, one.sample))
    taken = set(map(id, drawn[:count]))
    return [one for one in passing if id(one) in taken]


def equal_sets(
    traces: Sequence[PointedTrace], *, threshold: float = THRESHOLD, distinct: bool = True, seed: int = 0
) -> dict[TraceFilter, list[PointedTrace]]:
    """A set of traces by each filter, all as large as the smallest (section 4.3 compares such)."""
    filters: tuple[TraceFilter, ...] = get_args(TraceFilter)
    chosen = {by: select(traces, by, threshold=threshold, distinct=distinct) for by in filters}
    count = min(map(len, chosen.values()))
    return {by: select(traces, by, count=count, threshold=threshold, distinct=distinct, seed=seed) for by in filters}


def traces_of(attempts: Iterable[Attempt]) -> list[PointedTrace]:
    """The scored trajectories of a run that can be imitated: well-formed turns that end with an answer."""
    traces = []
    for attempt in attempts:
        trajectory, score = attempt.trajectory, attempt.trajectory.score
        turns = [imitable_turn(turn) for turn in trajectory.turns]
        written = tuple(turn for turn in turns if turn is not None)
        if score is None or trajectory.answer is None or len(written) < len(turns):
            continue
        traces.append(
            PointedTrace(
                example=Example(task=attempt.task, turns=written),
                sample=trajectory.sample,
                score=score.total,
                is_right=bool(score.is_right),
                parts=dict(score.values),
            )
        )
    return traces


def imitable_turn(turn: Turn) -> ExpertTurn | None:
    """A turn as an expert's, its points in pixels of the originals; None for one that no protocol writes."""
    if not turn.is_well_formed or not isinstance(turn.action, ToolCall | Answer):
        return None
    try:
        return ExpertTurn(thought=with_points(turn.thought, turn.points), action=turn.action)
    except ValueError:
        return None


def write_traces(path: Path, traces: Sequence[PointedTrace], media: MediaStore) -> None:
    """Writes traces, whole or not at all; their pictures go to ``images`` beside the file."""
    rows = [trace_row(one, pictures_of(one.example.task, path.parent, media), is_one_of_many=True) for one in traces]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, as_lines(rows))


def as_lines(rows: Iterable[Mapping[str, Json]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def pictures_of(task: Task, directory: Path, media: MediaStore) -> list[str]:
    """Paths, from the directory, of the question's pictures, which are put there."""
    exported = [media.export_source(image, directory / IMAGES) for image in task.images]
    return [f"{IMAGES}/{path.name}" for path in exported]


def trace_row(trace: PointedTrace, images: Sequence[str], *, is_one_of_many: bool = False) -> dict[str, Json]:
    """A trace as a row of a file; ``images`` are paths from it. One of many of its question has an id of its own."""
    row = question_row(trace.example.task, images)
    if is_one_of_many:
        row["id"] = f"{row['id']}#{trace.sample}"
    return {
        **row,
        "sample": trace.sample,
        "score": trace.score,
        "is_right": trace.is_right,
        "parts": dict(trace.parts),
        "turns": tool_turn_rows(trace.example.turns),
    }


def read_traces(path: Path, media: MediaStore) -> list[PointedTrace]:
    """The traces of a file, or of a folder's ``examples.jsonl``; UserError names all rows that cannot be used."""
    return read_turn_rows(path, media, _trace)


def read_pointed_examples(path: Path, media: MediaStore) -> list[Example]:
    """The traces as examples to imitate; a row needs no score, so files of others can be read too."""
    return read_turn_rows(path, media, _example)


def _example(task: Task, row: Row) -> Example:
    turns = read_tool_turns(row.get("turns"))
    protocol = pointed_protocol() if len(turns) == 1 else pointed_with_tools_protocol()
    for index, turn in enumerate(turns):
        try:
            protocol.write(turn)
        except UserError as error:
            raise RowError(f"turns[{index}]", str(error)) from error
    return Example(task=task, turns=turns)


def _trace(task: Task, row: Row) -> PointedTrace:
    example = _example(task, row)
    score, is_right = _number(row, "score"), row.get("is_right")
    if not isinstance(is_right, bool):
        raise RowError("is_right", f"must be true or false, not {kind_of(is_right)}")
    parts = mapping(row.get("parts") or {}, "parts")
    return PointedTrace(
        example=example,
        sample=int(_number(row, "sample")),
        score=score,
        is_right=is_right,
        parts={name: _number(parts, name) for name in parts},
    )


def _number(row: Row, key: str) -> float:
    value = optional_number(row, key, low=-LARGEST, high=LARGEST)
    if value is None:
        raise RowError(key, "is missing")
    return value
