"""Workers that are forks of the process that has collected the tests, so that imports and collection happen once.

    python -m pytest --workers 3

A worker takes one file after another, since tests of a file share their servers and models, and sends its reports
back. A worker that dies fails the run by the name of the test that it was at; the others take the files that are left.
"""

import atexit
import ctypes
import importlib
import json
import os
import select
import signal
import struct
import threading
import traceback
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

import pytest

from warm import TORCH

_HEAD = struct.Struct("!I")
_DIES_WITH_PARENT = 1
_END_S = 120.0
"""How long a worker may take to end what its tests have started for all of them."""


class ForkedWorkers:
    """Runs the collected tests in so many forks of this process."""

    def __init__(self, count: int) -> None:
        self._count = count

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        config = session.config
        if config.option.collectonly or (session.testsfailed and not config.option.continue_on_collection_errors):
            return None
        # Threads of libraries (of memory allocators, of onnxruntime) take care of forks themselves.
        if threads := [one.name for one in threading.enumerate() if one is not threading.main_thread()]:
            raise pytest.UsageError(f"threads run after the collection of tests, which a fork would lack: {threads}")
        files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
        # What torch imports when it first trains, once instead of in each worker.
        for name in TORCH:
            importlib.import_module(name)
        base = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        queue, fill = os.pipe()
        os.write(fill, b"".join(map(_HEAD.pack, range(len(files)))))
        os.close(fill)
        workers: list[_Worker] = []
        for number in range(min(self._count, len(files))):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                _work(config, files, queue, writing, base / f"worker{number}")
            os.close(writing)
            workers.append(_Worker(pid, reading))
        try:
            _follow(session, workers)
        finally:
            for worker in workers:
                worker.end()
        left = sum(1 for _ in _taken(queue))
        os.close(queue)
        if left:
            raise session.Failed(f"{left} files of tests were not run: every worker died")
        return True


class _Worker:
    """A worker as its parent sees it."""

    def __init__(self, pid: int, reading: int) -> None:
        self.pid, self.handle = pid, os.pidfd_open(pid)
        self.at = "no test"
        self.is_done = False
        self.reading, self._came = reading, bytearray()

    def receive(self) -> bool:
        """Takes what came since the last time; whether anything did."""
        more = os.read(self.reading, 1 << 20)
        self._came += more
        return bool(more)

    def messages(self) -> Iterator[Any]:
        """The messages that are complete, once each."""
        while len(self._came) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(self._came)[0]
            if len(self._came) < end:
                return
            message = json.loads(self._came[_HEAD.size : end])
            del self._came[:end]
            yield message

    def end(self) -> int:
        """Status of the process, which is ended where it does not end by itself."""
        if not self.is_done or not select.select([self.handle], [], [], _END_S)[0]:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.reading)
        os.close(self.handle)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _follow(session: pytest.Session, workers: list[_Worker]) -> None:
    """Gives reports of all workers to the plugins of this process, until all workers have ended or one may stop."""
    hook = session.config.hook
    while workers:
        # A worker that died is seen by its handle: processes that it leaves may keep its pipe open.
        ready, _, _ = select.select([end for one in workers for end in (one.reading, one.handle)], [], [])
        for worker in [one for one in workers if one.reading in ready or one.handle in ready]:
            has_ended = worker.reading not in ready or not worker.receive()
            for kind, content in worker.messages():
                if kind == "at":
                    worker.at = content
                elif kind == "done":
                    worker.is_done = has_ended = True
                else:
                    report = hook.pytest_report_from_serializable(config=session.config, data=content)
                    hook.pytest_runtest_logreport(report=report)
                    if report.when == "teardown":
                        hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
            if has_ended:
                workers.remove(worker)
                status = worker.end()
                if not worker.is_done:
                    hook.pytest_runtest_logreport(report=_died(worker.at, status))
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _died(nodeid: str, status: int) -> pytest.TestReport:
    file = nodeid.partition("::")[0]
    return pytest.TestReport(
        nodeid, (file, None, file), {}, "failed", f"the worker died with status {status} at {nodeid}", "call"
    )


def _work(config: pytest.Config, files: list[list[pytest.Item]], queue: int, writing: int, base: Path) -> NoReturn:
    """The whole life of a worker."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGTERM, 0, 0, 0)
        plugins = config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        assert capture is not None
        # Files of what tests print, which this process shared with all others until now.
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        plugins.unregister(name="terminalreporter")
        base.mkdir()
        config._tmp_path_factory._basetemp = base  # type: ignore[attr-defined]
        reporter = _Reporter(config, writing)
        plugins.register(reporter)
        for item, following in _with_following(item for number in _taken(queue) for item in files[number]):
            reporter.send("at", item.nodeid)
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        reporter.send("done", None)
        atexit._run_exitfuncs()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


class _Reporter:
    """Sends reports of a worker's tests to its parent."""

    def __init__(self, config: pytest.Config, writing: int) -> None:
        self._config, self._writing = config, os.fdopen(writing, "wb", buffering=0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        content = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.send("report", content)

    def send(self, kind: str, content: object) -> None:
        packed = json.dumps([kind, content]).encode()
        message = memoryview(_HEAD.pack(len(packed)) + packed)
        while message:
            message = message[self._writing.write(message) or 0 :]


def _taken(queue: int) -> Iterator[int]:
    """Numbers that no other worker has, one after another; the reading of a pipe gives each to one reader."""
    while head := os.read(queue, _HEAD.size):
        yield _HEAD.unpack(head)[0]


def _with_following(items: Iterator[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each test with the one that follows it, by which pytest knows which fixtures end."""
    before = next(items, None)
    while before is not None:
        following = next(items, None)
        yield before, following
        before = following
