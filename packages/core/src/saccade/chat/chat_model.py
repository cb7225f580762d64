"""ChatModel: answers a conversation with texts, be it a server, a checkpoint in this process or a script.

``connect`` makes one by where it is."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from saccade.chat.wire import ChatReply
from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.types import Json, Message


class ChatModel(Protocol):
    """Answers a conversation; ``connect`` makes one."""

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        """``samples`` texts that go on from the last message; ``MachineError`` when the model cannot answer now."""
        ...


@runtime_checkable
class CountingChat(Protocol):
    """A chat model that says of each reply what it cost and whether a limit on tokens ended it."""

    async def counted_reply(self, messages: Sequence[Message], *, temperature: float, seed: int) -> ChatReply:
        """One text that goes on from the last message; raises as ``ChatModel`` does."""
        ...


@runtime_checkable
class StreamingChat(Protocol):
    """A chat model that can be heard while it speaks."""

    async def streamed_reply(
        self, messages: Sequence[Message], *, temperature: float, seed: int, on_text: Callable[[str], None]
    ) -> ChatReply:
        """As ``CountingChat.counted_reply``; ``on_text`` is told of all that it says so far, from any thread."""
        ...


async def reply_of(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    temperature: float,
    seed: int,
    on_text: Callable[[str], None] | None = None,
) -> ChatReply:
    """One reply of any chat model; one that counts nothing has used no tokens.

    ``on_text`` hears it token by token where the model streams.
    """
    if on_text is not None and isinstance(model, StreamingChat):
        return await model.streamed_reply(messages, temperature=temperature, seed=seed, on_text=on_text)
    if isinstance(model, CountingChat):
        return await model.counted_reply(messages, temperature=temperature, seed=seed)
    [text] = await model(messages, temperature=temperature, samples=1, seed=seed)
    return ChatReply(texts=(text,))


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatCounts:
    """Counts of the requests, tokens and cache hits of a chat model so far."""

    requests: int = 0
    """Sent to the server, those that failed among them; of a model in this process its calls."""
    cache_hits: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    """As the server counts them; replies from the cache cost none."""
    completion_tokens: int = 0

    def as_counts(self) -> dict[str, int]:
        """By name, in this order."""
        return {name: getattr(self, name) for name in self.__slots__}

    def plus(self, other: "ChatCounts") -> "ChatCounts":
        return ChatCounts(
            requests=self.requests + other.requests,
            cache_hits=self.cache_hits + other.cache_hits,
            retries=self.retries + other.retries,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class Counting(Protocol):
    """A model that counts what it does."""

    @property
    def counts(self) -> ChatCounts: ...


class ChatMeter:
    """Counts of models since the last reading, as ``<name>_requests`` and so on; of several models the sums."""

    def __init__(self, name: str, models: Iterable[Counting]) -> None:
        self._name = name
        self._models = list(models)
        self._read: dict[str, int] = {}

    def add(self, model: Counting) -> None:
        self._models.append(model)

    def __call__(self) -> Mapping[str, float]:
        counts = ChatCounts()
        for model in self._models:
            counts = counts.plus(model.counts)
        before, self._read = self._read, counts.as_counts()
        return {f"{self._name}_{name}": float(count - before.get(name, 0)) for name, count in self._read.items()}


class ConnectedChat(ChatModel, Protocol):
    """A chat model that answers while it is entered, in one event loop after another, and counts what it does."""

    @property
    def counts(self) -> ChatCounts: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...


API_KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatServerSettings:
    """Settings of requests to servers; only ``max_tokens`` and ``extra_body`` change the replies."""

    max_tokens: int = 2048
    """Limit of one reply, also of a checkpoint's."""
    timeout_s: float = 120.0
    requests_at_once: int = 8
    requests_per_minute: float | None = None
    """None for no bound."""
    retries: int = 6
    extra_body: str = ""
    """A JSON object merged into every request; ``null`` removes a field, as in ``{"max_tokens": null}``."""

    def check(self) -> None:
        self.extra_fields()

    def extra_fields(self) -> dict[str, Json]:
        """``extra_body``, read; UserError when it is no JSON object."""
        try:
            fields: Json = json.loads(self.extra_body or "{}")
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise UserError(f'extra_body={self.extra_body!r} is no JSON object; write it like {{"top_p": 0.9}}')
        return fields


def connect(
    where: str | Path | ChatModel,
    settings: ChatServerSettings = ChatServerSettings(),
    *,
    model: str | None = None,
    media: MediaStore | None = None,
    load: LoadSettings = LoadSettings(),
    view: ViewRule | None = None,
    api_key: str | None = None,
    cache_dir: Path | None = None,
    on_count: Callable[[ChatCounts], None] = lambda _: None,
) -> ConnectedChat:
    """The chat model at the URL of a server, in a checkpoint directory, or a script; enter it, then ask.

    ``model`` is the server's name of it, ``api_key`` its key (by default the variable ``OPENAI_API_KEY``, "" for none),
    and with ``cache_dir`` what was asked once is not asked again. ``on_count`` is called with what a client of a server
    has done so far, as soon as it has. ``load`` is for checkpoints. ``media`` holds the pictures of the messages;
    a server is sent them at the size of ``view``, by default as they are.
    Nothing is sent or loaded before the model is entered; raises UserError.
    """
    if not isinstance(where, str | Path):
        from saccade.chat.local_chat import LocalChat

        return LocalChat(type(where).__name__, lambda: where)
    if not is_server(where):
        from saccade.chat.local_chat import checkpoint_chat

        path = Path(where)
        if not is_checkpoint(path):
            raise UserError(
                f"{where} is no address of a server, which looks like http://localhost:8000/v1, and no checkpoint "
                "directory: it has no config.json"
            )
        return checkpoint_chat(path, media or MediaStore(), load, max_tokens=settings.max_tokens)
    if model is None:
        raise UserError(f"{where} is a server; say which of its models is meant, by the name in {where}/models")
    # Here, for a checkpoint needs no package openai.
    from saccade.chat.openai_chat import ChatClient
    from saccade.chat.threaded import ChatThread

    key = os.environ.get(API_KEY_VARIABLE) if api_key is None else api_key
    client = ChatClient(
        str(where),
        model,
        media=media,
        view=view,
        api_key=key or "none",
        timeout_s=settings.timeout_s,
        max_tokens=settings.max_tokens,
        max_concurrency=settings.requests_at_once,
        requests_per_minute=settings.requests_per_minute,
        retries=settings.retries,
        cache_dir=cache_dir,
        extra_body=settings.extra_fields(),
        on_count=on_count,
    )
    return ChatThread(client, at_once=settings.requests_at_once)


def check_up(where: str | Path) -> None:
    """UserError where this is the address of a server and nothing answers there; one that is down later is retried."""
    if isinstance(where, str) and is_server(where):
        from saccade.chat.sending import check_answering

        check_answering(where)


def is_server(where: str | Path) -> bool:
    return isinstance(where, str) and where.startswith(("http://", "https://"))


def is_checkpoint(path: Path) -> bool:
    """Whether a model, or an adapter, lies in this directory."""
    return (path / "config.json").is_file() or (path / "adapter_config.json").is_file()
