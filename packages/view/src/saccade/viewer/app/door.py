"""Where the viewer is reached: a port that is open before anything heavy is imported.

A browser that is sent there waits for the first answer, and meanwhile opens its tab.
"""

import os
import socket
from dataclasses import dataclass, field

from saccade.errors import UserError
from saccade.services.http.hosts import is_loopback

DEFAULT_PORT = 7860


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """A socket that listens, and the tokens that are asked for there."""

    host: str
    token: str | None
    listener: socket.socket
    csrf: str = field(default_factory=lambda: os.urandom(16).hex())
    """Brought by what a page of this server writes."""

    @property
    def address(self) -> str:
        """What a browser opens; with the token, where there is one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.listener.getsockname()[1]}/" + (f"?token={self.token}" if self.token else "")


def open_door(host: str, port: int | None, token: str | None) -> Door:
    """Without a port the usual one, or any that is free.

    UserError when others could reach it and it has no token, or when the port is taken.
    """
    if not is_loopback(host) and not token:
        raise UserError(
            f"--host {host} can be reached from other machines and there is no token; set one in the environment and "
            "name its variable with --token-env, or stay on 127.0.0.1"
        )
    return Door(host=host, token=token, listener=_listening(host, port))


def _listening(host: str, port: int | None) -> socket.socket:
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UserError(f"--host {host} is no address of this machine: {error}") from error
    problem: OSError | None = None
    for number in (DEFAULT_PORT, 0) if port is None else (port,):
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            problem = error
    assert problem is not None
    raise UserError(f"cannot listen on {host}:{port}: {problem.strerror}; choose another --port")


def token_from(variable: str | None) -> str | None:
    """The token in an environment variable. UserError where it is empty."""
    if variable is None:
        return None
    token = os.environ.get(variable, "")
    if len(token) < 16:
        raise UserError(f"the environment variable {variable} holds no token of 16 characters or more; set it first")
    return token
