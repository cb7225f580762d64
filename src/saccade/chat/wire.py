"""Chat messages as servers of OpenAI's chat completions take them, and their replies read with suspicion."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.media.store import MediaStore, png_bytes
from saccade.types import ImageRef, Json, Message

ImageUrl = Callable[[ImageRef], str]

_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    # The servers' own tool role answers calls by their ids, and ours are written in the text.
    "tool": "user",
}


class BrokenReplyError(Exception):
    """A reply that is not what the interface promises; asking again may help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """The texts of a reply in their order, and the tokens that the server says it counted (0 when it does not)."""

    texts: tuple[str, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def as_json(self) -> dict[str, Json]:
        return {
            "texts": list(self.texts),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }


def wire_messages(messages: Sequence[Message], image_url: ImageUrl) -> list[Json]:
    """The messages as JSON; those of text alone carry plain text, which every server understands."""
    return [{"role": _ROLES[message.role], "content": _content(message, image_url)} for message in messages]


def data_urls(media: MediaStore) -> ImageUrl:
    """Images as PNG inside the request itself, for the server need not reach this machine."""

    def data_url(image: ImageRef) -> str:
        return "data:image/png;base64," + base64.b64encode(png_bytes(media.get(image))).decode("ascii")

    return data_url


def read_reply(body: str) -> ChatReply:
    """The reply of a chat completion. Raises BrokenReplyError that says what is wrong with it."""
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        raise BrokenReplyError(f"the reply is not JSON but {body[:80]!r}") from None
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not choices:
        raise BrokenReplyError(f"the reply has no choices: {body[:200]!r}")
    usage = value.get("usage") if isinstance(value, dict) else None
    return ChatReply(
        texts=tuple(_text(choice) for choice in choices),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def _content(message: Message, image_url: ImageUrl) -> Json:
    if all(isinstance(part, str) for part in message.parts):
        return "".join(str(part) for part in message.parts)
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": image_url(part)}}
        for part in message.parts
    ]


def _text(choice: Json) -> str:
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str)) or None
    if content is None and isinstance(choice, dict) and choice.get("finish_reason") == "length":
        # A reasoning model that spent all its tokens on thoughts which the server keeps to itself.
        return ""
    if not isinstance(content, str):
        raise BrokenReplyError(f"a choice has no text: {str(choice)[:200]}")
    # Half a surrogate pair passes JSON, but no UTF-8 file could hold it.
    return content.encode("utf-8", errors="replace").decode("utf-8")


def _count(usage: Json, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
