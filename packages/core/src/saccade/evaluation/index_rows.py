"""Rows of the index of trajectories: of attempts as the trainer holds them, and of files of records."""

import math
from collections.abc import Sequence
from pathlib import Path

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.evaluation.reasons import wrong_reason
from saccade.evaluation.tool_use import failure_kind
from saccade.rewards.reward import counts_as_right
from saccade.runs.position import Position
from saccade.runs.record_lines import RecordScan, ScannedLine, TokenCounts
from saccade.runs.segments import IndexRow, Kind, RecordPlace, Rows, SegmentInfo, fingerprint, write_segment
from saccade.runs.task_json import task_from_json
from saccade.runs.trajectory_json import trajectory_from_json
from saccade.types import Attempt, Malformed, Task, ToolCall, Trajectory

MAX_QUESTION, MAX_ANSWER, MAX_NAMES = 160, 80, 16
"""Characters kept of a question and of an answer, names kept of tools and of errors."""


def token_counts(trajectory: Trajectory) -> TokenCounts:
    total = actions = 0
    logprobs: list[float] = []
    for segment in trajectory.segments:
        total += len(segment.ids)
        if segment.role == "action":
            actions += len(segment.ids)
            logprobs += segment.logprobs
    entropy = -sum(logprobs) / len(logprobs) if logprobs else None
    return TokenCounts(total=total, actions=actions, entropy=entropy)


def index_row(attempt: Attempt, tokens: TokenCounts) -> IndexRow:
    """The row of an attempt, whose trajectory may come without its segments."""
    task, trajectory, advantages = attempt.task, attempt.trajectory, attempt.advantages
    score = trajectory.score
    is_right = None if trajectory.status == "failed" else counts_as_right(task, trajectory)
    return IndexRow(
        task=task.id,
        family=task.family,
        stream=trajectory.stream,
        sample=trajectory.sample,
        status=trajectory.status,
        is_right=is_right,
        reward=None if score is None else score.total,
        # A term of no weight adds nothing, and is kept to be read.
        terms={} if score is None else {one.name: one.contribution if one.weight else one.value for one in score.terms},
        advantage=math.fsum(advantages) / len(advantages) if advantages else None,
        turns=len(trajectory.turns),
        tokens=tokens.total,
        action_tokens=tokens.actions,
        entropy=tokens.entropy,
        tools=_tools(trajectory),
        errors=_errors(trajectory),
        reason=wrong_reason(attempt) if is_right is False else "",
        question=task.question[:MAX_QUESTION],
        expected=task.answer[:MAX_ANSWER],
        answer=None if trajectory.answer is None else trajectory.answer[:MAX_ANSWER],
        image=task.images[0].hash if task.images else None,
    )


def _tools(trajectory: Trajectory) -> tuple[str, ...]:
    """Tools that ran: names of refused calls are the model's invention and have no end."""
    ran = {
        turn.action.name[:80]: None
        for turn in trajectory.turns
        if isinstance(turn.action, ToolCall) and turn.result is not None
    }
    return tuple(sorted(ran))[:MAX_NAMES]


def _errors(trajectory: Trajectory) -> tuple[str, ...]:
    kinds = {kind for turn in trajectory.turns if (kind := failure_kind(turn))}
    malformed = {"malformed"} if any(isinstance(turn.action, Malformed) for turn in trajectory.turns) else set()
    return tuple(sorted(kinds | malformed))[:MAX_NAMES]


def scanned_rows(scan: RecordScan) -> Rows:
    """The rows of a whole file of records, its damaged trajectories noted in ``scan``."""
    tasks: dict[int, Task] = {}
    rows: Rows = []
    for line in scan.lines():
        try:
            rows.append((line.place, index_row(_attempt(line, tasks), line.tokens)))
        except (BrokenRecordError, ValueError, OverflowError) as error:
            scan.notes.append(
                f"{scan.path.name}: the record at byte {line.place.offset} is left out: {str(error)[:300]}"
            )
    return rows


def _attempt(line: ScannedLine, tasks: dict[int, Task]) -> Attempt:
    place = line.place.task_offset
    if place not in tasks:
        # A file asks its tasks one after the other.
        tasks.clear()
        tasks[place] = task_from_json(line.task)
    whole = line.trajectory
    trajectory = whole if isinstance(whole, Trajectory) else trajectory_from_json(whole)
    told = {"advantages": line.advantages}
    advantages = Fields(told).numbers("advantages") if line.advantages is not None else None
    return Attempt(task=tasks[place], trajectory=trajectory, advantages=advantages)


def write_index(
    path: Path,
    records: Path,
    places: Sequence[RecordPlace],
    attempts: Sequence[Attempt],
    *,
    position: Position,
    kind: Kind,
) -> None:
    """The segment of a file of records that was just written. Raises OSError."""
    rows = [(place, index_row(one, token_counts(one.trajectory))) for place, one in zip(places, attempts, strict=True)]
    write_segment(path, rows, info=SegmentInfo(position=position, kind=kind, fingerprint=fingerprint(records)))
