"""A client of any server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp, Ollama or one in the cloud.

A request that meets a busy, broken or silent server is sent again, with growing waits, and in the end a
``MachineError``. A request that the server refuses is a ``RefusedRequestError``, a mistake of the user's.
"""

import asyncio
import json
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import httpx2

from saccade.chat.chat_model import ChatCounts
from saccade.chat.sending import Sender
from saccade.chat.wire import (
    BrokenReplyError,
    ChatReply,
    ReplyCache,
    ScoredPrompt,
    data_urls,
    read_prompt_logprobs,
    read_reply,
    request_key,
    wire_messages,
)
from saccade.errors import MachineError, UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.retries import RetryPace, TryAgainError, back_off_s
from saccade.seeding import seed_for
from saccade.types import ImageRef, Json, Message

Found = TypeVar("Found")

NO_KEY = "none"
"""What is sent where a server needs no key: some refuse an empty one."""
_OF_OPENAI = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers that go with a key, and the variables that hold them."""
_SEED_BITS = 0x7FFFFFFF
"""Some servers take seeds of 32 bits only."""


@dataclass(slots=True)
class _AtLoop:
    """State of one event loop: connections, places, and the requests under way by key."""

    client: httpx2.AsyncClient
    places: asyncio.Semaphore
    asking: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)


class ChatClient:
    """A ``ChatModel`` at a server; use it in an ``async with``, in one event loop after another if you like.

    ``base_url`` ends before ``/chat/completions``, as in ``http://localhost:8000/v1``. Without ``api_key`` the
    variable ``OPENAI_API_KEY`` is taken, and where there is none, none is needed. ``max_concurrency`` requests are out
    at a time. Pictures are sent at the size of ``view``, by default as they are. With ``cache_dir`` what was asked
    once, by any process, is not asked again. ``extra_body`` is laid over every request; a field that is None there is
    left out of it, for servers that do not know it.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        media: MediaStore | None = None,
        view: ViewRule | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        max_tokens: int = 2048,
        max_concurrency: int = 8,
        requests_per_minute: float | None = None,
        retries: int = 6,
        retry_wait_s: float = 1.0,
        cache_dir: Path | None = None,
        extra_body: Mapping[str, Json] | None = None,
        on_count: Callable[[ChatCounts], None] = lambda _: None,
    ) -> None:
        _check(base_url, model, timeout_s, max_tokens, max_concurrency, requests_per_minute, retries, retry_wait_s)
        self.base_url = base_url.rstrip("/")
        self.model = model
        self._sender = Sender(base_url=self.base_url, model=model, timeout_s=timeout_s)
        self._media = media
        self._view = view
        self._api_key = api_key or os.environ.get("OPENAI_API_KEY") or NO_KEY
        if not (self._api_key.isascii() and self._api_key.isprintable()):
            raise UserError("api_key has characters that no header can carry; see that it was copied alone and whole")
        self._timeout_s = timeout_s
        self._max_tokens = max_tokens
        self._max_concurrency = max_concurrency
        self._retries = retries
        self._retry_wait_s = retry_wait_s
        self._cache = None if cache_dir is None else ReplyCache(cache_dir)
        self._extra_body = dict(extra_body or {})
        self._pace = RetryPace(requests_per_minute)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _AtLoop] = WeakKeyDictionary()
        self._counts = ChatCounts()
        self._on_count = on_count
        self._lock = threading.Lock()

    @property
    def counts(self) -> ChatCounts:
        return self._counts

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float = 0.0, samples: int = 1, seed: int | None = None
    ) -> Sequence[str]:
        """``samples`` texts; a server that gives fewer at a time is asked until there are enough."""
        texts: list[str] = []
        rounds = 0
        while len(texts) < samples:
            again = seed if seed is None or rounds == 0 else seed_for(seed, "more samples", rounds)
            reply = await self._reply(messages, temperature=temperature, samples=samples - len(texts), seed=again)
            texts += reply.texts
            rounds += 1
        return texts[:samples]

    async def counted_reply(self, messages: Sequence[Message], *, temperature: float, seed: int) -> ChatReply:
        """One text with its tokens as the server counted them, and whether a limit ended it."""
        found = await self._reply(messages, temperature=temperature, samples=1, seed=seed)
        return replace(found, texts=found.texts[:1], cut_off=found.cut_off[:1], refused=found.refused[:1])

    async def streamed_reply(
        self, messages: Sequence[Message], *, temperature: float, seed: int, on_text: Callable[[str], None]
    ) -> ChatReply:
        """The same as a stream, which no cache knows; ``on_text`` is told of all that has come, after each piece."""
        fields = self._fields(temperature=temperature, samples=1, seed=seed)
        body = {"messages": wire_messages(messages, self._image_url), **fields, "stream": True}
        sent = json.dumps(body).encode("ascii")
        return await self._persistently(
            lambda client: self._sender.stream(sent, client, on_text), self._at_loop(), seed=seed, read=read_reply
        )

    async def prompt_logprobs(self, messages: Sequence[Message]) -> ScoredPrompt:
        """Log-probabilities of the tokens of a conversation whose last message, the assistant's, is not over.

        vLLM's fields (``prompt_logprobs``, ``continue_final_message``). They bypass its prefix cache, so each request
        costs a whole prefill. UserError for a server that does not give them.
        """
        body: dict[str, Json] = {
            "model": self.model,
            "messages": wire_messages(messages, self._image_url),
            "temperature": 0.0,
            "max_tokens": 1,
            "prompt_logprobs": 0,
            "add_generation_prompt": False,
            "continue_final_message": True,
            "return_token_ids": True,
            **self._extra_body,
        }
        sent = json.dumps(body).encode("ascii")
        return await self._persistently(
            lambda client: self._sender.send(sent, client), self._at_loop(), seed=len(sent), read=read_prompt_logprobs
        )

    async def close(self) -> None:
        """Close this event loop's connections; a later request opens new ones."""
        with self._lock:
            at_loop = self._loops.pop(asyncio.get_running_loop(), None)
        if at_loop is not None:
            await at_loop.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _reply(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int | None
    ) -> ChatReply:
        sent = self._fields(temperature=temperature, samples=samples, seed=seed)
        # By content, so that the key costs no encoding of images.
        named = wire_messages(messages, self._image_name)
        key = request_key({"base_url": self.base_url, "messages": named, **sent})
        at_loop = self._at_loop()
        async with self._alone_with(key, at_loop):
            if self._cache is not None and (known := self._cache.get(key)) is not None:
                self._count(ChatCounts(cache_hits=1))
                return known
            body = json.dumps({"messages": wire_messages(messages, self._image_url), **sent}).encode("ascii")
            reply = await self._persistently(
                lambda client: self._sender.send(body, client), at_loop, seed=int(key[:15], 16), read=read_reply
            )
            tokens = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
            self._count(ChatCounts(**tokens))
            if self._cache is not None:
                self._cache.put(key, reply)
            return reply

    def _fields(self, *, temperature: float, samples: int, seed: int | None) -> dict[str, Json]:
        """A request but for its messages."""
        fields: dict[str, Json] = {
            "model": self.model,
            "temperature": temperature,
            "max_tokens": self._max_tokens,
            "n": samples if samples > 1 else None,
            "seed": None if seed is None else seed & _SEED_BITS,
            **self._extra_body,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _alone_with(self, key: str, at_loop: _AtLoop) -> AbstractAsyncContextManager[None]:
        """Where replies are cached, equal requests at the same time wait for the first of them."""
        return nullcontext() if self._cache is None else at_loop.asking.setdefault(key, asyncio.Lock())

    async def _persistently(
        self,
        send: Callable[[httpx2.AsyncClient], Awaitable[str]],
        at_loop: _AtLoop,
        *,
        seed: int,
        read: Callable[[str], Found],
    ) -> Found:
        for attempt in range(self._retries + 1):
            await asyncio.sleep(self._pace.reserve())
            self._count(ChatCounts(requests=1))
            try:
                async with at_loop.places:
                    reply = read(await send(at_loop.client))
            except (TryAgainError, BrokenReplyError) as error:
                why = str(error)
                asked_s = error.wait_s if isinstance(error, TryAgainError) else None
            else:
                return reply
            if attempt < self._retries:
                self._count(ChatCounts(retries=1))
                waits = back_off_s(attempt, first_wait_s=self._retry_wait_s, seed=seed)
                await asyncio.sleep(waits if asked_s is None else asked_s)
        raise MachineError(
            f"{self.base_url} gave no usable reply in {self._retries + 1} tries; the last time: {why}. Check that the "
            "server is up, or give it more time, fewer requests at a time or more retries"
        )

    def _image_url(self, image: ImageRef) -> str:
        if self._media is None:
            raise UserError("the messages hold images and the client has no media store to take them from; give media=")
        return data_urls(self._media, self._view)(image)

    def _image_name(self, image: ImageRef) -> str:
        """What tells one sent picture from another in the cache: its pixels and, where it is resized, its size."""
        if self._view is None or (size := self._view.view_size(image.width, image.height)) == (
            image.width,
            image.height,
        ):
            return image.hash
        return f"{image.hash} as {size[0]} x {size[1]}"

    def _at_loop(self) -> _AtLoop:
        # Connections and semaphores belong to the event loop that first used them.
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._loops:
                headers = {"Authorization": f"Bearer {self._api_key}", "Content-Type": "application/json"}
                if self._api_key != NO_KEY:
                    headers |= {name: os.environ[said] for name, said in _OF_OPENAI.items() if os.environ.get(said)}
                client = httpx2.AsyncClient(
                    base_url=self.base_url,
                    headers=headers,
                    timeout=self._timeout_s,
                    limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
                    # To https, or behind a gateway; another host is not told of the key.
                    follow_redirects=True,
                )
                self._loops[loop] = _AtLoop(client=client, places=asyncio.Semaphore(self._max_concurrency))
            return self._loops[loop]

    def _count(self, counts: ChatCounts) -> None:
        with self._lock:
            self._counts = self._counts.plus(counts)
            self._on_count(self._counts)


def _check(
    base_url: str,
    model: str,
    timeout_s: float,
    max_tokens: int,
    max_concurrency: int,
    requests_per_minute: float | None,
    retries: int,
    retry_wait_s: float,
) -> None:
    if not base_url.startswith(("http://", "https://")):
        raise UserError(f"base_url={base_url!r} is no address of a server; it looks like http://localhost:8000/v1")
    if not model:
        raise UserError("the model's name is empty; give the one that the server lists under /models")
    if not (timeout_s > 0 and max_tokens > 0 and max_concurrency > 0):
        raise UserError(
            f"timeout_s={timeout_s}, max_tokens={max_tokens} and max_concurrency={max_concurrency} must be positive"
        )
    if requests_per_minute is not None and not requests_per_minute > 0:
        raise UserError(f"requests_per_minute={requests_per_minute} lets nothing through; leave it out for no limit")
    if retries < 0 or retry_wait_s < 0:
        raise UserError(f"retries={retries} and retry_wait_s={retry_wait_s} must not be negative")
