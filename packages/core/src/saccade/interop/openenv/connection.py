"""Client of any OpenEnv server: messages of any size, one request at a time, errors in words."""

import json
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self, cast

from saccade.errors import missing_extra

try:
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
    from openenv.core.utils import convert_to_ws_url
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
    from websockets.sync.client import ClientConnection, connect
except ImportError as error:
    raise missing_extra("interop", "openenv-core", needed_for="OpenEnv") from error

MESSAGE_BYTES = 64 << 20
"""Limit of one message, so that pictures arrive as they are."""


class WideEnvClient(EnvClient[Any, Any, Any]):  # type: ignore[misc]
    """A session whose actions and observations are plain mappings.

    Errors are as OpenEnv's: ``ConnectionError`` where there is no server, or none any more, ``RuntimeError`` with the
    words of one that refuses.
    """

    _ws: ClientConnection | None

    def __init__(
        self,
        base_url: str,
        connect_timeout_s: float = 10.0,
        message_timeout_s: float = 120.0,
        message_bytes: int = MESSAGE_BYTES,
        token: str | None = None,
    ) -> None:
        """``token`` is the server's, where it asks for one."""
        super().__init__(base_url, connect_timeout_s, message_timeout_s)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._url = f"{convert_to_ws_url(base_url)}/ws"
        self._open_timeout_s = connect_timeout_s
        self._message_bytes = message_bytes
        self._open = ExitStack()
        self._one_at_a_time = threading.Lock()

    def connect(self) -> Self:
        """OpenEnv's own takes messages of at most 1 MiB, and changes the process's proxies while it connects."""
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

    def disconnect(self) -> None:
        super().disconnect()
        self._open.close()

    def reset(self, **options: object) -> StepResult[Any]:
        """What the server takes: ``seed`` and ``episode_id`` everywhere."""
        with self._one_at_a_time:
            return super().reset(**options)

    def step(self, action: Any, **options: object) -> StepResult[Any]:
        """One action."""
        with self._one_at_a_time:
            return super().step(action, **options)

    def _send_and_receive(self, message: dict[str, object]) -> dict[str, object]:
        try:
            return cast("dict[str, object]", super()._send_and_receive(message))
        except ConnectionClosed as error:
            why = self._last_words() or str(error)
            self.disconnect()
            raise ConnectionError(f"the session at {self._url} has ended: {why}") from error

    def _last_words(self) -> str:
        """The server's last message before it hung up: that it is full, for instance."""
        assert self._ws is not None
        try:
            said = json.loads(self._ws.recv(timeout=0))
        except (ConnectionClosed, TimeoutError, ValueError, RecursionError):
            return ""
        return str(said.get("data", {}).get("message", ""))

    def _step_payload(self, action: Any) -> dict[str, object]:
        return dict(action)

    def _parse_result(self, payload: Mapping[str, object]) -> StepResult[Any]:
        return StepResult(
            observation=payload.get("observation"),
            reward=cast("float | None", payload.get("reward")),
            done=bool(payload.get("done")),
        )

    def _parse_state(self, payload: Mapping[str, object]) -> Any:
        return payload
