"""A session made again from its runs, in one process of any Python: the program that ``remote.py`` sends to a server.

It reads ``order.json`` beside it, makes all runs, and writes what the last one showed into ``answer``: the length of a
JSON head, the head and the bytes of ``Report.frame``. It keeps nothing in; that is the server's part.
"""

import contextlib
import json
import os
import resource
import signal
import sys
import time
import types
from functools import partial
from pathlib import Path
from struct import pack
from types import FrameType
from typing import Any, NoReturn
from zlib import compress

from saccade.sandbox.descriptors import text_stream
from saccade.sandbox.displays import Gallery, show_open_figures, show_value
from saccade.sandbox.execution import Failure, execute, failure_of, furnish
from saccade.sandbox.report import Memories, Report
from saccade.sandbox.results import Limits
from saccade.sandbox.wire import Head

ORDER, ANSWER, PROGRAM = "order.json", "answer", "program.zip"
START = f"""import os, sys
if os.environ.get("PYTHONHASHSEED") != "0":
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {{"PYTHONHASHSEED": "0"}})
sys.path.insert(0, {PROGRAM!r})
from saccade.sandbox.replay import main
main()
"""
"""What the server is given to run; with hashes of texts the same each time, or sets would come in another order."""


class OutOfTimeError(BaseException):
    """Raised in a run that is over its time; ``except Exception`` does not hold it."""


class Replay:
    """The runs of one session, one after the other, in this process."""

    def __init__(self, order: dict[str, Any], folder: str) -> None:
        self._limits = Limits(**order["limits"])
        self._memories = Memories(out=_memory(), err=_memory(), inbox=-1, images=_memory())
        self._report = Report(limits=self._limits)
        work, temporary = f"{folder}/work", f"{folder}/temporary"
        for path in (work, temporary):
            Path(path).mkdir(exist_ok=True)
        self._gallery = Gallery(self._memories.images, work, self._limits, self._announce)
        self._module = types.ModuleType("__main__")
        names, seed = order["images"], order["seed"]
        furnish(self._module, self._gallery, work=work, temporary=temporary, images=names, seed=seed)
        os.dup2(self._memories.out, 1)
        os.dup2(self._memories.err, 2)

    def run(self, number: int, code: str, timeout_s: float) -> Failure | None:
        """Makes one run; why it failed, None when it did not."""
        self._report = Report(limits=self._limits)
        for file in (self._memories.out, self._memories.err):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        sys.stdout, sys.stderr = text_stream(1), text_stream(2)
        self._gallery.start()
        began = time.monotonic()
        failure = _within(timeout_s, partial(self._make, number, code))
        self._report.elapsed_s = time.monotonic() - began
        return failure

    def frame(self, failure: Failure | None) -> tuple[Head, bytes]:
        """Head and body of the answer on the last run."""
        told: Head = {}
        if failure is not None:
            told = {"error": failure.kind, "name": failure.name, "message": failure.message}
            told["traceback"] = failure.traceback
        return self._report.frame(self._memories, told)

    def _make(self, number: int, code: str) -> Failure | None:
        failure = execute(code, number, self._module.__dict__, partial(show_value, self._gallery))
        try:
            if failure is None:
                show_open_figures(self._gallery)
                self._gallery.show_saved()
        except BaseException as error:
            failure = failure_of(error)
        # They may be the model's own, or closed.
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        with contextlib.suppress(BaseException):
            sys.stderr.write(self._gallery.notes())
            sys.stderr.flush()
        return failure

    def _announce(self, width: int, height: int, start: int) -> None:
        self._report.note_picture({"width": width, "height": height, "start": start})


def main() -> None:
    """Makes the runs that are ordered, and answers."""
    folder = str(Path.cwd())
    order = json.loads(Path(ORDER).read_bytes())
    # The session's folder is empty but for its pictures, and of the program nothing can be imported.
    for name in (ORDER, PROGRAM, sys.argv[0]):
        Path(name).unlink()
    sys.path.remove(PROGRAM)
    _limit(Limits(**order["limits"]))
    replay = Replay(order, folder)
    *earlier, last = order["runs"]
    for number, (code, timeout_s) in enumerate(earlier, 1):
        failure = replay.run(number, code, timeout_s)
        if failure is not None:
            what = f"run {number} of the session cannot be repeated: {failure.name} {failure.message}"
            return _answer(folder, *replay.frame(Failure(kind="killed", name="", message=what, traceback="")))
    return _answer(folder, *replay.frame(replay.run(len(earlier) + 1, *last)))


def _answer(folder: str, head: Head, body: bytes) -> None:
    text = json.dumps(head).encode()
    Path(folder, ANSWER).write_bytes(compress(pack("<I", len(text)) + text + body, 1))
    # Threads and exit handlers of the model's have nothing to do any more.
    os._exit(0)


def _memory() -> int:
    return os.memfd_create("run", 0)


def _limit(limits: Limits) -> None:
    for kind, most in (
        (resource.RLIMIT_DATA, limits.memory_mib << 20),
        (resource.RLIMIT_FSIZE, limits.files_mib << 20),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _within(timeout_s: float, run: partial[Failure | None]) -> Failure | None:
    """The run's failure; a time-out's where it took longer. Code in C is ended by the server's own time alone."""
    late = []

    def ring(_: int, frame: FrameType | None) -> NoReturn:
        late.append(True)
        raise OutOfTimeError

    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        failure = run()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except OutOfTimeError as error:
        failure = failure_of(error)
    if late:
        return Failure(kind="timeout", name="", message=f"the code took longer than {timeout_s:g} s", traceback="")
    return failure
