"""Open connections to one server, for any number of threads."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from saccade.errors import UserError

try:
    import httpx
except ImportError as error:
    raise UserError('asking a tool server needs the package httpx: pip install "saccade[services]"') from error

KEPT_OPEN_S = 60.0
"""An idle connection; a server of ours closes it after 75."""


class Lines:
    """Open connections. Each is used by one thread at a time, the one used last first."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._idle: list[httpx.Client] = []
        self._lock = threading.Lock()
        # Read once: certificates take longer to load than a call takes.
        self._trust = ssl.create_default_context()

    @contextmanager
    def line(self) -> Iterator[httpx.Client]:
        """A connection for one request; closed when the request fails."""
        # A pool inside of one client would go through all of its connections under a lock, at each request.
        with self._lock:
            client = self._idle.pop() if self._idle else None
        if client is None:
            client = httpx.Client(
                base_url=self._url,
                headers=self._headers,
                verify=self._trust,
                trust_env=False,
                limits=httpx.Limits(max_connections=1, keepalive_expiry=KEPT_OPEN_S),
            )
        try:
            yield client
        except BaseException:
            client.close()
            raise
        with self._lock:
            self._idle.append(client)

    def close(self) -> None:
        with self._lock:
            clients, self._idle = self._idle, []
        for client in clients:
            client.close()
