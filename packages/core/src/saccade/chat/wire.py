"""Chat completions as JSON: messages as servers take them, replies checked, cached on disk, the meaning of a status."""

import base64
import hashlib
import json
import re
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

_TOO_LONG = re.compile(r"context[ _](?:length|size|window)|(?:prompt|input) is too long", re.IGNORECASE)
_UNFINISHED = ("abort", "error", "cancelled")
"""Reasons to finish that are the server's own: what there is of such a reply is not what the model had to say."""
_STOPPED_SILENT = ("content_filter", "length")

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

    @property
    def is_about_length(self) -> bool:
        """The conversation has become longer than the model's context, in the words of the servers that are known."""
        return self.is_about_one_request and _TOO_LONG.search(str(self)) is not None


class BrokenReplyError(Exception):
    """A reply that is not what the interface promises; asking again may help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """The texts of a reply in their order, and the tokens that the server says it counted (0 when it does not)."""

    FORM: ClassVar = Form(sparse=("cut_off", "refused"))

    texts: tuple[str, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cut_off: tuple[bool, ...] = ()
    """Whether a limit on tokens ended each text; empty where that is not known."""
    refused: tuple[bool, ...] = ()
    """Whether the server marks each text as a refusal or says that a filter took it; empty where it says so of none."""


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
    refused = tuple(_is_refused(one) for one in choices)
    return ChatReply(
        texts=tuple(_text(choice) for choice in choices),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        cut_off=tuple(isinstance(one, dict) and one.get("finish_reason") == "length" for one in choices),
        refused=refused if any(refused) else (),
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
    """What the model said, did or refused to say. BrokenReplyError where the machine did not let it end."""
    fields = choice if isinstance(choice, dict) else {}
    message, finish = fields.get("message"), fields.get("finish_reason")
    if not isinstance(message, dict) and finish in _STOPPED_SILENT:
        message = {}
    if not isinstance(message, dict) or finish in _UNFINISHED:
        raise BrokenReplyError(f"a choice has no text, or was broken off: {str(choice)[:200]}")
    content, calls = message.get("content"), _calls(message)
    said = _content_text(content) or _content_text(message.get("refusal"))
    if content is None or (calls and not said):
        said = said or _thought_text(message)
    if not (said or calls) and content is None and finish is None:
        raise BrokenReplyError(f"a choice has no text and does not say why: {str(choice)[:200]}")
    return whole_characters(said + calls)


def _is_refused(choice: Json) -> bool:
    message = choice.get("message") if isinstance(choice, dict) else None
    is_said = isinstance(message, dict) and bool(message.get("refusal"))
    return is_said or (isinstance(choice, dict) and choice.get("finish_reason") == "content_filter")


def _content_text(content: Json) -> str:
    """A text, or the texts of parts."""
    if isinstance(content, list):
        parts = [part.get("text") or part.get("refusal") if isinstance(part, dict) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    if content is not None and not isinstance(content, str):
        raise BrokenReplyError(f"a content is no text: {str(content)[:200]}")
    return content or ""


def _thought_text(message: Mapping[str, Json]) -> str:
    thought = message.get("reasoning_content") or message.get("reasoning")
    return f"<think>{thought}</think>" if isinstance(thought, str) and thought.strip() else ""


def _calls(message: Mapping[str, Json]) -> str:
    """The calls that a server has taken out of the text, written back as the Qwen and Hermes families write them.

    Arguments that are no JSON stay as the model wrote them, for whoever reads the turn to refuse.
    """
    listed = message.get("tool_calls")
    functions = [one.get("function") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    text = ""
    for function in [*functions, message.get("function_call")]:
        if isinstance(function, dict):
            given = function.get("arguments")
            arguments = given if isinstance(given, str) else json.dumps(given or {})
            name = json.dumps(function.get("name"), ensure_ascii=False)
            text += f'<tool_call>{{"name": {name}, "arguments": {arguments or "{}"}}}</tool_call>'
    return text


def _count(usage: Json, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 53 else 0


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
