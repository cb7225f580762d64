"""A trajectory as JSON and back, equal.

Floats survive exactly. Inside tool arguments and tool data, which are JSON already, a tuple comes back as a list.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import get_args

from saccade.geometry import Box, Point
from saccade.runs.task_json import Fields, exactly, image_to_json, images_from
from saccade.types import (
    Action,
    Answer,
    BoxMention,
    Json,
    Malformed,
    Observation,
    PointMention,
    Score,
    Segment,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
    VersionSpan,
)

_STATUSES: tuple[TrajectoryStatus, ...] = get_args(TrajectoryStatus)


def trajectory_to_json(trajectory: Trajectory) -> dict[str, Json]:
    return {
        "task_id": trajectory.task_id,
        "family": trajectory.family,
        "stream": trajectory.stream,
        "sample": trajectory.sample,
        "seed": trajectory.seed,
        "policy_version": trajectory.policy_version,
        "status": trajectory.status,
        "failure": trajectory.failure,
        "score": None if trajectory.score is None else _score_to_json(trajectory.score),
        "turns": [_turn_to_json(turn) for turn in trajectory.turns],
        "segments": [_segment_to_json(segment) for segment in trajectory.segments],
    }


def trajectory_from_json(value: Json) -> Trajectory:
    """Raises BrokenRecordError."""
    fields = Fields(value, "the trajectory")
    return Trajectory(
        task_id=fields.text("task_id"),
        family=fields.text("family"),
        stream=fields.text("stream"),
        sample=fields.whole("sample"),
        seed=fields.whole("seed"),
        policy_version=fields.whole("policy_version"),
        segments=tuple(_segment_from(segment) for segment in fields.objects("segments")),
        turns=tuple(_turn_from(turn) for turn in fields.objects("turns")),
        status=fields.option("status", _STATUSES),
        failure=fields.text("failure"),
        score=_score_from(fields.fields("score")) if fields.has("score") else None,
    )


def _segment_to_json(segment: Segment) -> Json:
    return {
        "role": segment.role,
        "turn": segment.turn,
        "ids": list(segment.ids),
        "logprobs": list(segment.logprobs),
        "images": [image_to_json(image) for image in segment.images],
        **({"versions": [asdict(span) for span in segment.versions]} if segment.versions else {}),
    }


def _segment_from(fields: Fields) -> Segment:
    return Segment(
        role=fields.option("role", ("prompt", "action", "observation")),
        turn=fields.whole("turn"),
        ids=fields.wholes("ids"),
        logprobs=fields.numbers("logprobs"),
        images=images_from(fields, "images"),
        versions=_versions_from(fields) if fields.has("versions") else (),
    )


def _versions_from(fields: Fields) -> tuple[VersionSpan, ...]:
    spans = tuple(
        VersionSpan(version=one.whole("version"), start=one.whole("start"), end=one.whole("end"))
        for one in fields.objects("versions")
    )
    ends = [0, *(span.end for span in spans)]
    if [span.start for span in spans] != ends[:-1] or ends != sorted(ends) or ends[-1] != len(fields.items("ids")):
        raise fields.wrong("versions", "spans that cover the ids, one after the other")
    return spans


def _turn_to_json(turn: Turn) -> Json:
    result, observation = turn.result, turn.observation
    return {
        "index": turn.index,
        "text": turn.text,
        "thought": turn.thought,
        "action": _action_to_json(turn.action),
        "is_well_formed": turn.is_well_formed,
        "result": None
        if result is None
        else {
            "text": result.text,
            "images": [image_to_json(image) for image in result.images],
            "data": dict(result.data),
            "is_ok": result.is_ok,
        },
        "observation": None
        if observation is None
        else {"text": observation.text, "images": [image_to_json(image) for image in observation.images]},
        **({"boxes": [_mention_to_json(one) for one in turn.boxes]} if turn.boxes else {}),
        **({"points": [_point_to_json(one) for one in turn.points]} if turn.points else {}),
    }


def _turn_from(fields: Fields) -> Turn:
    result = fields.fields("result") if fields.has("result") else None
    observation = fields.fields("observation") if fields.has("observation") else None
    return Turn(
        index=fields.whole("index"),
        text=fields.text("text"),
        thought=fields.text("thought"),
        action=_action_from(fields.fields("action")),
        is_well_formed=fields.truth("is_well_formed"),
        result=None
        if result is None
        else ToolResult(
            text=result.text("text"),
            images=images_from(result, "images"),
            data=result.mapping("data"),
            is_ok=result.truth("is_ok"),
        ),
        observation=None
        if observation is None
        else Observation(text=observation.text("text"), images=images_from(observation, "images")),
        boxes=tuple(mention_from(one) for one in fields.objects("boxes")) if fields.has("boxes") else (),
        points=tuple(point_from(one) for one in fields.objects("points")) if fields.has("points") else (),
    )


def _mention_to_json(mention: BoxMention) -> Json:
    return {"text": mention.text, "box": None if mention.box is None else list(mention.box.as_tuple())}


def mention_from(fields: Fields) -> BoxMention:
    box = Box(*exactly(4, fields, "box")) if fields.has("box") else None
    return BoxMention(text=fields.text("text"), box=box)


def _point_to_json(mention: PointMention) -> Json:
    return {
        "text": mention.text,
        "label": mention.label,
        "point": None if mention.point is None else [mention.point.x, mention.point.y],
        **({} if mention.frame is None else {"frame": mention.frame}),
        **({} if mention.time_s is None else {"time_s": mention.time_s}),
        **({"image_index": mention.image_index} if mention.image_index else {}),
    }


def point_from(fields: Fields) -> PointMention:
    return PointMention(
        text=fields.text("text"),
        label=fields.text("label"),
        point=Point(*exactly(2, fields, "point")) if fields.has("point") else None,
        frame=fields.whole("frame") if fields.has("frame") else None,
        time_s=fields.number("time_s") if fields.has("time_s") else None,
        image_index=fields.whole("image_index") if fields.has("image_index") else 0,
    )


def _action_to_json(action: Action) -> Json:
    match action:
        case ToolCall():
            return {"type": "tool_call", "name": action.name, "arguments": dict(action.arguments)}
        case Answer():
            return {"type": "answer", "text": action.text}
        case Malformed():
            return {"type": "malformed", "why": action.why}


def _action_from(fields: Fields) -> Action:
    kind = fields.option("type", ("tool_call", "answer", "malformed"))
    if kind == "tool_call":
        return ToolCall(name=fields.text("name"), arguments=fields.mapping("arguments"))
    if kind == "answer":
        return Answer(text=fields.text("text"))
    return Malformed(why=fields.text("why"))


def _score_to_json(score: Score) -> Mapping[str, Json]:
    notes: dict[str, Json] = {"notes": dict(score.notes)} if score.notes else {}
    evidence: dict[str, Json] = {"evidence": dict(score.evidence)} if score.evidence else {}
    terms: list[Json] = [_term_to_json(term) for term in score.terms]
    return {"terms": terms, "is_right": score.is_right, **notes, **evidence}


def _score_from(fields: Fields) -> Score:
    return Score(
        terms=tuple(map(_term_from, fields.objects("terms"))),
        is_right=fields.truth("is_right") if fields.has("is_right") else None,
        notes=_numbers_by_name(fields.fields("notes")) if fields.has("notes") else {},
        evidence=fields.mapping("evidence") if fields.has("evidence") else {},
    )


def _term_to_json(term: Term) -> Json:
    sources = {"filled_from": term.filled_from, "added_by": term.added_by}
    return {
        "name": term.name,
        "value": term.value,
        "weight": term.weight,
        **{name: said for name, said in sources.items() if said},
    }


def _term_from(fields: Fields) -> Term:
    return Term(
        fields.text("name"),
        fields.number("value"),
        fields.number("weight"),
        filled_from=fields.text("filled_from") if fields.has("filled_from") else "",
        added_by=fields.text("added_by") if fields.has("added_by") else "",
    )


def _numbers_by_name(fields: Fields) -> dict[str, float]:
    return {name: fields.number(name) for name in fields.values}
