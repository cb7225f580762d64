"""A trajectory as JSON and back, equal.

Floats survive exactly. Inside tool arguments and tool data, which are JSON already, a tuple comes back as a list.
"""

from typing import Any

from saccade.codec.codecs import Codec
from saccade.codec.fields import is_number
from saccade.codec.forms import Form
from saccade.runs.task_json import TASK_FORMS
from saccade.types import (
    Answer,
    Json,
    Malformed,
    PointMention,
    Score,
    Segment,
    Term,
    ToolCall,
    Trajectory,
    Turn,
    TurnClock,
)


def _check_versions(segment: Segment) -> None:
    if not segment.versions:
        return
    ends = [0, *(span.end for span in segment.versions)]
    starts = [span.start for span in segment.versions]
    if starts != ends[:-1] or ends != sorted(ends) or ends[-1] != len(segment.ids):
        spans = [(span.start, span.end) for span in segment.versions]
        raise ValueError(f"'versions' must be spans that cover the ids, one after the other, not {spans[:8]}")


def _check_numbers(term: Term) -> None:
    if not is_number(term.value) or not is_number(term.weight):
        raise ValueError(f"the term {term.name!r} has a number of which no float can be made")


FORMS: dict[type, Form] = {
    **TASK_FORMS,
    ToolCall: Form(tag=("type", "tool_call")),
    Answer: Form(tag=("type", "answer")),
    Malformed: Form(tag=("type", "malformed")),
    PointMention: Form(sparse=("frame", "time_s", "image_index")),
    Turn: Form(sparse=("boxes", "points")),
    Segment: Form(sparse=("versions",), check=_check_versions),
    Term: Form(sparse=("filled_from", "added_by"), check=_check_numbers),
    Score: Form(sparse=("notes", "evidence")),
    Trajectory: Form(last=("turns", "segments"), sparse=("cut_turns",), apart=("routed_experts", "clock")),
    TurnClock: Form(last=("decode_s", "tool_s")),
}
"""The forms of trajectories and their tasks."""

CODEC = Codec(FORMS)


def trajectory_to_json(trajectory: Trajectory) -> dict[str, Any]:
    return CODEC.to_json(trajectory)


def trajectory_from_json(value: Json) -> Trajectory:
    """Raises BrokenRecordError."""
    return CODEC.reader(Trajectory).from_json(value, "the trajectory")
