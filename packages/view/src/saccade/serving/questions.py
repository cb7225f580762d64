"""Chat completion requests read: one question with its pictures, and how it is to be sampled.

Whatever a client sends becomes the text of one question: its instructions and earlier turns in words before it, its
pictures where they stand between words. So no text of a client has a role of its own in the chat, and its special
tokens, and whatever reads as the place of a picture, are taken apart before the template sees them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from saccade.codec.text import parsed_whole
from saccade.interleaving import mark, without_marks
from saccade.serving.settings import AgentServerSettings
from saccade.types import Json

_IGNORED = frozenset(
    {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier", "prompt_cache_key"}
)
"""Fields that change nothing about a reply here."""

_NEUTRAL: Mapping[str, tuple[Json, ...]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}
"""Fields that may be there with the values that ask for nothing."""

_READ = frozenset(
    {"model", "messages", "n", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "seed", "stop"}
    | {"stream", "stream_options"}
)
MOST_SEED = 1 << 63
MOST_TOKENS = 1 << 31
_SHOWN = 80


class AskedWrongError(Exception):
    """A request that is not what the interface promises; ``param`` names the place."""

    def __init__(self, message: str, param: str | None = None, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.status = status
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class SentPicture:
    """A picture of a request as it was sent: a data URL or an address."""

    url: str
    place: str
    """Its place in the request, for messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatQuestion:
    """A request."""

    question: str
    pictures: tuple[SentPicture, ...]
    is_interleaved: bool = False
    """Whether the question has the places of its pictures; else they stand before it."""
    samples: int = 1
    max_tokens: int | None = None
    """Limit of the reply that is sent back."""
    max_completion_tokens: int | None = None
    """Limit of all that the model writes in an episode."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    streams: bool = False
    wants_usage: bool = False
    """Whether a stream ends with the sums of its tokens."""


def read_request(body: bytes, settings: AgentServerSettings) -> ChatQuestion:
    """Raises ``AskedWrongError``."""
    try:
        # Also of bytes that are no UTF-8, and of objects nested too deep.
        value = parsed_whole(body)
    except (ValueError, RecursionError) as error:
        raise AskedWrongError(f"the body cannot be read as JSON: {str(error)[:_SHOWN]}") from None
    if not isinstance(value, dict):
        raise AskedWrongError("the body must be a JSON object with model and messages")
    _check_fields(value)
    _check_model(value.get("model"), settings.name)
    question, pictures, is_interleaved = _conversation(value.get("messages"), settings)
    streams = _truth(value, "stream")
    options = value.get("stream_options")
    return ChatQuestion(
        question=question,
        pictures=pictures,
        is_interleaved=is_interleaved,
        samples=_whole(value, "n", 1, settings.most_samples) or 1,
        max_tokens=_whole(value, "max_tokens", 1, MOST_TOKENS),
        max_completion_tokens=_whole(value, "max_completion_tokens", 1, MOST_TOKENS),
        temperature=_number(value, "temperature", 0.0, 2.0),
        top_p=_number(value, "top_p", 1e-6, 1.0),
        top_k=_whole(value, "top_k", -1, MOST_TOKENS),
        seed=_whole(value, "seed", 0, MOST_SEED - 1),
        stop=_stops(value.get("stop")),
        streams=streams,
        wants_usage=streams and isinstance(options, dict) and options.get("include_usage") is True,
    )


def _check_fields(value: Mapping[str, Json]) -> None:
    for name, given in value.items():
        if name in _READ or name in _IGNORED or given is None:
            continue
        if name not in _NEUTRAL:
            raise AskedWrongError(f"this server does not know the field {name[:_SHOWN]!r}; leave it out", name[:_SHOWN])
        if given not in _NEUTRAL[name]:
            why = "it has tools of its own" if name in ("tools", "tool_choice", "functions") else "it cannot do that"
            raise AskedWrongError(f"this server takes no {name}: {why}; leave the field out", name)


def _check_model(model: Json, name: str) -> None:
    if not isinstance(model, str):
        raise AskedWrongError("model must be the name of a model; see /v1/models", "model")
    if model != name:
        raise AskedWrongError(
            f"there is no model {model[:_SHOWN]!r} here; the model is {name!r}",
            "model",
            status=404,
            code="model_not_found",
        )


def _conversation(messages: Json, settings: AgentServerSettings) -> tuple[str, tuple[SentPicture, ...], bool]:
    """The question in words, all pictures in their order, and whether the words have their places."""
    if not isinstance(messages, list) or not messages:
        raise AskedWrongError("messages must be a list of at least one message", "messages")
    if len(messages) > settings.max_messages:
        raise AskedWrongError(
            f"{len(messages)} messages are more than the {settings.max_messages} that are allowed", "messages"
        )
    pictures: list[SentPicture] = []
    said: list[tuple[str, str]] = []
    for index, message in enumerate(messages):
        said.append(_message(message, f"messages[{index}]", pictures, settings))
    if said[-1][0] != "user":
        raise AskedWrongError("the last message must be the user's, for it is the one that is answered", "messages")
    if sum(len(text) for _, text in said) > settings.max_text_chars:
        raise AskedWrongError(
            f"the texts have more than {settings.max_text_chars} characters", "messages", code="context_length_exceeded"
        )
    places = "".join(mark(number) for number in range(1, len(pictures) + 1))
    is_apart = _is_apart([text for role, text in said if role != "system"], places)
    question = _in_one([(role, text.replace(places, "").strip()) for role, text in said] if is_apart else said)
    if not question.strip() and not pictures:
        raise AskedWrongError("nothing is asked: the messages are empty", "messages")
    return question, tuple(pictures), not is_apart


def _is_apart(texts: Sequence[str], places: str) -> bool:
    """Whether no picture stands between words: all are before the first ones, or at an end of the question."""
    return texts[0].startswith(places) or texts[-1].startswith(places) or texts[-1].endswith(places)


def _in_one(said: Sequence[tuple[str, str]]) -> str:
    """Instructions, then earlier turns by name, then the question."""
    instructions = [text for role, text in said[:-1] if role == "system" and text]
    earlier = [f"{role.capitalize()}: {text}" for role, text in said[:-1] if role != "system"]
    talk = ["Earlier in this conversation:", *earlier, "Now:"] if earlier else []
    return "\n\n".join([*instructions, *(["\n".join(talk)] if talk else []), said[-1][1]])


def _message(message: Json, place: str, pictures: list[SentPicture], settings: AgentServerSettings) -> tuple[str, str]:
    """Role and words of a message."""
    if not isinstance(message, dict):
        raise AskedWrongError(f"{place} must be an object with role and content", place)
    role = message.get("role")
    if role in ("tool", "function"):
        raise AskedWrongError(f"{place}: this server runs its tools itself and takes no results of others", place)
    if role not in ("system", "developer", "user", "assistant"):
        raise AskedWrongError(f"{place}.role must be system, developer, user or assistant", f"{place}.role")
    content = message.get("content")
    if isinstance(content, str):
        text = without_marks(content)
    elif content is None and role == "assistant":
        text = ""
    elif isinstance(content, list):
        text = _flowing([_part(part, f"{place}.content[{at}]", pictures, settings) for at, part in enumerate(content)])
    else:
        raise AskedWrongError(f"{place}.content must be a text or a list of parts", f"{place}.content")
    return "system" if role == "developer" else str(role), text.strip()


_Part = tuple[str, bool]
"""Words, and whether they stand for a picture."""


def _flowing(parts: Sequence[_Part]) -> str:
    """The words in order, a line for each part; a picture stands between them without one."""
    text = ""
    for at, (words, is_picture) in enumerate(parts):
        is_line = at > 0 and not is_picture and not parts[at - 1][1]
        text += f"\n{words}" if is_line else words
    return text


def _part(part: Json, place: str, pictures: list[SentPicture], settings: AgentServerSettings) -> _Part:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind not in ("text", "image_url"):
        raise AskedWrongError(f"{place} must be of type text or image_url, not {str(kind)[:_SHOWN]!r}", place)
    if kind == "text":
        text = part.get("text")
        if not isinstance(text, str):
            raise AskedWrongError(f"{place}.text must be a text", place)
        return without_marks(text), False
    named = part.get("image_url")
    url = named.get("url") if isinstance(named, dict) else named
    if not isinstance(url, str):
        raise AskedWrongError(f"{place}.image_url.url must be a data URL", place)
    if len(pictures) >= settings.max_images:
        raise AskedWrongError(f"more than the {settings.max_images} images that a request may have", place)
    pictures.append(SentPicture(url=url, place=place))
    return mark(len(pictures)), True


@lru_cache(maxsize=8)
def _any_of(tokens: tuple[str, ...]) -> re.Pattern[str] | None:
    longest_first = sorted((token for token in tokens if len(token) > 1), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def taken_apart(text: str, special_tokens: Sequence[str]) -> str:
    """The text with a space inside each of these tokens, so that it reads the same and is none of them."""
    pattern = _any_of(tuple(special_tokens))
    if pattern is None:
        return text
    while (found := pattern.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)) != text:
        text = found
    return text


def _whole(value: Mapping[str, Json], name: str, least: int, most: int) -> int | None:
    given = value.get(name)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise AskedWrongError(f"{name} must be a whole number from {least} to {most}, not {_short_repr(given)}", name)
    return given


def _number(value: Mapping[str, Json], name: str, least: float, most: float) -> float | None:
    given = value.get(name)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise AskedWrongError(f"{name} must be a number from {least:g} to {most:g}, not {_short_repr(given)}", name)
    return float(given)


def _truth(value: Mapping[str, Json], name: str) -> bool:
    given = value.get(name)
    if given is None or isinstance(given, bool):
        return bool(given)
    raise AskedWrongError(f"{name} must be true or false, not {_short_repr(given)}", name)


def _stops(given: Json) -> tuple[str, ...]:
    stops = [given] if isinstance(given, str) else given
    if stops is None:
        return ()
    if not isinstance(stops, list) or len(stops) > 16 or not all(isinstance(one, str) and one for one in stops):
        raise AskedWrongError("stop must be a text or a list of at most 16 texts", "stop")
    return tuple(str(one) for one in stops)


def _short_repr(value: Json) -> str:
    return repr(value)[:_SHOWN]
