"""ChatModel: answers a conversation with texts, be it a server, a checkpoint in this process or a script."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from saccade.types import Message


class ChatModel(Protocol):
    """Answers a conversation; ``saccade.chat.connect`` makes one."""

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        """``samples`` texts that go on from the last message; ``MachineError`` when the model cannot answer now."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatCounts:
    """What a chat model has done so far."""

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


class ConnectedChat(ChatModel, Protocol):
    """A chat model that answers while it is entered, in one event loop after another, and counts what it does."""

    @property
    def counts(self) -> ChatCounts: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
