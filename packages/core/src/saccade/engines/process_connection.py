"""The connection to a process that answers: requests by number, and an error for all of them when the process ends."""

import asyncio
import itertools
import os
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired

from saccade.distribution import source_folders
from saccade.engines.engine import EngineLostError
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.types import Json

END_WITHIN_S = 5.0

STDERR = 2

_ERRORS: Mapping[str, type[Exception]] = {
    "ValueError": ValueError,
    "UserError": UserError,
    "MachineError": MachineError,
    "SaccadeError": SaccadeError,
}


class ProcessConnection:
    """A process and the requests that it has not answered yet; any thread and any event loop may ask."""

    def __init__(
        self,
        process: Popen[bytes],
        ours: socket.socket,
        *,
        what: str = "the engine's process",
        lost_error: type[MachineError] = EngineLostError,
    ) -> None:
        """``what`` names the process in messages; ``lost_error`` is what open requests get when it ends."""
        self.lost: str | None = None
        """How the process ended; None while it runs."""
        self._what, self._lost_error = what, lost_error
        self._process = process
        self._socket = ours
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[WireFrame]] = {}
        self._lock = threading.Lock()
        # Another one than for the requests: a send may have to wait until answers are read.
        self._sending = threading.Lock()
        self._refusal = ""
        self._kill_at_exit = weakref.finalize(self, process.kill)
        self._reader = threading.Thread(target=self._read, name="saccade-connection", daemon=True)
        self._reader.start()

    @classmethod
    def spawn(
        cls,
        module: str = "saccade.engines.process_worker",
        *,
        python: Path | None = None,
        what: str = "the engine's process",
        lost_error: type[MachineError] = EngineLostError,
    ) -> "ProcessConnection":
        """A process of the module that waits for its first request.

        Another ``python`` finds this Saccade, then what the user's ``PYTHONPATH`` names, and nothing else of this one's
        packages.
        """
        ours, theirs = socket.socketpair()
        command = [str(python or sys.executable), "-m", module, str(theirs.fileno())]
        environment = dict(os.environ)
        if python is not None:
            own = [str(folder.parent) for folder in source_folders()]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*own, os.environ.get("PYTHONPATH", "")]))
        with theirs:
            process = Popen(
                command, stdin=DEVNULL, stdout=STDERR, pass_fds=(theirs.fileno(),), close_fds=True, env=environment
            )
        return cls(process, ours, what=what, lost_error=lost_error)

    @property
    def process_id(self) -> int:
        return self._process.pid

    async def answer(self, header: Mapping[str, Json], parts: Sequence[bytes] = ()) -> WireFrame:
        """The answer to a request; ``EngineLostError`` when the process ends before it."""
        return await asyncio.wrap_future(self.ask(header, parts))

    def ask(self, header: Mapping[str, Json], parts: Sequence[bytes] = ()) -> "Future[WireFrame]":
        """A request that is on its way; requests arrive in the order in which they are asked."""
        future: Future[WireFrame] = Future()
        # From here on it cannot be cancelled: an answer always finds it.
        future.set_running_or_notify_cancel()
        with self._sending:
            with self._lock:
                if self.lost is not None:
                    future.set_exception(self._lost_error(self.lost))
                    return future
                number = next(self._numbers)
                self._waiting[number] = future
            # A connection that is closed is the reader's to find out, and to say to all requests.
            with suppress(OSError):
                self._socket.sendall(packed(WireFrame({**header, "id": number}, parts)))
        return future

    def end(self) -> None:
        """Ends the process, by force where it does not end when its connection does."""
        # Its connection may be closed already.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(END_WITHIN_S)
        except TimeoutExpired:
            self._process.kill()
        self._reader.join()
        self._kill_at_exit.detach()
        self._socket.close()

    def _read(self) -> None:
        """Hands answers to their requests until the process ends."""
        try:
            while True:
                frame = receive(self._socket)
                with self._lock:
                    future = self._waiting.pop(int(str(frame.header["id"])))
                error = frame.header.get("error")
                if error is None:
                    future.set_result(frame)
                else:
                    message = str(frame.header["message"])
                    self._refusal = f": {message}" if frame.header.get("ends") else ""
                    future.set_exception(_ERRORS[str(error)](message))
        except BrokenFrameError:
            self._lose()

    def _lose(self) -> None:
        try:
            status = self._process.wait(END_WITHIN_S)
        except TimeoutExpired:
            # A process that closed its connection is of no use.
            self._process.kill()
            status = self._process.wait()
        with self._lock:
            self.lost = f"{self._what} {self._process.pid} {_status_words(status)}{self._refusal}"
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(self._lost_error(self.lost))


def _status_words(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name
    return f"was ended by {name}" + (", possibly because memory ran out" if name == "SIGKILL" else "")
