"""Chat messages of other trainers as a task and a trajectory: turns, calls, what tools showed, pictures where they are.

There are no tokens and no frames here: boxes and points among a call's arguments are shown as they stand.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from saccade.types import (
    Action,
    Answer,
    Attempt,
    ImageRef,
    Json,
    Observation,
    Score,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)
from saccade.viewer.store.shelf import Shelf

FOREIGN = "foreign"
"""Source of a task that another trainer's file asks."""
MAX_TURNS, MAX_TEXT, MAX_TERMS = 200, 400_000, 64
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_SHOWN = re.compile(
    r"(?:<\|im_end\|>|</s>)?\s*(?:<\|im_start\|>)?(?:user|tool)?\s*<tool_response>(.*?)</tool_response>\s*"
    r"(?:<\|im_end\|>\s*)?(?:<\|im_start\|>)?(?:assistant)?",
    re.DOTALL,
)
_ROLES: Mapping[str, str] = {"human": "user", "gpt": "assistant", "model": "assistant", "function": "tool"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a foreign record says beside its messages."""

    task: str
    family: str = "foreign"
    question: str = ""
    """The last words of the user before the first turn, where this is empty."""
    expected: str = ""
    stream: str = "main"
    sample: int = 0
    rewards: Mapping[str, float] = field(default_factory=dict)
    total: float | None = None
    """The reward, where the parts do not add up to it: a part of its own then holds the rest."""
    is_right: bool | None = None
    advantage: float | None = None
    status: TrajectoryStatus = "answered"
    failure: str = ""
    images: tuple[ImageRef, ...] = ()
    """Pictures of the question that stand beside the messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignMessage:
    """One message: its text, its pictures, its calls."""

    role: str
    text: str
    images: tuple[ImageRef, ...] = ()
    calls: tuple[ToolCall, ...] = ()


def attempt_of(messages: Sequence[ForeignMessage], told: Told) -> Attempt:
    """The prompt up to the first turn of the assistant is the question, and all after it the trajectory."""
    first = next((place for place, one in enumerate(messages) if one.role == "assistant"), len(messages))
    asked = [one for one in messages[:first] if one.role != "system"]
    question = told.question or (asked[-1].text if asked else "")
    images = told.images or tuple(image for one in asked for image in one.images)
    task = Task(
        id=told.task,
        family=told.family,
        question=question[:MAX_TEXT],
        answer=told.expected,
        answer_kind="text",
        images=images,
        source=FOREIGN,
    )
    turns = tuple(_turns(messages[first:]))[:MAX_TURNS]
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream=told.stream,
        sample=told.sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=turns,
        status=told.status,
        failure=told.failure,
        score=_score(told),
    )
    advantages = None if told.advantage is None else (told.advantage,) * max(1, len(turns))
    return Attempt(task=task, trajectory=trajectory, advantages=advantages)


def _score(told: Told) -> Score | None:
    if not told.rewards and told.total is None and told.is_right is None:
        return None
    terms = [Term(name, value) for name, value in list(told.rewards.items())[:MAX_TERMS] if math.isfinite(value)]
    if told.total is not None and math.isfinite(told.total):
        rest = told.total - sum(term.value for term in terms)
        if not terms:
            terms = [Term("reward", told.total)]
        elif abs(rest) > 1e-9:
            # Weights are not written down: the parts are shown, and the total stays what it was.
            terms = [replace(term, weight=0.0) for term in terms]
            terms.append(Term("total as recorded", told.total))
    return Score(terms=tuple({term.name: term for term in terms}.values()), is_right=told.is_right)


def _turns(messages: Sequence[ForeignMessage]) -> Iterator[Turn]:
    index = 0
    for place, message in enumerate(messages):
        if message.role != "assistant":
            continue
        shown: list[ForeignMessage] = []
        for other in messages[place + 1 :]:
            if other.role == "assistant":
                break
            shown.append(other)
        yield _turn(index, message, shown)
        index += 1


def _turn(index: int, message: ForeignMessage, shown: Sequence[ForeignMessage]) -> Turn:
    text = message.text[:MAX_TEXT]
    thought, final = _parted(text)
    calls = message.calls or tuple(written_calls(final))
    between = _ANSWER.search(final)
    action: Action = calls[0] if calls else Answer(text=(between[1] if between else final).strip())
    words = "\n\n".join(one.text for one in shown)[:MAX_TEXT]
    images = tuple(image for one in shown for image in one.images)
    is_seen = bool(words or images)
    return Turn(
        index=index,
        text=text or "\n".join(_call_text(call) for call in calls),
        thought=thought,
        action=action,
        is_well_formed=True,
        result=ToolResult(text=words, images=images) if calls and is_seen else None,
        observation=Observation(text=words, images=images) if is_seen else None,
    )


def _parted(text: str) -> tuple[str, str]:
    """The first thought of a turn, and what it says outside of thoughts; one that never ends takes all that follows."""
    opened, closed = text.find("<think>"), text.find("</think>")
    # The chat template had opened it, so that the reply holds its end alone.
    whole = f"<think>{text}" if closed >= 0 and (opened < 0 or closed < opened) else text
    final, _, unended = _THOUGHT.sub("", whole).partition("<think>")
    found = _THOUGHT.search(whole)
    return (found[1] if found else unended).strip(), final


def _call_text(call: ToolCall) -> str:
    return json.dumps({"name": call.name, "arguments": dict(call.arguments)}, ensure_ascii=False, default=str)


def written_calls(text: str) -> Iterator[ToolCall]:
    """Calls that stand in the text as ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``."""
    for found in _CALL.finditer(text):
        try:
            value = json.loads(found[1])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield ToolCall(name=value["name"], arguments=_arguments(value.get("arguments")))


def _arguments(value: Json) -> Mapping[str, Json]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"arguments": value}
    return value if isinstance(value, Mapping) else {}


def messages_from(value: Json, shelf: Shelf) -> list[ForeignMessage]:
    """Messages of OpenAI's form, of ShareGPT's (``from``, ``value``), or a text, which is one of the user."""
    if isinstance(value, str):
        return [ForeignMessage(role="user", text=value[:MAX_TEXT])]
    found: list[ForeignMessage] = []
    for item in value if isinstance(value, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        role = str(item.get("role", item.get("from", "user")))
        text, images = _content(item.get("content", item.get("value")), shelf)
        reasoning = item.get("reasoning_content") or item.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            text = f"<think>{reasoning}</think>\n{text}"
        calls = tuple(_call(call) for call in _list_or_empty(item.get("tool_calls")) if isinstance(call, Mapping))
        found.append(ForeignMessage(role=_ROLES.get(role, role), text=text, images=images, calls=calls))
        if len(found) > 4 * MAX_TURNS:
            break
    return found


def completion_from(value: Json, shelf: Shelf) -> list[ForeignMessage]:
    """A completion: messages, or one text in which the answers of tools stand between tags."""
    if not isinstance(value, str):
        return messages_from(value, shelf)
    found: list[ForeignMessage] = []
    end = 0
    for shown in _SHOWN.finditer(value):
        found.append(ForeignMessage(role="assistant", text=value[end : shown.start()].strip()))
        found.append(ForeignMessage(role="tool", text=shown[1].strip()))
        end = shown.end()
    if (rest := value[end:].strip()) or not found:
        found.append(ForeignMessage(role="assistant", text=rest))
    return found


def _content(value: Json, shelf: Shelf) -> tuple[str, tuple[ImageRef, ...]]:
    if isinstance(value, str):
        return value[:MAX_TEXT], ()
    texts: list[str] = []
    images: list[ImageRef] = []
    for part in _list_or_empty(value):
        if isinstance(part, str):
            texts.append(part)
        if not isinstance(part, Mapping):
            continue
        if isinstance(text := part.get("text"), str):
            texts.append(text)
        elif isinstance(text := part.get("reasoning"), str):
            texts.append(f"<think>{text}</think>")
        elif str(part.get("type", "")).startswith(("image", "input_image")):
            where = part.get("image_url", part.get("image", part.get("path")))
            image = shelf.keep(where.get("url") if isinstance(where, Mapping) else where)
            if image is None:
                texts.append("[a picture that this file does not hold]")
            else:
                images.append(image)
    return "\n".join(texts)[:MAX_TEXT], tuple(images)


def _call(value: Mapping[str, Json]) -> ToolCall:
    function = value.get("function", value)
    if isinstance(function, Mapping):
        return ToolCall(name=str(function.get("name", "")), arguments=_arguments(function.get("arguments")))
    return ToolCall(name=str(function), arguments=_arguments(value.get("arguments")))


def _list_or_empty(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()
