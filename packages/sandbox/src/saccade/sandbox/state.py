"""The process that a session's variables live in: it forks, and the child runs the next code.

A state sleeps while its child runs. If the run ends well the keeper kills the state, and the child is the new state; if
not, the child is killed and the state forks another. What the code did to variables, modules, open files or C objects
thus stays or goes as a whole, without anything being copied by hand. Whatever happens here is believed by the keeper
only about this session.
"""

import builtins
import contextlib
import gc
import io
import json
import socket
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

# Bound here by name: model code may replace what modules hold.
from functools import partial
from os import _exit, chdir, getcwd, getpid, getppid, pread, set_blocking, wait4, write
from random import getstate, setstate
from time import sleep
from typing import NoReturn, TextIO

from saccade.sandbox import displays, processes
from saccade.sandbox.descriptors import (
    CHANNEL,
    ERR,
    IMAGES,
    INBOX,
    connect,
    identities,
    places,
    restore,
    text_stream,
    usable,
    watch,
)
from saccade.sandbox.disarm import disarm
from saccade.sandbox.displays import Gallery
from saccade.sandbox.execution import Failure, RefusedError, execute, failure_of, furnish
from saccade.sandbox.forks import HeldFork, fork, stay
from saccade.sandbox.results import Limits
from saccade.sandbox.wire import LARGEST_MESSAGE

_encode, _decode = json.JSONEncoder(ensure_ascii=False).encode, json.JSONDecoder().decode
_is_collecting, _collect = gc.isenabled, gc.enable


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Folder and limits of a session."""

    folder: str
    limits: Limits
    is_in_pid_namespace: bool
    has_gate: bool
    """Whether the keeper sees which threads are made."""

    @property
    def work(self) -> str:
        return self.folder + "/work"

    @property
    def temporary(self) -> str:
        return self.folder + "/tmp"


class SessionState:
    """The interpreter of one session, from the first image to its end."""

    def __init__(self, channel: socket.socket, place: Place) -> None:
        # Bound now: model code may replace what modules call by name.
        self._send, self._receive = channel.send, channel.recv
        self._place = place
        self._gallery = Gallery(IMAGES, place.work, place.limits, self._announce)
        self._kept = identities()
        self._watched = watch(place.limits.open_files)
        self._module = types.ModuleType("__main__")
        self._folder = place.work
        self._collects = True
        self._keeper = getppid()
        self._is_tied = True
        self._stdout, self._stderr = text_stream(1), text_stream(2)
        self._stale: list[io.TextIOWrapper] = []
        self._order: dict[str, object] = {}
        self._drawn = getstate()
        self._held = HeldFork(self._sleep_anew)

    def serve(self) -> NoReturn:
        """Takes the images, then forks and runs until it is killed."""
        self._begin(self._hear())
        self._sleep()
        while True:
            self._run()
            self._become_state()

    def _begin(self, order: dict[str, object]) -> None:
        names, seed, place = order["images"], order["seed"], self._place
        assert isinstance(names, list)
        assert isinstance(seed, int)
        try:
            furnish(self._module, self._gallery, work=place.work, temporary=place.temporary, images=names, seed=seed)
        except RefusedError as error:
            self._tell(kind="refused", why=str(error))
            _exit(0)
        self._builtins = dict(builtins.__dict__)

    def _sleep(self) -> None:
        """The life of a state: this returns in its children only, when they know what to run."""
        while True:
            reached = places(self._watched, self._place.limits.open_files)
            child = fork()
            if child == 0:
                self._await_order()
                return
            if not self._is_tied:
                self._tie()
            _, status, usage = wait4(child, 0)
            if not restore(reached):
                self._tell(kind="lost")
            self._tell(kind="gone", status=status, cpu_ms=int(1000 * (usage.ru_utime + usage.ru_stime)))

    def _await_order(self) -> None:
        if not self._place.is_in_pid_namespace:
            processes.die_with_parent()
            self._is_tied = False
        self._tell(kind="hi")
        self._order = self._hear()
        # From here on its clock runs.
        self._tell(kind="started")

    def _run(self) -> None:
        """Makes the run that was ordered; returns when it was good."""
        size, number = self._order["size"], self._order["number"]
        assert isinstance(size, int)
        assert isinstance(number, int)
        self._open_streams()
        with contextlib.suppress(OSError):
            chdir(self._folder)
        if self._collects:
            _collect()
        code = pread(INBOX, size, 0).decode("utf-8", "replace")
        failure = execute(code, number, self._module.__dict__, self._show)
        if failure is None:
            failure = self._failure_in(self._finish)
        self._close_run()
        if failure is not None:
            self._tell(
                kind="fail", error=failure.kind, name=failure.name, message=failure.message, traceback=failure.traceback
            )
            # Not an exit: the exit handlers and buffers are the model's.
            stay()
        self._tell(kind="done", threads=1 if self._place.has_gate else processes.thread_count())

    def _become_state(self) -> None:
        """After a good run: returns in the child that makes the next one."""
        while wanted := self._hear()["fork"]:
            if wanted == "crowded":
                self._drawn = getstate()
                self._held.begin()
                return
            if fork():
                stay()
            self._begin_anew()
        self._sleep()

    def _sleep_anew(self) -> None:
        """The life of a state whose fork is held."""
        # Hooks have run since this was done.
        self._calm()
        # `random` seeds itself anew where Python forks.
        setstate(self._drawn)
        self._begin_anew()
        # To fork again cannot be meant: its hooks would be run twice.
        self._hear()
        self._sleep()

    def _begin_anew(self) -> None:
        """In a fork of a process whose run was good; of that one's threads only this is there."""
        # A thread that is no more may have held their locks: the old ones are kept, since closing takes the lock.
        self._stale += [self._stdout, self._stderr]
        self._stdout, self._stderr = text_stream(1), text_stream(2)
        self._tell(kind="moved")

    def _tie(self) -> None:
        """Ends with the keeper from now on, which is the parent once the state before this one is gone."""
        while getppid() not in (self._keeper, 1):
            sleep(0.001)
        processes.die_with_parent()
        self._is_tied = True
        self._tell(kind="tied")

    def _show(self, value: object) -> None:
        displays.show_value(self._gallery, value)

    def _failure_in(self, part: Callable[[], None]) -> Failure | None:
        try:
            part()
        except BaseException as error:
            return failure_of(error)
        return None

    def _finish(self) -> None:
        displays.show_open_figures(self._gallery)
        self._gallery.show_saved()

    def _open_streams(self) -> None:
        connect()
        self._stdout, self._stderr = usable(self._stdout, 1), usable(self._stderr, 2)
        sys.stdout, sys.stderr = self._stdout, self._stderr
        sys.__stdout__, sys.__stderr__ = self._stdout, self._stderr  # type: ignore[misc]
        self._gallery.start()

    def _close_run(self) -> None:
        """Leaves the interpreter as the next run expects it; a run that spoiled it for good ends here."""
        self._restore_builtins()
        for stream in (sys.stdout, sys.stderr, self._stdout, self._stderr):
            # It may be the model's own.
            self._failure_in(partial(_flush, stream))
        notes = self._gallery.notes()
        if notes:
            write(ERR, notes.encode())
        self._folder = _current_folder(self._place.work)
        self._collects = _is_collecting()
        self._calm()

    def _calm(self) -> None:
        """Nothing of the model's runs here from now on."""
        disarm()
        self._restore_builtins()
        if identities() != self._kept:
            _exit(0)

    def _restore_builtins(self) -> None:
        builtins.__dict__.update(self._builtins)
        for name in builtins.__dict__.keys() - self._builtins.keys():
            del builtins.__dict__[name]

    def _announce(self, width: int, height: int, start: int) -> None:
        self._tell(kind="image", width=width, height=height, start=start)

    def _tell(self, **message: object) -> None:
        message["pid"] = getpid()
        # The model's code shares the channel and may have changed this.
        set_blocking(CHANNEL, True)
        self._send(_encode(message).encode("utf-8", "replace"))

    def _hear(self) -> dict[str, object]:
        set_blocking(CHANNEL, True)
        heard = self._receive(LARGEST_MESSAGE)
        if not heard:
            _exit(0)
        order: dict[str, object] = _decode(heard.decode())
        return order


def _flush(stream: TextIO) -> None:
    stream.flush()


def _current_folder(default: str) -> str:
    try:
        return getcwd()  # noqa: PTH109
    except OSError:
        return default
