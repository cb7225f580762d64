"""A machine with things worth stealing, and what of it has changed."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

_SECRET = "secret of the host"
_SYSTEM = ("/", "/etc", "/etc/passwd", "/usr/lib", "/dev/null")


class BrokenError(AssertionError):
    """An attack that was not contained."""


class Host:
    """Files, sockets and processes outside the sandbox that no session may reach."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._secret = folder / "secret.txt"
        self._secret.write_text(_SECRET)
        self._secret.chmod(0o600)
        self._abstract = f"saccade-hostile-{os.getpid()}-{time.monotonic_ns()}"
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._listeners, self._receivers = [self._tcp], list[socket.socket]()
        for address in ("\0" + self._abstract, str(folder / "unix")):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen()
            self._listeners.append(listener)
            receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            receiver.bind(address + "-datagram")
            receiver.setblocking(False)
            self._receivers.append(receiver)
        for listener in self._listeners:
            listener.setblocking(False)
        self._before = self._snapshot()

    def targets(self) -> dict[str, object]:
        return {
            "secret": str(self._secret),
            "folder": str(self._folder),
            "unix": str(self._folder / "unix"),
            "abstract": self._abstract,
            "tcp": self._tcp.getsockname()[1],
            "pids": [os.getpid(), *sorted(descendants())[:4]],
        }

    def check(self) -> None:
        before, self._before = self._before, self._snapshot()
        if self._before != before:
            raise BrokenError(f"the host changed: {sorted(set(self._before) ^ set(before))}")
        for listener in self._listeners:
            try:
                listener.accept()
            except BlockingIOError:
                continue
            raise BrokenError(f"somebody connected to {listener.getsockname()!r}")
        for receiver in self._receivers:
            try:
                receiver.recv(100)
            except BlockingIOError:
                continue
            raise BrokenError(f"somebody wrote to {receiver.getsockname()!r}")

    def close(self) -> None:
        for held in (*self._listeners, *self._receivers):
            held.close()

    def _snapshot(self) -> list[tuple[str, int, int, int]]:
        """Everything about its own files; of the system's places, where others may be at work, the modes alone."""
        own = [(place, place.stat()) for place in (self._folder, *self._folder.iterdir())]
        found = [(str(place), stat.st_mode, stat.st_size, stat.st_mtime_ns) for place, stat in own]
        return found + [(place, Path(place).stat().st_mode, 0, 0) for place in _SYSTEM]


def descendants(root: int = 0) -> set[int]:
    """All processes below one, this one by default; ended ones that nobody has taken leave of are among them."""
    found: set[int] = set()
    waiting = [root or os.getpid()]
    while waiting:
        for thread in _threads(waiting.pop()):
            try:
                children = {int(pid) for pid in (thread / "children").read_text().split()} - found
            except OSError:
                continue
            found |= children
            waiting += children
    return found


def _threads(process: int) -> list[Path]:
    """None of a process that has ended meanwhile."""
    try:
        return list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []


def settled(look: Callable[[], set[int]]) -> set[int]:
    """Processes that stayed the same for a while: spare sessions are started behind the scenes."""
    last, since = look(), time.monotonic()
    while time.monotonic() - since < 0.5:
        time.sleep(0.05)
        now = look()
        if now != last:
            last, since = now, time.monotonic()
    return last


def eventually(is_true: Callable[[], bool], within_s: float = 60.0) -> bool:
    deadline = time.monotonic() + within_s
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
