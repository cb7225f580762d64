"""Chat completions as JSON: messages as servers take them, replies checked, cached on disk, the meaning of a status."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from PIL import Image

from saccade.atomic import write_whole
from saccade.characters import whole_characters
from saccade.codec.codecs import PLAIN_CODEC
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.media.encode import png_bytes
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.plain_files import plain_bytes
from saccade.retries import TryAgainError, asked_wait_s
from saccade.types import ImageRef, Json, Message

ImageUrl = Callable[[ImageRef], str]

WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})
"""Besides everything from 500 on."""

ABOUT_ONE_REQUEST = frozenset({400, 413, 422})

SHOWN_CHARACTERS = 300

_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    # The servers' own tool role answers calls by their ids, and ours are written in the text.
    "tool": "user",
}


class RefusedRequestError(UserError):
    """The server will not answer this request, however often it is asked."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_about_one_request(self) -> bool:
        """Another request may well be taken: this one was too long, say."""
        return self.status in ABOUT_ONE_REQUEST


class BrokenReplyError(Exception):
    """A reply that is not what the interface promises; asking again may help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """The texts of a reply in their order, and the tokens that the server says it counted (0 when it does not)."""

    FORM: ClassVar = Form(sparse=("cut_off",))

    texts: tuple[str, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cut_off: tuple[bool, ...] = ()
    """Whether a limit on tokens ended each text; empty where that is not known."""


def wire_messages(messages: Sequence[Message], image_url: ImageUrl) -> list[Json]:
    """The messages as JSON; those of text alone carry plain text, which every server understands."""
    return [{"role": _ROLES[message.role], "content": _content(message, image_url)} for message in messages]


def data_urls(media: MediaStore, view: ViewRule | None = None) -> ImageUrl:
    """Images as PNG inside the request itself, for the server need not reach this machine; resized to their view."""

    def data_url(image: ImageRef) -> str:
        picture = media.get(image)
        size = picture.size if view is None else view.view_size(*picture.size)
        if size != picture.size:
            picture = picture.resize(size, Image.Resampling.BICUBIC)
        return "data:image/png;base64," + base64.b64encode(png_bytes(picture)).decode("ascii")

    return data_url


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredPrompt:
    """The tokens of a conversation, each with its log-probability given those before it; None for the first."""

    ids: tuple[int, ...]
    logprobs: tuple[float | None, ...]


def read_prompt_logprobs(body: str) -> ScoredPrompt:
    """The prompt's log-probabilities of a chat completion, as vLLM writes them.

    UserError for a reply without them: the server does not know the field. BrokenReplyError for one that is damaged.
    """
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        raise BrokenReplyError(f"the reply is not JSON but {body[:80]!r}") from None
    fields = value if isinstance(value, dict) else {}
    ids, logprobs = fields.get("prompt_token_ids"), fields.get("prompt_logprobs")
    if not isinstance(ids, list) or not isinstance(logprobs, list):
        raise UserError(
            "the server gives no log-probabilities of prompts (prompt_token_ids and prompt_logprobs are missing from "
            "its reply); vLLM does, OpenAI does not: name another server, or score by a checkpoint directory"
        )
    found = [_logprob_of(token, entry) for token, entry in zip(ids, logprobs)]
    if len(ids) != len(logprobs) or any(one is None for one in found[1:]):
        raise BrokenReplyError("the log-probabilities of the prompt do not fit its tokens")
    return ScoredPrompt(ids=tuple(token for token in ids if isinstance(token, int)), logprobs=tuple(found))


def _logprob_of(token: Json, entry: Json) -> float | None:
    """The token's own log-probability of an entry, whose keys are ids written as strings."""
    own = entry.get(str(token)) if isinstance(entry, dict) else None
    value = own.get("logprob") if isinstance(own, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


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
        cut_off=tuple(isinstance(one, dict) and one.get("finish_reason") == "length" for one in choices),
    )


def refusal(
    status: int, body: str, headers: Mapping[str, str], *, base_url: str, model: str
) -> TryAgainError | RefusedRequestError:
    """The error to raise for a status that is no success."""
    said = " ".join(body.split())[:SHOWN_CHARACTERS]
    # A quota that is used up comes as 429 too, and no waiting brings it back.
    is_quota = "insufficient_quota" in body
    if (status in WORTH_ANOTHER_TRY or status >= 500) and not is_quota:
        return TryAgainError(f"status {status}: {said}", asked_wait_s(headers))
    if is_quota:
        advice = "the quota of this key is used up; raise it, or choose another key"
    elif status in (401, 403):
        advice = "give the server's key in OPENAI_API_KEY or as api_key"
    elif status in (404, 405):
        advice = (
            f"see that the address ends before /chat/completions, and that {model!r} is one of the models in "
            f"{base_url}/models"
        )
    else:
        advice = (
            "see that the model takes images, that the texts fit into its context, and that the server knows every "
            "field of the request (extra_body changes them)"
        )
    return RefusedRequestError(f"{base_url} refuses the request with status {status}: {said}\n{advice}", status)


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
    if content is None and isinstance(message, dict) and isinstance(choice, dict):
        content = _without_content(message, choice.get("finish_reason"))
    if not isinstance(content, str):
        raise BrokenReplyError(f"a choice has no text: {str(choice)[:200]}")
    return whole_characters(content)


def _without_content(message: Mapping[str, Json], finish: Json) -> str | None:
    """What a model said that gave no content: its thought, its refusal, or nothing; None where the reply is broken.

    These are outcomes of the model and not of the machine: asking again would only give it another try.
    """
    thought = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thought, str) and thought.strip():
        return f"<think>{thought}</think>"
    said = message.get("refusal")
    if isinstance(said, str):
        return said
    # A reasoning model that spent all its tokens on thoughts which the server keeps to itself, or a filter.
    return "" if finish in ("length", "content_filter", "stop") and "content" in message else None


def _count(usage: Json, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def request_key(request: Json) -> str:
    """SHA-256 of everything that a request says; the order of its keys does not matter."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode("ascii")).hexdigest()


class ReplyCache:
    """Replies on disk by the key of their request, one small file each; safe for many processes at once.

    A file that cannot be read is as good as none: the server is asked again.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> ChatReply | None:
        try:
            reply = PLAIN_CODEC.read(ChatReply, plain_bytes(self._path(key)), "the reply")
        except (OSError, BrokenRecordError):
            return None
        return reply if reply.texts else None

    def put(self, key: str, reply: ChatReply) -> None:
        """Written beside and renamed, so that no half reply is ever read. UserError when it cannot be written."""
        path = self._path(key)
        try:
            write_whole(PLAIN_CODEC.text(reply).encode("ascii"), path)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written ({error.strerror}); free some space, or keep the replies in another folder"
            ) from error

    def _path(self, key: str) -> Path:
        return self._directory / key[:2] / f"{key}.json"
