"""How servers are asked, as settings, and the client that asks so."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.chat.counts import ChatCounts
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.chat.openai_chat import ChatClient


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatServerSettings:
    """How servers are asked; but for ``max_tokens`` and ``extra_body`` it decides nothing of what comes out."""

    max_tokens: int = 2048
    """Of one reply."""
    timeout_s: float = 120.0
    requests_at_once: int = 8
    requests_per_minute: float | None = None
    retries: int = 6
    extra_body: str = ""
    """A JSON object laid over every request; ``null`` takes a field out, as in ``{"max_tokens": null}``."""

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

    def client(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str,
        media: MediaStore | None = None,
        cache_dir: Path | None = None,
        on_count: Callable[[ChatCounts], None] = lambda _: None,
    ) -> "ChatClient":
        """A client of this server's model; its key is taken from the variable ``api_key_env``, where it is set.

        ``on_count`` is told what the client has done so far, as soon as it has.
        """
        # Here, for whoever asks no server needs no package openai.
        from saccade.chat.openai_chat import ChatClient

        return ChatClient(
            base_url,
            model,
            media=media,
            api_key=os.environ.get(api_key_env) or "none",
            timeout_s=self.timeout_s,
            max_tokens=self.max_tokens,
            max_concurrency=self.requests_at_once,
            requests_per_minute=self.requests_per_minute,
            retries=self.retries,
            cache_dir=cache_dir,
            extra_body=self.extra_fields(),
            on_count=on_count,
        )
