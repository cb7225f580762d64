"""A task and a trajectory as JSON and back, equal.

Floats survive exactly. Inside tool arguments and tool data, which are JSON already, a tuple comes back as a list.
"""

from collections.abc import Mapping
from typing import get_args

from saccade.geometry import Box, Mask, Point
from saccade.train.record_fields import Fields
from saccade.types import (
    Action,
    Answer,
    AnswerKind,
    ImageRef,
    Json,
    Malformed,
    Observation,
    Score,
    Segment,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

_ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
_STATUSES: tuple[TrajectoryStatus, ...] = get_args(TrajectoryStatus)


def task_to_json(task: Task) -> dict[str, Json]:
    return {
        "id": task.id,
        "family": task.family,
        "question": task.question,
        "answer": task.answer,
        "answer_kind": task.answer_kind,
        "images": [_image_to_json(image) for image in task.images],
        "choices": list(task.choices),
        "tolerance": task.tolerance,
        "targets": [_target_to_json(target) for target in task.targets],
        "frame_times_s": list(task.frame_times_s),
        "event_s": None if task.event_s is None else list(task.event_s),
        "difficulty": task.difficulty,
        "source": task.source,
    }


def task_from_json(value: Json) -> Task:
    """Raises BrokenRecordError."""
    fields = Fields(value, "the task")
    event = fields.numbers("event_s") if fields.has("event_s") else None
    return Task(
        id=fields.text("id"),
        family=fields.text("family"),
        question=fields.text("question"),
        answer=fields.text("answer"),
        answer_kind=fields.option("answer_kind", _ANSWER_KINDS),
        images=_images_from(fields, "images"),
        choices=fields.texts("choices"),
        tolerance=fields.number("tolerance"),
        targets=tuple(_target_from(target) for target in fields.objects("targets")),
        frame_times_s=fields.numbers("frame_times_s"),
        event_s=None if event is None else (event[0], event[1]),
        difficulty=fields.number("difficulty"),
        source=fields.text("source"),
    )


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


def _image_to_json(image: ImageRef) -> Json:
    return {"hash": image.hash, "width": image.width, "height": image.height}


def _images_from(fields: Fields, key: str) -> tuple[ImageRef, ...]:
    return tuple(
        ImageRef(hash=image.text("hash"), width=image.whole("width"), height=image.whole("height"))
        for image in fields.objects(key)
    )


def _target_to_json(target: Target) -> Json:
    mask = target.mask
    return {
        "label": target.label,
        "box": list(target.box.as_tuple()),
        "point": [target.point.x, target.point.y],
        "mask": None if mask is None else {"width": mask.width, "height": mask.height, "counts": list(mask.counts)},
        "image_index": target.image_index,
    }


def _target_from(fields: Fields) -> Target:
    mask = fields.fields("mask") if fields.has("mask") else None
    x1, y1, x2, y2 = _exactly(4, fields, "box")
    x, y = _exactly(2, fields, "point")
    return Target(
        label=fields.text("label"),
        box=Box(x1, y1, x2, y2),
        point=Point(x, y),
        mask=None
        if mask is None
        else Mask(width=mask.whole("width"), height=mask.whole("height"), counts=mask.wholes("counts")),
        image_index=fields.whole("image_index"),
    )


def _segment_to_json(segment: Segment) -> Json:
    return {
        "role": segment.role,
        "turn": segment.turn,
        "ids": list(segment.ids),
        "logprobs": list(segment.logprobs),
        "images": [_image_to_json(image) for image in segment.images],
    }


def _segment_from(fields: Fields) -> Segment:
    return Segment(
        role=fields.option("role", ("prompt", "action", "observation")),
        turn=fields.whole("turn"),
        ids=fields.wholes("ids"),
        logprobs=fields.numbers("logprobs"),
        images=_images_from(fields, "images"),
    )


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
            "images": [_image_to_json(image) for image in result.images],
            "data": dict(result.data),
            "is_ok": result.is_ok,
        },
        "observation": None
        if observation is None
        else {"text": observation.text, "images": [_image_to_json(image) for image in observation.images]},
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
            images=_images_from(result, "images"),
            data=result.mapping("data"),
            is_ok=result.truth("is_ok"),
        ),
        observation=None
        if observation is None
        else Observation(text=observation.text("text"), images=_images_from(observation, "images")),
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
    return {"total": score.total, "parts": dict(score.parts)}


def _score_from(fields: Fields) -> Score:
    parts = fields.fields("parts")
    return Score(total=fields.number("total"), parts={name: parts.number(name) for name in parts.values})


def _exactly(count: int, fields: Fields, key: str) -> tuple[float, ...]:
    numbers = fields.numbers(key)
    if len(numbers) != count:
        raise fields.wrong(key, f"{count} numbers")
    return numbers
