"""Things and events that question and answer speak of: by a model's JSON, or by the names that a task itself has.

At most ``MAX_NAMES`` of each (appendix C.1). A model may write anything: ``read_things`` takes names alone, each once.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.curation.codedance.prompts import question_of
from saccade.rewards.argos.model_regions import asked_label
from saccade.rewards.argos.spatial import plain_label
from saccade.tasks.rows.fields import is_encodable
from saccade.types import ImageRef, Json, Message, Task

MAX_NAMES = 10
MAX_REPLY_CHARS = 1 << 16
MAX_EVENT_CHARS = 160

_OBJECTS_TRIED = 8
"""Opening braces from which JSON is read, for there may be others in the words before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEvent:
    """What happens, and when, where that is known."""

    what: str
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedThings:
    """What is to be pointed at, and what happens."""

    things: tuple[str, ...] = ()
    events: tuple[NamedEvent, ...] = ()


def asked_things(task: Task) -> tuple[Message, ...]:
    """Prompt for the things and events of a question with its answer; ``read_things`` reads the reply."""
    is_video = bool(task.frame_times_s)
    parts: list[str | ImageRef] = []
    for index, image in enumerate(task.images):
        parts += [f"{task.frame_times_s[index]:.2f} s:" if is_video else f"Image {index + 1}:", image]
    events = (
        '"events": [{"what": "the cup tilts", "from_s": 1.5, "to_s": 3.0}], what happens in the video and when, by the '
        "times above"
        if is_video
        else '"events": [{"what": "the hand holds the cup"}], what the things do with each other'
    )
    words = (
        f"A question about the {'video' if is_video else 'picture'} above, and its answer.\n"
        f"Question: {question_of(task)}\nAnswer: {task.answer}\n\n"
        "Which visible things does one have to look at to answer it? Name each once, as an object detector would have "
        f'to be asked for it: a noun with what tells it from others, such as "red cup". At most {MAX_NAMES}, the most '
        "important first; parts only where they matter by themselves; nothing that covers the whole picture; nothing "
        "that cannot be seen.\n"
        f'Reply with one JSON object and nothing else: {{"things": ["red cup"], {events}}}; at most {MAX_NAMES} '
        "events, and an empty list where there are none."
    )
    return (Message(role="user", parts=(*parts, words)),)


def read_things(reply: str, task: Task) -> NamedThings | None:
    """The names in a reply, None where there are none; never raises."""
    for value in _json_objects(reply[:MAX_REPLY_CHARS]):
        things = _different([_name(one) for one in _list(value.get("things"))])
        events = [event for one in _list(value.get("events")) if (event := _event(one, task)) is not None]
        if things or events:
            return NamedThings(things=things, events=tuple(dict.fromkeys(events))[:MAX_NAMES])
    return None


def known_things(task: Task) -> NamedThings:
    """Names by rules: labels of targets, else the drawn things that question or answer name, else all of these."""
    if labels := _different([target.label for target in task.targets]):
        return NamedThings(things=labels)
    names = _different([one.name for one in task.objects])
    said = plain_label(f"{question_of(task)} {task.answer}")
    return NamedThings(things=tuple(name for name in names if _holds(said, name))[:MAX_NAMES] or names)


def _json_objects(text: str) -> list[Mapping[str, Json]]:
    found: list[Mapping[str, Json]] = []
    decoder = json.JSONDecoder()
    for match in list(re.finditer(r"\{", text))[:_OBJECTS_TRIED]:
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []


def _name(value: Json) -> str:
    if isinstance(value, dict):
        value = next((value[key] for key in ("name", "label", "thing") if key in value), None)
    return value if isinstance(value, str) and is_encodable(value) else ""


def _different(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that can be looked for, each once, at most ``MAX_NAMES``."""
    by_plain: dict[str, str] = {}
    for label in labels:
        asked = asked_label(re.sub(r"[<>\"]", "", label))
        if asked:
            by_plain.setdefault(plain_label(asked), asked)
    return tuple(by_plain.values())[:MAX_NAMES]


def _event(value: Json, task: Task) -> NamedEvent | None:
    fields = value if isinstance(value, dict) else {"what": value}
    what = fields.get("what")
    if not isinstance(what, str) or not is_encodable(what) or not (plain := " ".join(what.split())):
        return None
    start, end = (_moment(fields.get(key), task) for key in ("from_s", "to_s"))
    if start is not None and end is not None and start > end:
        start = end = None
    return NamedEvent(what=plain[:MAX_EVENT_CHARS], from_s=start, to_s=end)


def _moment(value: Json, task: Task) -> float | None:
    """A time inside of the video; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not task.frame_times_s:
        return None
    # Compared before it is converted: an int of a thousand digits is no float.
    return float(value) if 0 <= value <= task.frame_times_s[-1] and not math.isnan(value) else None


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(plain_label(name))}(?!\w)", text) is not None
