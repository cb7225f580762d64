"""Head of a trajectory's line, read in one go: all of the trajectory but its tokens.

Making an index of a large run is reading a million heads. Here the parser itself checks the fields and makes objects of
them, in a third of the time that fields take which are asked for one by one. What it does not take (numbers that are
none, lone surrogates, a field that is missing) is left to the slower way, which says what is wrong.
"""

from typing import Any

import msgspec

from saccade.runs.record_places import SEGMENTS
from saccade.runs.task_json import BrokenRecordError, Fields
from saccade.runs.trajectory_json import mention_from, point_from
from saccade.types import (
    Action,
    Answer,
    ImageRef,
    Json,
    Malformed,
    Observation,
    Score,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

_BEGIN = b'{"kind": "trajectory", '


class _CallHead(msgspec.Struct, tag_field="type", tag="tool_call"):
    name: str
    arguments: dict[str, Any]


class _AnswerHead(msgspec.Struct, tag_field="type", tag="answer"):
    text: str


class _MalformedHead(msgspec.Struct, tag_field="type", tag="malformed"):
    why: str


class _ResultHead(msgspec.Struct):
    text: str
    images: tuple[ImageRef, ...]
    data: dict[str, Any]
    is_ok: bool


class _TurnHead(msgspec.Struct):
    index: int
    text: str
    thought: str
    action: _CallHead | _AnswerHead | _MalformedHead
    is_well_formed: bool
    result: _ResultHead | None = None
    observation: Observation | None = None
    boxes: list[dict[str, Any]] | None = None
    points: list[dict[str, Any]] | None = None


class _TermHead(msgspec.Struct):
    name: str
    value: float
    weight: float
    filled_from: str | None = None
    added_by: str | None = None


class _ScoreHead(msgspec.Struct):
    terms: list[_TermHead]
    is_right: bool | None = None
    notes: dict[str, float] | None = None
    evidence: dict[str, Any] | None = None


class _TrajectoryHead(msgspec.Struct):
    task_id: str
    family: str
    stream: str
    sample: int
    seed: int
    policy_version: int
    turns: list[_TurnHead]
    status: TrajectoryStatus
    failure: str
    score: _ScoreHead | None = None


_read = msgspec.json.Decoder(_TrajectoryHead).decode


def trajectory_head(line: bytes) -> tuple[int, Trajectory] | None:
    """Bytes of a line before its segments, and its trajectory without them; None where the slower way is to look."""
    at = line.find(SEGMENTS)
    if at < 0 or not line.startswith(_BEGIN):
        return None
    try:
        return at, _trajectory(_read(line[:at] + b"}"))
    except (msgspec.DecodeError, BrokenRecordError, ValueError, RecursionError):
        return None


def _trajectory(head: _TrajectoryHead) -> Trajectory:
    return Trajectory(
        task_id=head.task_id,
        family=head.family,
        stream=head.stream,
        sample=head.sample,
        seed=head.seed,
        policy_version=head.policy_version,
        segments=(),
        turns=tuple(map(_turn, head.turns)),
        status=head.status,
        failure=head.failure,
        score=None if head.score is None else _score(head.score),
    )


def _turn(head: _TurnHead) -> Turn:
    result = head.result
    return Turn(
        index=head.index,
        text=head.text,
        thought=head.thought,
        action=_action(head.action),
        is_well_formed=head.is_well_formed,
        result=None
        if result is None
        else ToolResult(text=result.text, images=result.images, data=result.data, is_ok=result.is_ok),
        observation=head.observation,
        boxes=tuple(mention_from(_fields(one)) for one in head.boxes or ()),
        points=tuple(point_from(_fields(one)) for one in head.points or ()),
    )


def _fields(value: dict[str, Json]) -> Fields:
    return Fields(value)


def _action(head: _CallHead | _AnswerHead | _MalformedHead) -> Action:
    if isinstance(head, _CallHead):
        return ToolCall(name=head.name, arguments=head.arguments)
    return Answer(text=head.text) if isinstance(head, _AnswerHead) else Malformed(why=head.why)


def _score(head: _ScoreHead) -> Score:
    terms = tuple(
        Term(one.name, one.value, one.weight, filled_from=one.filled_from or "", added_by=one.added_by or "")
        for one in head.terms
    )
    return Score(terms=terms, is_right=head.is_right, notes=head.notes or {}, evidence=head.evidence or {})
