"""``saccade serve`` in a process of its own, for the tests of the services."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import httpx2
import psutil

from warm import SERVICES, WarmProcess

HEAD = '[server]\nport = 0\nbuilder = "service_tools:build"\n'

ALL_TOOLS = """
[tools.echo]
[tools.crop]
[tools.stripes]
[tools.broken]
[tools.slow]
serving = {workers = 1}
[tools.deadly]
serving = {workers = 1}
[tools.together]
serving = {workers = 1, batch = 4}
"""


class Served:
    """The server while it is entered; its log as the lines come."""

    def __init__(
        self,
        folder: Path,
        *,
        tools: str = ALL_TOOLS,
        server: str = "",
        arguments: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        within_s: float = 180.0,
    ) -> None:
        """``within_s`` is how long it may take to start."""
        self.file = folder / "tools.toml"
        self.file.write_text(HEAD + server + tools)
        self.log: list[dict[str, object]] = []
        self._arguments = arguments
        self._environment = environment or {}
        self._within_s = within_s

    def start(self) -> subprocess.Popen[str]:
        paths = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
        self.process = WarmProcess(
            [sys.executable, "-m", "saccade", "serve", str(self.file), *self._arguments],
            imported=SERVICES,
            env={**os.environ, "PYTHONPATH": paths, **self._environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.process

    def __enter__(self) -> Self:
        self.start()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        try:
            self.port = int(str(self.logged("serving")["port"]))
            self.url = f"http://127.0.0.1:{self.port}"
            wait_for(
                lambda: httpx2.get(f"{self.url}/ready").status_code == 200, "the workers to be ready", self._within_s
            )
        except BaseException:
            # What is not entered is not left either; what the server has started ends with it.
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(self._within_s)
        finally:
            self.process.kill()
        self._reading.join(30)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            try:
                self.log.append(json.loads(text))
            except ValueError:
                self.log.append({"message": text})

    def logged(self, message: str) -> dict[str, object]:
        """The first line with this message, waited for while the server says anything."""

        def found() -> list[dict[str, object]]:
            return [line for line in self.log if line["message"] == message]

        wait_for(lambda: found() or not self._reading.is_alive(), message, self._within_s)
        assert found(), f"the server ended without {message!r}; it said {self.log[-5:]}"
        return found()[0]

    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def post(self, name: str, **body: object) -> httpx2.Response:
        return httpx2.post(f"{self.url}/tools/{name}", json=body, timeout=30)

    def call(self, name: str, **arguments: object) -> httpx2.Response:
        return self.post(name, arguments=arguments)

    def metric(self, line: str) -> float:
        """The value in the metrics' line that begins so; 0.0 when there is none."""
        lines = httpx2.get(f"{self.url}/metrics").text.splitlines()
        return next((float(one.rsplit(" ", 1)[1]) for one in lines if one.startswith(line)), 0.0)


def wait_for(is_so: Callable[[], object], what: str, within_s: float = 180.0) -> None:
    """Until it is so; an AssertionError when it never is."""
    ends_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < ends_s, f"waited in vain for {what}"
        time.sleep(0.02)
