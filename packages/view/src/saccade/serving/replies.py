"""What came of a request, in the shapes of OpenAI's chat completions; what is ours stands under ``saccade``."""

import json
import time
from collections.abc import Mapping, Sequence

from saccade.serving.agent import PlayedEpisode
from saccade.serving.settings import ReplyForm
from saccade.types import ImageRef, Json, ToolCall, Turn

_ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
}


def error_object(status: int, message: str, *, param: str | None = None, code: str | None = None) -> Json:
    """``{"error": {"message", "type", "param", "code"}}``."""
    kind = _ERROR_TYPES.get(status, "server_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def openai_error(status: int, kind: str, message: str) -> bytes:
    """The form of what the guards in front of the server refuse."""
    return json.dumps(error_object(status, message, code=kind)).encode("ascii")


def completion(ident: str, model: str, played: Sequence[PlayedEpisode], form: ReplyForm, stops: Sequence[str]) -> Json:
    """The reply to a request that was not streamed."""
    choices: list[Json] = []
    for index, one in enumerate(played):
        text, finish = reply_of(one, form, stops)
        message: Json = {"role": "assistant", "content": text, "refusal": None}
        choices.append({"index": index, "message": message, "logprobs": None, "finish_reason": finish})
    return {
        "id": ident,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": choices,
        "usage": usage(played),
        "saccade": trace_of(ident, played),
    }


def chunk(ident: str, model: str, **fields: Json) -> Json:
    """One event of a stream."""
    return {"id": ident, "object": "chat.completion.chunk", "created": int(time.time()), "model": model, **fields}


def delta(index: int, content: str | None = None, *, role: str | None = None, finish: str | None = None) -> Json:
    """The choices of a chunk that adds to one of them."""
    added: dict[str, Json] = {} if role is None else {"role": role}
    if content is not None:
        added["content"] = content
    return [{"index": index, "delta": added, "logprobs": None, "finish_reason": finish}]


def sse(value: Json) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(value).encode("ascii") + b"\n\n"


def reply_of(played: PlayedEpisode, form: ReplyForm, stops: Sequence[str]) -> tuple[str, str]:
    """The text that a client gets, and why it ends there: ``stop``, or ``length`` where something was cut off."""
    trajectory = played.trajectory
    if form == "transcript":
        return transcript(trajectory.turns), "stop" if trajectory.status == "answered" else "length"
    text = played.answer
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    if ends:
        return text[: min(ends)], "stop"
    return text, "stop" if trajectory.status == "answered" and not played.is_cut else "length"


def transcript(turns: Sequence[Turn]) -> str:
    """Each turn in the model's own words, followed by what it was shown."""
    return "\n".join(part for turn in turns for part in (turn.text, observation_text(turn)) if part)


def observation_text(turn: Turn) -> str:
    """What the model was shown after a turn, with pictures by their sizes."""
    if turn.observation is None:
        return ""
    pictures = [f"[image of {image.width} x {image.height}]" for image in turn.observation.images]
    return "\n".join(["<tool_response>", *pictures, *filter(None, [turn.observation.text]), "</tool_response>"])


def step_event(index: int, turn: Turn) -> Json:
    """A turn as an event of a stream."""
    call = turn.action if isinstance(turn.action, ToolCall) else None
    result = turn.result
    return {
        "event": "turn" if call is None else "tool_step",
        "choice": index,
        "turn": turn.index,
        "thought": turn.thought,
        "call": None if call is None else {"name": call.name, "arguments": dict(call.arguments)},
        "result": None if result is None else {"is_ok": result.is_ok, "text": result.text, **_pictures(result.images)},
        "shown": None if turn.observation is None else turn.observation.text,
    }


def usage(played: Sequence[PlayedEpisode]) -> Json:
    """Sums over all samples of a request: a prompt of several samples counts for each."""
    prompt = sum(one.prompt_tokens for one in played)
    written = sum(one.completion_tokens for one in played)
    answers = sum(one.answer_tokens for one in played)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "completion_tokens_details": {"reasoning_tokens": max(0, written - answers)},
    }


def trace_of(ident: str, played: Sequence[PlayedEpisode]) -> Json:
    """Where the trajectories are, and how each ended."""
    ends: list[Json] = [
        {
            "status": one.trajectory.status,
            "turns": len(one.trajectory.turns),
            "tool_calls": sum(turn.result is not None for turn in one.trajectory.turns),
        }
        for one in played
    ]
    return {"trace": f"/traces/{ident}", "trajectories": ends}


def _pictures(images: Sequence[ImageRef]) -> dict[str, Json]:
    return {"images": [{"hash": image.hash, "width": image.width, "height": image.height} for image in images]}
