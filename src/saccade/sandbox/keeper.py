"""The keeper of one session: runs no model code, decides which process lives, holds the committed files."""

import contextlib
import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from saccade.sandbox import processes
from saccade.sandbox.contract import Limits
from saccade.sandbox.files import Files, OverLimitError
from saccade.sandbox.wire import (
    ClosedError,
    Head,
    receive_frame,
    receive_packet,
    send_frame,
    whole_number,
    words,
)

_READY_S = 10.0
"""For a fork and the first words of the child, also on a busy machine."""
_KINDS = ("exception", "exit", "memory", "limit")
_DAMAGED = "an earlier run left this session's interpreter unusable; it cannot run code any more"


class Gate(Protocol):
    """Decides about each clone() of the session."""

    def fileno(self) -> int: ...

    def start_run(self) -> None: ...

    def grant(self, forking: set[int]) -> bool:
        """Answers one call: threads, and one fork of each process in the set; whether it made a thread."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Memories:
    """Memory files that the keeper shares with the session's processes."""

    out: int
    err: int
    inbox: int
    images: int


def said(memories: Memories) -> str:
    """What a session's process wrote to its standard error, for a message about its end."""
    return ":\n" + os.pread(memories.err, 4000, 0).decode("utf-8", "replace")


@dataclass(kw_only=True, slots=True)
class _Run:
    """What is known of the run under way."""

    pictures: list[tuple[int, int, int]] = field(default_factory=list)
    has_threads: bool = False
    began: float | None = None
    elapsed_s: float = 0.0


class LostError(Exception):
    """The session's processes do not do what they should."""


class LateError(LostError):
    """They have not done it in time."""


class Keeper:
    """Serves one session until the trainer closes it."""

    def __init__(
        self,
        trainer: socket.socket,
        channel: socket.socket,
        *,
        state: int,
        memories: Memories,
        files: Files,
        limits: Limits,
        gate: Gate | None,
    ) -> None:
        self._trainer, self._channel = trainer, channel
        self._memories, self._files, self._limits, self._gate = memories, files, limits, gate
        self._state, self._child = state, 0
        self._dead = 0
        self._may_fork: set[int] = set()
        self._run = _Run()
        self._number = 0
        self._is_damaged = self._is_answered = False
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        # An end, not an order: the trainer sends nothing while a run is under way.
        self._poll.register(trainer, getattr(select, "POLLRDHUP", select.POLLHUP))
        if gate is not None:
            self._poll.register(gate.fileno(), select.POLLIN)

    def serve(self) -> NoReturn:
        """Answers the trainer; ClosedError when it has gone."""
        self._begin()
        while True:
            order, body, _ = receive_frame(self._trainer)
            timeout_s = order["timeout_s"]
            assert isinstance(timeout_s, float)
            self._number += 1
            self._serve_run(bytes(body), timeout_s)

    def _begin(self) -> None:
        order, body, _ = receive_frame(self._trainer)
        files, start = order["files"], 0
        assert isinstance(files, list)
        for name, size in files:
            self._files.write(f"work/{name}", bytes(body[start : start + size]))
            start += size
        self._files.commit()
        self._may_fork = {self._state}
        self._order({"images": [name for name, _ in files], "seed": order["seed"]})
        try:
            heard = self._wait(("hi", "refused"), _READY_S, anyone=True)
        except LostError as error:
            raise RuntimeError("the session's first process did not get ready" + said(self._memories)) from error
        if heard.get("kind") == "refused":
            send_frame(self._trainer, {"refused": words(heard, "why")})
            raise ClosedError
        self._freeze()
        send_frame(self._trainer, {"ready": True})

    def _serve_run(self, code: bytes, timeout_s: float) -> None:
        if self._is_damaged:
            self._answer({"error": "killed", "message": _DAMAGED})
            return
        self._empty_memories()
        os.pwrite(self._memories.inbox, code, 0)
        self._run = _Run()
        if self._gate is not None:
            self._gate.start_run()
        processes.kill(self._state, signal.SIGCONT)
        processes.kill(self._child, signal.SIGCONT)
        self._order({"size": len(code), "number": self._number})
        try:
            ended = self._follow(timeout_s)
            failure = self._keep() if ended["kind"] == "done" else self._discard(ended)
            self._answer(failure)
            if not failure:
                self._succeed()
            self._settle()
        except (LostError, OSError):
            self._is_damaged = True
            self._kill_all()
            if not self._is_answered:
                self._answer({"error": "killed", "message": _DAMAGED})

    def _follow(self, timeout_s: float) -> Head:
        """How the run ended: ``done``, ``fail``, ``gone`` or ``late``."""
        self._is_answered = False
        began = time.monotonic()
        try:
            # A run's clock starts with its code: before that, it waits for a processor.
            ended = self._wait(("started", "gone"), _READY_S)
            began = time.monotonic()
            if ended["kind"] == "started":
                ended = self._wait(("done", "fail", "gone"), timeout_s)
        except LateError:
            ended = {"kind": "late", "timeout_s": timeout_s}
        self._run.elapsed_s = time.monotonic() - began
        if self._gate is None and whole_number(ended, "threads") > 1:
            self._run.has_threads = True
        return ended

    def _keep(self) -> Head:
        """The run was good: its files are kept, and nothing can come back to the state before it."""
        if self._run.has_threads:
            self._end_threads()
        try:
            self._files.commit()
        except OverLimitError as error:
            return self._discard({"kind": "fail", "error": "limit", "message": str(error)})
        processes.kill(self._state)
        return {}

    def _end_threads(self) -> None:
        """Has the child forked once more, which leaves all threads but one behind, and ends the crowded one."""
        # It would take the end of its child for the end of the run.
        processes.kill(self._state, signal.SIGSTOP)
        crowded = self._dead = self._child
        self._may_fork = {crowded}
        self._order({"fork": True})
        self._wait(("moved",), _READY_S, anyone=True)
        processes.kill_and_await(crowded)

    def _succeed(self) -> None:
        """The process of a good run becomes the state."""
        # Gone before the child hears of it: a child that dies with its parent must not take this one for it.
        os.waitpid(self._state, 0)
        self._state = self._child
        self._may_fork = {self._state}
        self._order({"fork": False})

    def _discard(self, ended: Head) -> Head:
        """The run failed: its process goes, variables and files are as before it."""
        if ended["kind"] != "gone":
            processes.kill_and_await(self._child)
            processes.kill(self._state, signal.SIGCONT)
            gone = self._wait(("gone",), _READY_S, state=True)
        else:
            gone = ended
        # It may have left words behind.
        self._dead = self._child
        self._may_fork = {self._state}
        self._files.roll_back()
        return _failure(ended, gone, self._limits)

    def _settle(self) -> None:
        """Lets the state fork the process that will run the next code, while nobody waits."""
        self._wait(("hi",), _READY_S, anyone=True)
        self._freeze()

    def _freeze(self) -> None:
        self._may_fork = set()
        self._empty_memories()
        processes.kill(self._state, signal.SIGSTOP)
        processes.kill(self._child, signal.SIGSTOP)
        processes.reap()

    def _empty_memories(self) -> None:
        for file in (self._memories.out, self._memories.err, self._memories.images, self._memories.inbox):
            os.ftruncate(file, 0)

    def _order(self, order: Head) -> None:
        try:
            self._channel.send(json.dumps(order).encode())
        except OSError as error:
            raise LostError from error

    def _wait(self, kinds: tuple[str, ...], within_s: float, *, anyone: bool = False, state: bool = False) -> Head:
        """The first message of these kinds by the child (by a new process: ``anyone``; by the state: ``state``)."""
        deadline = time.monotonic() + within_s
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LateError(f"no {kinds} came")
            for descriptor, events in self._poll.poll(left * 1000):
                if descriptor == self._trainer.fileno():
                    raise ClosedError
                if self._gate is not None and descriptor == self._gate.fileno():
                    self._run.has_threads |= self._gate.grant(self._may_fork)
                elif events & select.POLLIN:
                    heard = self._hear(kinds, anyone=anyone, state=state)
                    if heard is not None:
                        return heard
                else:
                    raise LostError("all processes of the session are gone")

    def _hear(self, kinds: tuple[str, ...], *, anyone: bool, state: bool) -> Head | None:
        try:
            heard, sender, descriptors = receive_packet(self._channel)
        except (ClosedError, OSError) as error:
            raise LostError from error
        for descriptor in descriptors:
            os.close(descriptor)
        sender = sender or whole_number(heard, "pid")
        kind = words(heard, "kind", 16)
        if kind == "image" and sender == self._child:
            self._note_picture(heard)
        if kind not in kinds:
            return None
        if kind == "gone":
            return heard if sender == self._state else None
        if anyone and kind in ("hi", "moved") and sender not in (self._state, self._dead):
            self._child = sender
            return heard
        if kind == "refused":
            return heard
        return heard if sender == self._child and not state else None

    def _note_picture(self, heard: Head) -> None:
        width, height, start = (whole_number(heard, name, -1) for name in ("width", "height", "start"))
        inside = width > 0 and height > 0 and start >= 0 and width * height <= self._limits.image_pixels
        if inside and len(self._run.pictures) < self._limits.images:
            self._run.pictures.append((width, height, start))

    def _kill_all(self) -> None:
        for pid in {self._state, self._child} - {0}:
            processes.kill(pid)
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)

    def _answer(self, failure: Head) -> None:
        most = 4 * self._limits.output_chars
        out, err = _ends(self._memories.out, most), _ends(self._memories.err, most)
        pictures, sizes = [], []
        room = self._limits.image_mib << 20
        for width, height, start in self._run.pictures:
            size = 3 * width * height
            room -= size
            if room < 0:
                break
            content = os.pread(self._memories.images, size, start)
            if len(content) == size:
                pictures.append(content)
                sizes.append((width, height))
        head: Head = {
            "out": [len(part) for part in out[:2]] + [out[2]],
            "err": [len(part) for part in err[:2]] + [err[2]],
            "images": sizes,
            "elapsed_s": self._run.elapsed_s,
            **failure,
        }
        self._is_answered = True
        send_frame(self._trainer, head, b"".join([*out[:2], *err[:2], *pictures]))


def _ends(file: int, most: int) -> tuple[bytes, bytes, int]:
    """All of a file, or its first and last bytes; and the number of bytes between them."""
    size = os.fstat(file).st_size
    if size <= 2 * most:
        return os.pread(file, size, 0), b"", 0
    return os.pread(file, most, 0), os.pread(file, most, size - most), size - 2 * most


def _failure(ended: Head, gone: Head, limits: Limits) -> Head:
    if ended["kind"] == "fail":
        kind = words(ended, "error", 16)
        return {
            "error": kind if kind in _KINDS else "exception",
            "name": words(ended, "name", 200),
            "message": words(ended, "message"),
            "traceback": words(ended, "traceback"),
        }
    if ended["kind"] == "late":
        return {"error": "timeout", "message": f"the code took longer than {ended['timeout_s']:g} s"}
    status = whole_number(gone, "status")
    if not os.WIFSIGNALED(status):
        return {
            "error": "exit",
            "message": f"the code ended its process with status {os.waitstatus_to_exitcode(status)}",
        }
    number = os.WTERMSIG(status)
    if number == signal.SIGKILL and whole_number(gone, "cpu_ms") >= 800 * limits.cpu_s:
        return {"error": "timeout", "message": f"the code took more than {limits.cpu_s:g} s of processor time"}
    if number == signal.SIGKILL:
        return {"error": "memory", "message": "the system killed the code, most likely for its memory"}
    return {"error": "killed", "message": f"the code was ended by signal {_signal_name(number)}"}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
