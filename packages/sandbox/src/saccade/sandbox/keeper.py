"""The keeper of one session: runs no model code, decides which process lives, holds the committed files."""

import fcntl
import os
import socket
import time
from typing import NoReturn

from saccade.sandbox import processes
from saccade.sandbox.crew import CAN_WATCH, NEW, READY_S, CloneGate, Crew, DiedError, LateError, LostError
from saccade.sandbox.files import Files, OverLimitError
from saccade.sandbox.report import Memories, Report, failure_of, stderr_text
from saccade.sandbox.results import Limits
from saccade.sandbox.wire import ClosedError, Head, receive_frame, send_frame, whole_number, words

_DAMAGED = "an earlier run left this session's interpreter unusable; it cannot run code any more"
_TAKEN_BACK = (
    "the last run left an interpreter that cannot go on, so it was taken back: variables and files are as before it, "
    "and this code was not run"
)
_THREADS_STAY = "the threads that the code left running could not be ended"
_SPENT = "the code used all of its processor time"
_FILES_LOST = (
    "this session has ended: a run that failed had removed or replaced files that the session holds open, "
    "and they cannot be given back as they were"
)
_LOOK_S = 0.2
_TOO_MUCH = "the code wrote far more than a session's files may have"


class Keeper:
    """Serves one session until the trainer closes it."""

    def __init__(
        self,
        trainer: socket.socket,
        near: socket.socket,
        far: socket.socket,
        *,
        state: int,
        memories: Memories,
        files: Files,
        limits: Limits,
        gate: CloneGate | None,
        is_on_disk: bool,
    ) -> None:
        self._is_on_disk = is_on_disk
        self._trainer, self._memories, self._files, self._limits = trainer, memories, files, limits
        self._gate = gate
        self._report = Report(limits=limits)
        self._crew = Crew(trainer, near, far, state=state, gate=gate, note=self._note)
        self._number = 0
        self._is_answered = self._is_taken_back = False
        self._why_ended = ""
        """The reason for which this session runs no more code."""

    def serve(self) -> NoReturn:
        """Answers the trainer; ClosedError when it has gone."""
        self._begin()
        while True:
            self._crew.bury()
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
        crew = self._crew
        crew.may_fork(crew.state)
        crew.order({"images": [name for name, _ in files], "seed": order["seed"]})
        try:
            heard = crew.wait({"hi": NEW, "refused": crew.state}, READY_S)
        except LostError as error:
            raise RuntimeError("the session's first process did not get ready" + stderr_text(self._memories)) from error
        if heard["kind"] == "refused":
            send_frame(self._trainer, {"refused": words(heard, "why")})
            raise ClosedError
        crew.child = whole_number(heard, "pid")
        self._freeze()
        send_frame(self._trainer, {"ready": True})

    def _serve_run(self, code: bytes, timeout_s: float) -> None:
        self._report, self._is_answered = Report(limits=self._limits), False
        if self._why_ended or self._is_taken_back:
            self._answer({"error": "killed", "message": self._why_ended or _TAKEN_BACK})
            self._is_taken_back = False
            return
        os.pwrite(self._memories.inbox, code, 0)
        if self._gate is not None:
            self._gate.start_run()
        try:
            self._crew.go_on(self._crew.child)
            if not CAN_WATCH:
                self._crew.go_on(self._crew.state)
            self._crew.order({"size": len(code), "number": self._number})
            ended = self._follow(timeout_s)
            if ended["kind"] == "done":
                ended = self._keep(ended)
            if ended["kind"] != "done":
                self._discard(ended)
                return
            # The trainer need not wait for the fork. If that fails, the next run is told.
            self._answer({})
            self._hand_over()
        except (LostError, OSError):
            self._end(_DAMAGED)
            if not self._is_answered:
                self._answer({"error": "killed", "message": _DAMAGED})

    def _end(self, why: str) -> None:
        self._why_ended = why
        self._crew.end_all()

    def _follow(self, timeout_s: float) -> Head:
        """The end of the run: ``done``, ``fail``, ``died`` (where that cannot be seen: ``gone``) or ``late``."""
        child = self._crew.child
        by_state = {} if CAN_WATCH else {"gone": self._crew.state}
        began = time.monotonic()
        try:
            # A run's clock starts with its code: before that, it waits for a processor.
            ended = self._crew.wait({"started": child, **by_state}, READY_S)
            deadline = time.monotonic() + timeout_s
            if ended["kind"] == "started":
                ended = self._await_end({"done": child, "fail": child, **by_state}, deadline)
            if ended["kind"] == "done":
                ended = self._renew(ended, deadline)
        except LateError:
            ended = {"kind": "late", "timeout_s": timeout_s}
        except DiedError:
            ended = {"kind": "died"}
        self._report.elapsed_s = time.monotonic() - began
        return ended

    def _await_end(self, expected: dict[str, int], deadline: float) -> Head:
        """The run's own last words, unless it fills the host's disk."""
        while self._is_on_disk and deadline - time.monotonic() > _LOOK_S:
            try:
                return self._crew.wait(expected, _LOOK_S)
            except LateError:
                if self._files.overflow():
                    return {"kind": "fail", "error": "limit", "message": _TOO_MUCH}
        return self._crew.wait(expected, deadline - time.monotonic())

    def _renew(self, ended: Head, deadline: float) -> Head:
        """Leaves a good run no thread, and the next runs time; how it ended after all.

        What the code has registered to run with a fork does so now: within the run's time, before its files are kept.
        """
        is_crowded = self._crew.has_threads or (self._gate is None and whole_number(ended, "threads") > 1)
        # A state forks once for every run that fails: its own processor time must last.
        is_spent = processes.cpu_time_s(self._crew.child) > self._limits.cpu_s / 2
        if is_crowded or is_spent:
            try:
                self._crew.renew(deadline - time.monotonic(), crowded=is_crowded)
            except DiedError:
                return {"kind": "fail", "error": "limit", "message": _THREADS_STAY if is_crowded else _SPENT}
        if self._crew.has_threads:
            return {"kind": "fail", "error": "limit", "message": _THREADS_STAY}
        return ended

    def _keep(self, ended: Head) -> Head:
        """Keeps the files of a good run; how it ended after all."""
        try:
            self._files.commit()
        except (OverLimitError, OSError) as error:
            return {"kind": "fail", "error": "limit", "message": str(error)}
        if self._gate is not None:
            self._gate.keep_run()
        return ended

    def _hand_over(self) -> None:
        """The process of a good run becomes the state; if it cannot go on, the state before it does."""
        try:
            self._crew.hand_over()
        except (LateError, DiedError):
            self._crew.end_all_but_state()
            self._files.take_back()
            self._is_taken_back = True
            self._wake_state()
            self._settle()
            return
        self._files.forget_last()
        self._empty_memories()

    def _discard(self, ended: Head) -> None:
        """The run failed: its process goes, variables and files are as before it."""
        # The state sleeps meanwhile, and nothing else is left: no process changes files meanwhile.
        self._crew.end_all_but_state()
        self._files.roll_back()
        self._wake_state()
        gone = self._crew.wait({"gone": self._crew.state}, READY_S) if ended["kind"] == "died" else ended
        self._answer(failure_of(ended, gone, self._limits))
        self._settle()

    def _wake_state(self) -> None:
        """Lets the state see that its child is gone, and fork another."""
        self._crew.may_fork(self._crew.state)
        self._crew.go_on(self._crew.state)

    def _settle(self) -> None:
        """The state goes on, unless files that it has open are no longer those of the session."""
        self._crew.child = self._crew.welcome("hi")
        if self._crew.has_lost_files:
            self._end(_FILES_LOST)
            return
        self._freeze()

    def _freeze(self) -> None:
        self._crew.freeze()
        self._empty_memories()

    def _empty_memories(self) -> None:
        memories = self._memories
        for file in (memories.out, memories.err, memories.images, memories.inbox):
            os.ftruncate(file, 0)
        for file in (memories.out, memories.err):
            # Code shares them and may have changed this; without it, the next words would come after a hole.
            fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)

    def _note(self, heard: Head) -> None:
        self._report.note_picture(heard)

    def _answer(self, failure: Head) -> None:
        head, body = self._report.frame(self._memories, failure)
        self._is_answered = True
        send_frame(self._trainer, head, body)
