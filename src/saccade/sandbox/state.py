"""The process that a session's variables live in: it forks, and the child runs the next code.

A state sleeps while its child runs. If the run ends well the keeper kills the state, and the child is the new state; if
not, the child is killed and the state forks another. What the code did to variables, modules, open files or C objects
thus stays or goes as a whole, without anything being copied by hand. Whatever happens here is believed by the keeper
only about this session.
"""

import builtins
import contextlib
import faulthandler
import io
import json
import os
import random
import signal
import socket
import sys
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import cv2
import numpy as np
from PIL import Image

from saccade.sandbox import displays, processes
from saccade.sandbox.capture import UNREADABLE, Gallery
from saccade.sandbox.contract import Limits
from saccade.sandbox.execution import Failure, execute, failure_of
from saccade.sandbox.wire import LARGEST_MESSAGE

DEVNULL, OUT, ERR, CHANNEL, INBOX, IMAGES = range(100, 106)
"""Where the runner keeps its descriptors, out of the way of the model's."""

_MISSES = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a session lives."""

    folder: str
    limits: Limits
    is_in_pid_namespace: bool

    @property
    def work(self) -> str:
        return self.folder + "/work"

    @property
    def temporary(self) -> str:
        return self.folder + "/tmp"


class State:
    """The interpreter of one session, from the first image to its end."""

    def __init__(self, channel: socket.socket, place: Place) -> None:
        # Bound now: model code may replace what modules call by name.
        self._send, self._receive = channel.send, channel.recv
        self._place = place
        self._gallery = Gallery(IMAGES, place.work, place.limits, self._announce)
        self._kept = [(number, os.fstat(number)) for number in range(DEVNULL, IMAGES + 1)]
        self._module = types.ModuleType("__main__")
        self._folder = place.work
        self._stdout, self._stderr = _text_stream(1), _text_stream(2)
        self._stale: list[io.TextIOWrapper] = []

    def serve(self) -> NoReturn:
        """Takes the images, then forks and runs until it is killed."""
        self._begin(self._hear())
        while True:
            self._fork_until_kept()

    def _begin(self, order: dict[str, object]) -> None:
        place = self._place
        os.chdir(place.work)
        os.environ.update(HOME=place.work, TMPDIR=place.temporary, PWD=place.work)
        tempfile.tempdir = place.temporary
        space = self._module.__dict__
        sys.modules["__main__"] = self._module
        space["display"] = displays.install(self._gallery)
        # Modules that the model writes into its folder can be imported.
        sys.path.insert(0, "")
        builtins.input = _no_input
        builtins.exit = builtins.quit = _leave  # type: ignore[assignment]  # of `site`, which is not loaded
        names = order["images"]
        assert isinstance(names, list)
        try:
            images = [_decoded(name) for name in names]
        except (*UNREADABLE, MemoryError) as error:
            self._tell(kind="refused", why=f"{type(error).__name__}: {error}")
            os._exit(0)
        if images:
            space["input_image"] = images[0]
            space["input_images"] = images
        seed = order["seed"]
        assert isinstance(seed, int)
        random.seed(seed)
        np.random.seed(seed % (1 << 32))
        cv2.setRNGSeed(seed % (1 << 31))
        self._builtins = dict(builtins.__dict__)

    def _fork_until_kept(self) -> None:
        """Returns in a child whose run was good, when the keeper has made it the state."""
        while True:
            offsets = _offsets()
            # `random` seeds itself anew in every forked child.
            drawn = random.getstate()
            child = os.fork()
            if child == 0:
                random.setstate(drawn)
                self._run_once()
                return
            _, status, usage = os.wait4(child, 0)
            # They are shared with the child, which may have read on.
            for number, offset in offsets:
                with contextlib.suppress(OSError):
                    os.lseek(number, offset, os.SEEK_SET)
            self._tell(kind="gone", status=status, cpu_ms=int(1000 * (usage.ru_utime + usage.ru_stime)))

    def _run_once(self) -> None:
        follows = not self._place.is_in_pid_namespace
        if follows:
            processes.die_with_parent()
        self._tell(kind="hi")
        order = self._hear()
        size, number = order["size"], order["number"]
        assert isinstance(size, int)
        assert isinstance(number, int)
        self._open_streams()
        self._tell(kind="started")
        with contextlib.suppress(OSError):
            os.chdir(self._folder)
        code = os.pread(INBOX, size, 0).decode("utf-8", "replace")
        failure = execute(code, number, self._module.__dict__, self._show)
        if failure is None:
            failure = self._guarded(self._finish)
        self._close_run()
        if failure is not None:
            self._tell(
                kind="fail",
                error=failure.kind,
                name=failure.name,
                message=failure.message,
                traceback=failure.traceback,
            )
            # Not an exit: the exit handlers and buffers are the model's.
            signal.pause()
            os._exit(0)
        if follows:
            # The parent is killed now; the keeper becomes the parent.
            processes.outlive_parent()
        self._tell(kind="done", threads=processes.thread_count())
        while self._hear().get("fork"):
            # Only the thread that forks is in the child: all others end here.
            drawn = random.getstate()
            if os.fork():
                signal.pause()
                os._exit(0)
            random.setstate(drawn)
            # A thread that is no more may have held their locks: the old ones are kept, since closing takes the lock.
            self._stale += [self._stdout, self._stderr]
            self._stdout, self._stderr = _text_stream(1), _text_stream(2)
            self._tell(kind="moved")
        if follows:
            processes.die_with_parent()

    def _show(self, value: object) -> None:
        displays.show_value(self._gallery, value)

    def _guarded(self, part: Callable[[], None]) -> Failure | None:
        try:
            part()
        except BaseException as error:
            return failure_of(error)
        return None

    def _finish(self) -> None:
        displays.show_open_figures(self._gallery)
        self._gallery.show_saved()

    def _open_streams(self) -> None:
        for target, source in ((0, DEVNULL), (1, OUT), (2, ERR)):
            os.dup2(source, target)
        self._stdout = self._stdout if not self._stdout.closed else _text_stream(1)
        self._stderr = self._stderr if not self._stderr.closed else _text_stream(2)
        sys.stdout, sys.stderr = self._stdout, self._stderr
        sys.__stdout__, sys.__stderr__ = self._stdout, self._stderr  # type: ignore[misc]
        self._gallery.start()

    def _close_run(self) -> None:
        """Leaves the interpreter as the next run expects it; a run that spoiled it for good ends here."""
        builtins.__dict__.update(self._builtins)
        for name in builtins.__dict__.keys() - self._builtins.keys():
            del builtins.__dict__[name]
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        faulthandler.cancel_dump_traceback_later()
        for stream in (sys.stdout, sys.stderr, self._stdout, self._stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        notes = self._gallery.notes()
        if notes:
            os.write(ERR, notes.encode())
        self._folder = _current_folder(self._place.work)
        for number, stat in self._kept:
            now = os.fstat(number)
            if (now.st_dev, now.st_ino) != (stat.st_dev, stat.st_ino):
                os._exit(0)

    def _announce(self, width: int, height: int, start: int) -> None:
        self._tell(kind="image", width=width, height=height, start=start)

    def _tell(self, **message: object) -> None:
        message["pid"] = os.getpid()
        self._send(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))

    def _hear(self) -> dict[str, object]:
        heard = self._receive(LARGEST_MESSAGE)
        if not heard:
            os._exit(0)
        order: dict[str, object] = json.loads(heard)
        return order


def _decoded(name: object) -> Image.Image:
    image: Image.Image = Image.open(str(name))
    image.load()
    # Read whole, its file is closed; a copy of what is RGB already would double the memory of every session.
    if image.mode == "RGB":
        return image
    with image:
        return image.convert("RGB")


def _no_input(prompt: object = "") -> str:
    raise EOFError("input() has nobody to answer it here: put the value into the code")


def _leave(code: object = None) -> NoReturn:
    raise SystemExit(code)


def _text_stream(number: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True)


def _current_folder(default: str) -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return default


def _offsets() -> list[tuple[int, int]]:
    found, misses = [], 0
    for number in range(3, DEVNULL):
        try:
            found.append((number, os.lseek(number, 0, os.SEEK_CUR)))
            misses = 0
        except OSError:
            misses += 1
            if misses > _MISSES:
                break
    return found
