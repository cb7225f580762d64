"""Files of messages of any program: OpenAI's form (also requests with their responses, and batches), ShareGPT's.

Rewards are read by name: ``rewards``, ``scores`` or ``metrics`` with numbers, or keys that end in ``_reward``.
"""

from collections.abc import Mapping
from functools import partial

from saccade.geometry import Box
from saccade.types import Attempt, ImageRef, Json, Target
from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.foreign_boxes import MAX_BOXES, in_pixels
from saccade.viewer.store.foreign_lines import Fields, LineKind, as_number, list_pictures, numbers_of, text_of
from saccade.viewer.store.message_reading import ForeignMessage, completion_from, list_or_empty, messages_from
from saccade.viewer.store.messages import Told, attempt_of, question_id
from saccade.viewer.store.shelf import Shelf

_NAMED = ("rewards", "scores", "metrics", "reward_components")
_LISTED = ("images", "image", "image_path", "image_paths")


def messages_kind(fields: FieldMap) -> LineKind:
    """Any file of messages, by the names of its fields."""
    return LineKind(
        name="messages",
        stage="messages",
        is_one=partial(_is_messages, fields),
        to_attempt=partial(_attempt, fields),
        words="The file holds no pictures that the viewer may show: data URLs, base64, and paths inside of its folder.",
    )


def _is_messages(fields: FieldMap, value: Fields) -> bool:
    if any(isinstance(value.get(name), list) for name in (fields.messages, "conversations")):
        return True
    if fields.prompt in value and fields.completion in value:
        return True
    return isinstance(_request(fields, value).get(fields.messages, ""), list)


def _request(fields: FieldMap, value: Fields) -> Fields:
    """The request of a log of requests, or of OpenAI's batches."""
    for name in ("request", "body", "input", "kwargs"):
        inner = value.get(name)
        if isinstance(inner, Mapping) and fields.messages in inner:
            return inner
    return {}


def _answered(value: Fields) -> Json:
    """The message of a response's first choice."""
    for name in ("response", "completion", "output"):
        inner = value.get(name)
        if isinstance(inner, Mapping):
            inner = inner.get("body", inner)
        if isinstance(inner, Mapping):
            value = inner
            break
    first = next(iter(list_or_empty(value.get("choices"))), None)
    message = first.get("message") if isinstance(first, Mapping) else None
    return [message] if isinstance(message, Mapping) else []


def _attempt(fields: FieldMap, value: Fields, shelf: Shelf, _number: int) -> Attempt:
    listed = next((value[name] for name in (fields.images, *_LISTED) if value.get(name)), [])
    messages = spoken(fields, value, list_pictures(listed), shelf)
    right = value.get(fields.right, value.get("correct"))
    first = next((image for one in messages for image in one.images), None)
    told = Told(
        task=str(value.get(fields.id, value.get("custom_id") or question_id(messages, shelf)))[:400],
        family=text_of(value.get("family")) or "messages",
        expected=text_of(value.get(fields.answer, value.get("solution"))),
        total=as_number(value.get(fields.reward)),
        rewards=named_rewards(value),
        advantage=as_number(value.get("advantage")),
        is_right=right if isinstance(right, bool) else None,
        targets=targets_of(value.get("objects"), first),
    )
    return attempt_of(messages, told)


def spoken(fields: FieldMap, value: Fields, listed: list[Json], shelf: Shelf) -> list[ForeignMessage]:
    """The conversation of a record, wherever it stands. ValueError where there is none."""
    request = _request(fields, value)
    told = value.get(fields.messages, value.get("conversations")) or request.get(fields.messages)
    if told:
        messages = messages_from(told, shelf, listed)
        if messages and messages[-1].role != "assistant":
            messages += messages_from(_answered(value), shelf)
    else:
        prompt = messages_from(value.get(fields.prompt), shelf, listed)
        messages = [*prompt, *completion_from(value.get(fields.completion), shelf)]
    if not messages:
        raise ValueError("no messages")
    return messages


def named_rewards(value: Fields) -> dict[str, float]:
    found = {name: one for name, one in numbers_of(value).items() if name.endswith(("_reward", "_score"))}
    for name in (*_NAMED, "reward", "score"):
        found |= numbers_of(value.get(name))
    return found


def targets_of(objects: Json, image: ImageRef | None) -> tuple[Target, ...]:
    """Regions of ms-swift's ``objects``: ``{"ref": [name, …], "bbox": [[x1, y1, x2, y2], …]}``."""
    if not isinstance(objects, Mapping) or image is None:
        return ()
    names, found = list_or_empty(objects.get("ref")), []
    for place, box in enumerate(list_or_empty(objects.get("bbox"))[:MAX_BOXES]):
        numbers = [number for one in list_or_empty(box) if (number := as_number(one)) is not None]
        shape = in_pixels("", numbers, image) if len(numbers) == 4 else None
        if shape is not None:
            corners = Box(*shape)
            label = str(names[place])[:200] if place < len(names) else ""
            found.append(Target(label=label, box=corners, point=corners.center))
    return tuple(found)
