"""What a client of a server has done, counted."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatCounts:
    """What a client has done so far."""

    requests: int = 0
    """Sent to the server, those that failed among them."""
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
