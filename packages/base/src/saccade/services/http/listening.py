"""What every server of ours begins with: an address that is its own, and signals that end it and no more."""

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from saccade.errors import UserError, missing_extra
from saccade.services.http.hosts import is_loopback

try:
    import uvicorn
except ImportError as error:
    raise missing_extra("services", "uvicorn", needed_for="serving") from error

BACKLOG = 2048
"""Connections that may wait to be accepted."""


def check_reach(host: str, token: str | None, *, variable: str = "SACCADE_TOKEN") -> None:
    """``UserError`` when others could reach the server and it would ask for no token."""
    if not is_loopback(host) and not token:
        raise UserError(
            f"host={host!r} can be reached from other machines and there is no token; set {variable} to a long random "
            "text, or serve on 127.0.0.1"
        )


class SignalledServer(uvicorn.Server):
    """One whose signals end it and no more: uvicorn raises them again, before workers and files are cleared away."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed, which takes less processor time for each request; else Python's own."""
    try:
        import uvloop
    except ImportError:  # It is not made for every system.
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; opened before any work is begun, so that a port that is taken costs nothing.

    ``UserError`` for an address that is not this machine's or is taken.
    """
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UserError(f"host={host!r} is no address of this machine: {error}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # A burst of small answers must not wait for the client's acknowledgements.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
        # From here on connections only wait: the log names the port before the first request is taken.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise UserError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
    return listener
