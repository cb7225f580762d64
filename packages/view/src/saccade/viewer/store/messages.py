"""Chat messages of other trainers as a task and a trajectory: turns, calls, what tools showed, pictures where they are.

There are no tokens here. Boxes that a turn names are in pixels of the question's first picture (``foreign_boxes.py``);
a call's arguments stay as they stand.
"""

import hashlib
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
    Observation,
    Score,
    Target,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)
from saccade.viewer.store.foreign_boxes import boxes_in
from saccade.viewer.store.message_reading import CALL, MAX_TEXT, MAX_TURNS, ForeignMessage, written_calls
from saccade.viewer.store.shelf import Shelf

FOREIGN = "foreign"
"""Source of a task that another trainer's file asks."""
MAX_TERMS = 64
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)


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
    targets: tuple[Target, ...] = ()
    """Regions that the file names as the question's."""


def question_id(messages: Sequence[ForeignMessage], shelf: Shelf) -> str:
    """Identity of a question that has no id: the words of the user, and the record's first picture."""
    asked = "\n".join(one.text for one in messages if one.role == "user")
    return hashlib.blake2b(f"{asked}{shelf.identity}".encode("utf-8", "replace"), digest_size=8).hexdigest()


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
        targets=told.targets,
        source=FOREIGN,
    )
    turns = tuple(_turns(messages[first:], images[0] if images else None))[:MAX_TURNS]
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


def _turns(messages: Sequence[ForeignMessage], image: ImageRef | None) -> Iterator[Turn]:
    index = 0
    for place, message in enumerate(messages):
        if message.role != "assistant":
            continue
        shown: list[ForeignMessage] = []
        for other in messages[place + 1 :]:
            if other.role == "assistant":
                break
            shown.append(other)
        yield _turn(index, message, shown, image)
        index += 1


def _turn(index: int, message: ForeignMessage, shown: Sequence[ForeignMessage], image: ImageRef | None) -> Turn:
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
        boxes=() if image is None else boxes_in(CALL.sub("", text), image),
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
