"""Client of any OpenEnv server, by its protocol alone: all versions of OpenEnv (0.2 to 0.10) serve it alike.

Messages may be of any size, requests come one at a time, errors in words. OpenEnv's own package is not needed.
"""

import json
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, cast

from saccade.errors import missing_extra

try:
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
    from websockets.sync.client import ClientConnection, connect
except ImportError as error:
    raise missing_extra("interop", "websockets", needed_for="an OpenEnv server") from error

Seen = TypeVar("Seen")

MESSAGE_BYTES = 64 << 20
"""Limit of one message, so that pictures arrive as they are."""


@dataclass(frozen=True, slots=True)
class SessionStep(Generic[Seen]):
    """What a server answers to ``reset`` and ``step``."""

    observation: Seen
    reward: float | None
    done: bool


class WideEnvClient(Generic[Seen]):
    """A session whose actions and observations are plain mappings; a context manager.

    ``ConnectionError`` where there is no server, or none any more, ``RuntimeError`` with the words of one that refuses,
    ``TimeoutError`` where it does not answer.
    """

    def __init__(
        self,
        base_url: str,
        connect_timeout_s: float = 10.0,
        message_timeout_s: float = 120.0,
        message_bytes: int = MESSAGE_BYTES,
        token: str | None = None,
    ) -> None:
        """``token`` is the server's, where it asks for one."""
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # A scheme is http, https, ws or wss.
        self._url = f"{base_url.rstrip('/').replace('http', 'ws', 1) if base_url.startswith('http') else base_url}/ws"
        self._open_timeout_s, self._message_timeout_s = connect_timeout_s, message_timeout_s
        self._message_bytes = message_bytes
        self._ws: ClientConnection | None = None
        self._open = ExitStack()
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> Self:
        """Opens the session, as the first request does too."""
        if self._ws is None:
            try:
                opened = connect(
                    self._url,
                    open_timeout=self._open_timeout_s,
                    max_size=self._message_bytes,
                    proxy=None,
                    additional_headers=self._headers,
                )
                self._ws = self._open.enter_context(opened)
            except InvalidStatus as error:
                if error.response.status_code not in (401, 403):
                    raise ConnectionError(f"no OpenEnv server answers at {self._url}: {error}") from error
                why = "it asks for another token" if self._headers else "does it ask for a token?"
                raise ConnectionError(f"the server at {self._url} refuses sessions ({error}); {why}") from error
            except (OSError, TimeoutError, WebSocketException) as error:
                raise ConnectionError(f"no OpenEnv server answers at {self._url}: {error}") from error
        return self

    def close(self) -> None:
        """Ends the session, as the end of the block does."""
        self._ws = None
        self._open.close()

    def reset(self, **options: object) -> SessionStep[Seen]:
        """What the server takes: ``seed`` and ``episode_id`` everywhere."""
        return self._result(self._answer({"type": "reset", "data": options}))

    def step(self, action: Any) -> SessionStep[Seen]:
        """One action."""
        return self._result(self._answer({"type": "step", "data": dict(action)}))

    def state(self) -> Any:
        """What the server tells of the episode."""
        return self._answer({"type": "state"})

    def _answer(self, message: Mapping[str, object]) -> Mapping[str, object]:
        with self._one_at_a_time:
            connection = self.connect()._ws
            assert connection is not None
            try:
                connection.send(json.dumps(message))
                answer = json.loads(connection.recv(timeout=self._message_timeout_s))
            except ConnectionClosed as error:
                why = self._last_words() or str(error)
                self.close()
                raise ConnectionError(f"the session at {self._url} has ended: {why}") from error
            except TimeoutError:
                # Its late answer would be taken for the next one's.
                self.close()
                raise
        data = cast("Mapping[str, object]", answer.get("data") or {})
        if answer.get("type") == "error":
            raise RuntimeError(f"Server error: {data.get('message', 'unknown')} (code: {data.get('code', 'unknown')})")
        return data

    def _last_words(self) -> str:
        """The server's last message before it hung up: that it is full, for instance."""
        assert self._ws is not None
        try:
            said = json.loads(self._ws.recv(timeout=0))
        except (ConnectionClosed, TimeoutError, ValueError, RecursionError):
            return ""
        return str(said.get("data", {}).get("message", ""))

    def _result(self, data: Mapping[str, object]) -> SessionStep[Seen]:
        observation = cast("Seen", data.get("observation"))
        return SessionStep(observation, cast("float | None", data.get("reward")), bool(data.get("done")))
