"""What a folder from a stranger may have in the place of a file, and calls that must come to an end over it."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")
_WITHIN_S = 120.0
"""A bound for what hangs."""


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        # From its folder, since such a path has little room.
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            bound.bind(path.name)
        finally:
            os.chdir(here)


def _hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "socket": _socket,
    "folder": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "kernel": lambda path: path.symlink_to("/proc/self/status"),
    "hole": _hole,
    "loop": lambda path: path.symlink_to(path),
}


def answer_of(call: Callable[[], Value]) -> Value | Exception:
    """What the call gives or raises; AssertionError where it does not end, and its thread is left behind."""
    found: list[Value | Exception] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_WITHIN_S)
    assert found, "it waits for ever"
    return found[0]
