"""Settings of a served agent: where it listens, and limits on everything that a client may send or hold."""

from dataclasses import dataclass
from typing import Annotated, Literal

from saccade.codec.bounds import Bounds, Count, Positive, check_bounds
from saccade.errors import UserError
from saccade.services.http.hosts import is_loopback

ReplyForm = Literal["answer", "transcript"]
"""The final answer alone, or all turns with what the tools said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentServerSettings:
    """The server as a whole; sizes of a request are checked before any picture is decoded."""

    host: str = "127.0.0.1"
    port: int = 8403
    """0 takes one that is free."""
    name: str = "saccade"
    """Name of the model in ``/v1/models``, which requests give as ``model``."""
    reply: ReplyForm = "answer"
    queue: Positive = 512
    """Trajectories that may be open at a time, at work or waiting for a row; a request beyond that gets 429."""
    most_samples: Positive = 64
    """Largest ``n`` of a request."""
    request_s: Annotated[float, Bounds(above=0)] = 30.0
    """Within which a request's headers must have come, then its body, then each 64 KiB of its answer be read."""
    deadline_s: Annotated[float, Bounds(above=0)] = 600.0
    """From a request's body to its reply; then its trajectories end and it gets 504."""
    max_body_mb: Positive = 64
    """Of a request, and again of all pictures that are fetched for it."""
    uploads_mb: Positive = 512
    """Limit of all bodies that are arriving or at work, and of all pictures that were fetched; beyond it, 503."""
    max_images: Positive = 64
    """Pictures of a request."""
    max_images_mp: Positive = 128
    """Megapixels of all pictures of a request."""
    max_text_chars: Positive = 200_000
    max_messages: Positive = 256
    allows_https: bool = False
    """Whether pictures may be named by ``https://`` addresses, which the server then fetches."""
    traces: Count = 256
    """Requests whose trajectories are kept for ``/traces``; the oldest make room."""
    traces_mb: Count = 256
    """Limit of their pictures, as pixels, and their texts."""
    drain_s: float = 30.0
    """At the end: how long requests that are out may take."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if not self.name or len(self.name) > 200 or not self.name.isprintable():
            raise UserError(f"the model's name {self.name[:60]!r} must be 1 to 200 printable characters; see --name")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)
