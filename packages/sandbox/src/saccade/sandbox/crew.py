"""The processes of one session as its keeper sees them: their right to fork, their messages, and their end."""

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from saccade.sandbox import processes
from saccade.sandbox.wire import ClosedError, Head, receive_packet, whole_number, words

READY_S = 10.0
"""For the first words of a process, also on a busy machine."""
_FORK_S = 5.0
"""For a fork and the first words of the child."""
NEW = -1
"""A process that has not been heard before."""
CAN_WATCH = hasattr(os, "pidfd_open")
_UNHEARD_S = 1.0
_DO_NOT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)


class CloneGate(Protocol):
    """Decides about each clone() of the session."""

    def fileno(self) -> int: ...

    def start_run(self) -> None: ...

    def keep_run(self) -> None: ...

    def grant(self, forking: set[int]) -> int:
        """Answers one call: threads, and one fork of each process in the set; which thread has made one, or 0."""
        ...


class LostError(Exception):
    """The session's processes do not do what they should."""


class LateError(LostError):
    """They have not done it in time."""


class DiedError(LostError):
    """Another process than the state has ended."""


class Crew:
    """The state, which sleeps while a run is under way, its child, which makes the run, and what they say."""

    def __init__(
        self,
        trainer: socket.socket,
        near: socket.socket,
        far: socket.socket,
        *,
        state: int,
        gate: CloneGate | None,
        note: Callable[[Head], None],
    ) -> None:
        self.state, self.child = state, 0
        self.has_lost_files = False
        """Whether a process has found that files that it holds open are no longer those of the session."""
        self._trainer, self._near, self._far, self._gate, self._note = trainer, near, far, gate, note
        self._may_fork: set[int] = set()
        self._crowded: set[int] = set()
        """The threads that have made threads since the last fork, also those of a process that is about to be ended."""
        self._has_unheard = False
        self._tied = 0
        self._watched: dict[int, int] = {}
        self._dying: set[int] = set()
        self._poll = select.poll()
        self._poll.register(near, select.POLLIN)
        # An end, not an order: the trainer sends nothing while a run is under way.
        self._poll.register(trainer, getattr(select, "POLLRDHUP", select.POLLHUP))
        if gate is not None:
            self._poll.register(gate.fileno(), select.POLLIN)
        if CAN_WATCH:
            self._watch(state)
        else:
            far.close()

    @property
    def has_threads(self) -> bool:
        """Whether the child has made threads."""
        return self.child in self._crowded

    def order(self, order: Head) -> None:
        try:
            self._near.send(json.dumps(order).encode(), _DO_NOT_WAIT)
        except OSError as error:
            raise LostError from error

    def wait(self, expected: Mapping[str, int], within_s: float) -> Head:
        """The first message of one of these kinds by the process that may say it.

        LateError when none comes, DiedError when a process other than the state has ended, LostError when the state
        has, ClosedError when the trainer has gone.
        """
        deadline = time.monotonic() + within_s
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise LateError(f"no {' or '.join(expected)} came")
            ready = {descriptor for descriptor, _ in self._poll.poll(left * 1000)}
            if self._trainer.fileno() in ready:
                raise ClosedError
            ended = [pid for pid, watch in self._watched.items() if watch in ready]
            # What was said comes before what was done; the last words may have come since.
            if self._near.fileno() in ready or ended:
                heard = self._hear_all(expected, deadline)
                if heard is not None:
                    return heard
            if ended:
                self._forget(ended[0])
                raise LostError("the state has ended") if self.state in ended else DiedError
            if self._gate is not None and self._gate.fileno() in ready:
                self._grant(self._gate)

    def welcome(self, kind: str, within_s: float = _FORK_S) -> int:
        """The process that was just forked, once it has said this."""
        heard = self.wait({kind: NEW, "fail": self.child}, within_s)
        if heard["kind"] == "fail":
            raise DiedError("it had lied about its end")
        return whole_number(heard, "pid")

    def may_fork(self, pid: int) -> None:
        """One process, once."""
        self._may_fork = {pid}

    def renew(self, within_s: float, *, crowded: bool) -> None:
        """Has the child forked once more, and ends the old one: the new one has one thread, and its own time to use.

        What code has registered to run with the fork of threads runs meanwhile.
        """
        old = self.child
        self.may_fork(old)
        self.order({"fork": "crowded" if crowded else "alone"})
        self.child = self.welcome("moved", within_s)
        self._end(old)

    def hand_over(self) -> None:
        """The child becomes the state once it has shown that it can: by forking the next one.

        DiedError or LateError when it cannot; the old state is still there.
        """
        old, new = self.state, self.child
        self.may_fork(new)
        self.order({"fork": ""})
        newborn = self.welcome("hi")
        processes.kill(old)
        # It sleeps, and never wakes again: the kernel may take its memory apart later.
        if (watch := self._unwatch(old)) >= 0:
            self._dying.add(watch)
        else:
            processes.await_child(old)
        self.state, self.child = new, newborn
        if os.getpid() != 1 and self._tied != new:
            # It sleeps from now on: first it sees that its parent is the keeper, with whom it must end.
            try:
                self.wait({"tied": new}, READY_S)
            except LostError as error:
                raise LostError("the new state does not answer") from error
        self.freeze()

    def bury(self) -> None:
        """Takes leave of earlier states when all of them are dead, unless the trainer has an order before that."""
        poll = select.poll()
        for descriptor in (self._trainer.fileno(), *self._dying):
            poll.register(descriptor, select.POLLIN)
        while self._dying:
            ready = {descriptor for descriptor, _ in poll.poll()}
            for watch in self._dying & ready:
                poll.unregister(watch)
                os.close(watch)
            self._dying -= ready
            if self._trainer.fileno() in ready:
                return
        # Not one by one: each is the child of the one before it until that is dead.
        processes.reap()

    def freeze(self) -> None:
        """Nothing of the session runs until the next order."""
        self._may_fork = set()
        processes.kill(self.child, signal.SIGSTOP)
        processes.kill(self.state, signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):
            _, status = os.waitpid(self.state, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                raise LostError("the state has ended")
        processes.reap()

    def go_on(self, pid: int) -> None:
        processes.kill(pid, signal.SIGCONT)

    def end_all_but_state(self) -> None:
        """Ends every other process of the session, heard or not, and forgets what they said and have not read."""
        for pid in [*self._watched, self.child]:
            if pid not in (0, self.state):
                self._end(pid)
        if self._has_unheard:
            self._end_unheard()
        self.child = 0
        self._silence()

    def end_all(self) -> None:
        for pid in {*self._watched, self.state, self.child} - {0}:
            processes.kill(pid)
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        elif self._has_unheard:
            self._end_unheard()

    def _hear_all(self, expected: Mapping[str, int], deadline: float) -> Head | None:
        """The first expected message among those that wait; None also at the deadline, as they may never end."""
        while time.monotonic() < deadline:
            try:
                heard, sender, descriptors = receive_packet(self._near, _DO_NOT_WAIT)
            except BlockingIOError:
                return None
            except (ClosedError, OSError) as error:
                raise LostError from error
            for descriptor in descriptors:
                os.close(descriptor)
            sender = sender or whole_number(heard, "pid")
            kind = words(heard, "kind", 16)
            if kind == "image" and sender == self.child:
                self._note(heard)
            elif kind == "tied":
                self._tied = sender
            elif kind == "lost" and sender == self.state:
                self.has_lost_files = True
            who = expected.get(kind)
            if who == NEW and sender not in (0, self.state, self.child):
                self._has_unheard = False
                self._watch(sender)
                return {**heard, "pid": sender}
            if who == sender:
                return heard
        return None

    def _grant(self, gate: CloneGate) -> None:
        waiting = len(self._may_fork)
        crowded = gate.grant(self._may_fork)
        if crowded:
            self._crowded.add(crowded)
        if len(self._may_fork) < waiting:
            self._has_unheard = True
            self._crowded.clear()

    def _watch(self, pid: int) -> None:
        if not CAN_WATCH:
            return
        try:
            watch = os.pidfd_open(pid)
        except ProcessLookupError as error:
            raise DiedError from error
        self._watched[pid] = watch
        self._poll.register(watch, select.POLLIN)

    def _forget(self, pid: int) -> None:
        watch = self._unwatch(pid)
        if watch >= 0:
            os.close(watch)

    def _unwatch(self, pid: int) -> int:
        watch = self._watched.pop(pid, -1)
        if watch >= 0:
            self._poll.unregister(watch)
        return watch

    def _end(self, pid: int) -> None:
        processes.kill_and_await(pid)
        self._forget(pid)

    def _end_unheard(self) -> None:
        """Ends a process that was forked and has never said its number; once its parent is dead it is the keeper's."""
        self._has_unheard = False
        if os.getpid() != 1:
            for pid in processes.children():
                if pid != self.state:
                    processes.kill_and_await(pid)
            return
        # All processes of the namespace; the kernel then tells which have stopped. The others stop before they run on.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGSTOP)
        deadline = time.monotonic() + _UNHEARD_S
        while time.monotonic() < deadline:
            pid, status = os.waitpid(-1, os.WUNTRACED | os.WNOHANG)
            if pid == 0:
                time.sleep(0.002)
            elif pid != self.state and os.WIFSTOPPED(status):
                processes.kill_and_await(pid)
                return

    def _silence(self) -> None:
        for end in (self._near, self._far) if CAN_WATCH else (self._near,):
            with contextlib.suppress(BlockingIOError):
                while True:
                    _, _, descriptors = receive_packet(end, _DO_NOT_WAIT)
                    for descriptor in descriptors:
                        os.close(descriptor)
