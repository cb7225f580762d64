"""Settings of a server for Tinker's client: where it listens, and limits on what clients may send and hold."""

from dataclasses import dataclass

from saccade.codec.bounds import Positive, check_bounds
from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class TinkerSettings:
    """The server as a whole."""

    name: str
    """Of the base model, as clients ask for it; they load its tokenizer by it."""
    host: str = "127.0.0.1"
    port: int = 8404
    """0 takes one that is free."""
    models: Positive = 4
    """Training clients at a time, each with adapter, gradient and optimiser; they share the base's weights."""
    snapshots: Positive = 8
    """Samplers in no file that are kept; the oldest make room."""
    max_tokens: Positive = 2048
    """Of a sample that names no limit."""
    most_samples: Positive = 1024
    """Of one request."""
    micro_batch_tokens: Positive = 4096
    """Forwarded at once in training; any value gives the same gradient."""
    queue: Positive = 4096
    """Requests that may wait; more get 429."""
    results: Positive = 4096
    """Answers that are remembered for clients that ask again."""
    silence_s: float = 120.0
    """Without a heartbeat, after which a session's models make room for those of others."""
    max_body_mb: Positive = 256
    uploads_mb: Positive = 1024
    """Of all bodies that are arriving at a time."""
    request_s: float = 60.0
    """Within which a request must have come."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if not self.name or len(self.name) > 400 or not self.name.isprintable():
            raise UserError(f"the model's name {self.name[:60]!r} must be 1 to 400 printable characters; see --name")
