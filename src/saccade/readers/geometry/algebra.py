"""Algebra in a process of its own, so that no expression can hold up or exhaust the one that asks."""

import atexit
import json
import os
import select
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from saccade.errors import MachineError, ToolError
from saccade.readers.geometry.algebra_worker import WALL_S
from saccade.readers.geometry.language import parse_equations
from saccade.types import Json

AlgebraTask = Literal["solve", "simplify", "expand", "factor", "evaluate"]
MAX_EQUATIONS = 8
_START_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AlgebraResult:
    """Solutions or forms, as text and as data."""

    text: str
    values: Json


class _Worker:
    """The process, started at the first request; one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, line: bytes) -> bytes:
        """The reply to a line; ``MachineError`` when the process is lost twice."""
        with self._lock:
            for _ in range(2):
                with suppress(OSError):
                    reply = self._asked(line)
                    if reply.endswith(b"\n"):
                        return reply
                self._stop()
        raise MachineError("the algebra process does not answer")

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._stop()

    def _asked(self, line: bytes) -> bytes:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        reply = b""
        while not reply.endswith(b"\n"):
            if not select.select([process.stdout], [], [], WALL_S + _START_S)[0]:
                return b""
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                return b""
            reply += piece
        return reply

    def _running(self) -> subprocess.Popen[bytes]:
        # A process that was forked from the owner must not share its pipes.
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            if self._owner == os.getpid():
                self._stop()
            self._owner = os.getpid()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "saccade.readers.geometry.algebra_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _stop(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            with suppress(OSError):
                self._process.communicate()
        self._process = None


_WORKER = _Worker()
atexit.register(_WORKER.close)


def do_algebra(task: AlgebraTask, text: str, unknowns: tuple[str, ...] = ()) -> AlgebraResult:
    """What comes of the equations or expressions; ``ToolError`` with a sentence for the model when nothing does."""
    nodes = parse_equations(text, "equations")
    if not 1 <= len(nodes) <= MAX_EQUATIONS:
        raise ToolError(f"equations holds {len(nodes)} equations, but it must hold 1 to {MAX_EQUATIONS}, one on a line")
    request = {"task": task, "text": text, "unknowns": list(unknowns)}
    reply: dict[str, Json] = json.loads(_WORKER.ask(json.dumps(request).encode() + b"\n"))
    if "error" in reply:
        raise ToolError(f"equations: {reply['error']}")
    return AlgebraResult(text=str(reply["text"]), values=reply["values"])
