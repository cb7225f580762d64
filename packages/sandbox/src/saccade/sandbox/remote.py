"""Sessions on a server that runs programs: the HTTP interface of SandboxFusion, which verl and others use.

Such a server keeps nothing between two requests. A session is therefore made again for each run: the program
``replay.py`` repeats the runs that were good and then makes the new one. What a failed run changed is thus taken back
as in our own sandbox; the price is the time of the earlier runs.
"""

import asyncio
import base64
import io
import json
import struct
import threading
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.retries import back_off_s
from saccade.sandbox.replay import ANSWER, ORDER, PROGRAM, START
from saccade.sandbox.results import Limits, RunError, RunResult
from saccade.sandbox.session import file_content, result_of, too_long
from saccade.sandbox.wire import Head

_MODULES = (
    "saccade.errors",
    "saccade.distribution",
    *(f"saccade.sandbox.{name}" for name in ("descriptors", "displays", "execution", "libraries")),
    *(f"saccade.sandbox.{name}" for name in ("replay", "report", "results", "wire")),
)
"""All of Saccade that the program imports."""
_TRIES = 4
_GRACE_S = 30.0
"""Beyond the time of the runs: for the start of Python and its libraries on a busy server."""


class RemoteSandbox:
    """Runs model-written code on a server of SandboxFusion's kind, at ``url`` (``http://host:8080``).

    The server keeps the code in, as well as it does; ``isolation`` says nothing of it. All methods may be called from
    any thread; ``concurrent_runs`` requests are under way at a time.
    """

    def __init__(self, url: str, *, limits: Limits | None = None, concurrent_runs: int = 16) -> None:
        if not url.startswith(("http://", "https://")):
            raise UserError(f"the sandbox server {url!r} is no address; write it as http://HOST:PORT")
        if concurrent_runs < 1:
            raise UserError(f"concurrent_runs={concurrent_runs} leaves no run to make; use 1 or more")
        self.url = url.rstrip("/")
        self.limits = limits or Limits()
        self.limits.check()
        self._runs = threading.BoundedSemaphore(concurrent_runs)
        self.threads = ThreadPoolExecutor(concurrent_runs, thread_name_prefix="sandbox-remote")

    def start(self) -> None:
        """Makes one run: UserError when no server answers, or one that cannot run the program."""
        try:
            with self.session() as session:
                result = session.run("import sys, numpy, PIL; print(sys.version_info[:2])", timeout_s=60.0)
        except MachineError as error:
            raise UserError(f"{error}; start a SandboxFusion server there, or correct the address") from None
        if result.error is not None:
            raise UserError(
                f"the sandbox server {self.url} cannot run our program ({result.error.message}); it needs Python 3.11 "
                "or newer with NumPy and Pillow, and SciPy, OpenCV and matplotlib where code may use them"
            )

    def session(self, images: Mapping[str, Image.Image | bytes] | None = None, *, seed: int = 0) -> "RemoteSession":
        """A session with its own variables and folder, as ``Sandbox.session``; its first run asks first."""
        files = {name: file_content(name, image) for name, image in (images or {}).items()}
        return RemoteSession(self, files, seed)

    def answer(self, order: dict[str, object], files: Mapping[str, bytes], within_s: float) -> dict[str, object]:
        """The server's answer to one program; MachineError when there is none after several tries."""
        content = {ORDER: json.dumps(order).encode(), PROGRAM: _program()}
        content |= {f"work/{name}": picture for name, picture in files.items()}
        body = {
            "code": START,
            "language": "python",
            "run_timeout": within_s,
            "files": {name: base64.b64encode(one).decode() for name, one in content.items()},
            "fetch_files": [ANSWER],
        }
        data = json.dumps(body).encode()
        for attempt in range(_TRIES):
            with self._runs:
                found = self._posted(data, within_s + 2 * _GRACE_S)
            if isinstance(found, dict):
                return found
            if attempt + 1 < _TRIES:
                time.sleep(back_off_s(attempt, first_wait_s=0.5, seed=attempt))
        raise MachineError(f"the sandbox server {self.url} made no run: {found}")

    def _posted(self, data: bytes, timeout_s: float) -> dict[str, object] | str:
        """The answer as JSON, or why there is none. What a program prints comes twice at most, pictures in base64."""
        request = urllib.request.Request(f"{self.url}/run_code", data, {"Content-Type": "application/json"})
        most = 2 * (self.limits.image_mib << 20) + (16 << 20)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                text = answer.read(most + 1)
            if len(text) > most:
                return {"status": "Failed", "too_long": True}
            found = json.loads(text)
        except (OSError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        if not isinstance(found, dict) or "status" not in found:
            return "its answer is not that of SandboxFusion's /run_code"
        return str(found.get("message"))[:500] if found["status"] == "SandboxError" else found

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteSession:
    """One session; made by ``RemoteSandbox.session``."""

    def __init__(self, sandbox: RemoteSandbox, files: Mapping[str, bytes], seed: int) -> None:
        self._sandbox, self._files, self._seed = sandbox, files, seed
        self._good: list[tuple[str, float]] = []
        """Code of the runs that were good, and the seconds that each may take when it is repeated."""
        self._turn = threading.Lock()
        self._is_closed = False

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        """Runs code after the good runs before it; MachineError when the server makes none."""
        if not 0 < timeout_s < 1e6:
            raise UserError(f"timeout_s={timeout_s} must be positive, in seconds")
        refused = too_long(code)
        if refused is not None:
            return refused
        with self._turn:
            if self._is_closed:
                raise MachineError("this session is closed")
            runs = [*self._good, (code, timeout_s)]
            within_s = sum(seconds for _, seconds in runs) + _GRACE_S
            limits = asdict(self._sandbox.limits)
            order = {"images": list(self._files), "seed": self._seed, "runs": runs, "limits": limits}
            answer = self._sandbox.answer(order, self._files, within_s)
            result = _result(answer, self._sandbox.limits, timeout_s)
            if result.ok:
                # Repeated on a busier server it may take longer.
                self._good.append((code, 3 * min(result.elapsed_s, timeout_s) + 5.0))
            return result

    async def run_async(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        """The same, off the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._sandbox.threads, lambda: self.run(code, timeout_s=timeout_s))

    def close(self) -> None:
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@cache
def _program() -> bytes:
    """A ZIP file with the modules that the program imports."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for package in ("saccade", "saccade/sandbox"):
            file.writestr(f"{package}/__init__.py", "")
        for name in _MODULES:
            spec = find_spec(name)
            assert spec is not None
            assert spec.origin is not None
            file.writestr(name.replace(".", "/") + ".py", Path(spec.origin).read_text(encoding="utf-8"))
    return buffer.getvalue()


def _result(answer: dict[str, object], limits: Limits, timeout_s: float) -> RunResult:
    """A run by the server's answer. Code shares its process with the program, so that all of it may be forged: whatever
    cannot be read is the run's failure, never the machine's."""
    files = answer.get("files")
    try:
        if answer.get("too_long"):
            raise ValueError
        if isinstance(files, dict) and isinstance(files.get(ANSWER), str):
            return _read(base64.b64decode(files[ANSWER]), limits)
    except (ValueError, KeyError, TypeError, AssertionError, zlib.error, struct.error, RecursionError):
        return _failed(RunError(kind="limit", name="", message="the run's output is too long or cannot be read"))
    run = answer.get("run_result")
    run = run if isinstance(run, dict) else {}
    if run.get("status") == "TimeLimitExceeded":
        return _failed(RunError(kind="timeout", name="", message=f"the code took longer than {timeout_s:g} s"))
    code = run.get("return_code")
    if code in (-9, 137):
        what = "the system killed the code, most likely for its memory"
        return _failed(RunError(kind="memory", name="", message=what))
    last = str(run.get("stderr") or "").strip().rpartition("\n")[2][:200]
    why = f"the code ended its process with status {code}" + (f": {last}" if last else "")
    return _failed(RunError(kind="exit" if isinstance(code, int) and code >= 0 else "killed", name="", message=why))


def _read(content: bytes, limits: Limits) -> RunResult:
    """The frame that ``replay`` wrote; ValueError and others for what is none, or larger than the limits."""
    most = (limits.image_mib << 20) + 32 * limits.output_chars + (1 << 20)
    unpacker = zlib.decompressobj()
    frame = unpacker.decompress(content, most)
    (size,) = struct.unpack_from("<I", frame)
    head = json.loads(frame[4 : 4 + size])
    if unpacker.unconsumed_tail or not isinstance(head, dict):
        raise ValueError
    return result_of(_bounded(head, limits), bytearray(frame[4 + size :]), limits)


def _bounded(head: Head, limits: Limits) -> Head:
    """The head, whose numbers are whole and within limits; ValueError for others."""
    for name in ("out", "err"):
        parts = head[name]
        if not isinstance(parts, list) or len(parts) != 3 or not all(type(part) is int and part >= 0 for part in parts):
            raise ValueError
    sizes = head["images"]
    if not isinstance(sizes, list) or len(sizes) > limits.images:
        raise ValueError
    for width, height in sizes:
        if type(width) is not int or type(height) is not int or min(width, height) < 1:
            raise ValueError
        if width * height > limits.image_pixels:
            raise ValueError
    elapsed_s = head["elapsed_s"]
    if not isinstance(elapsed_s, float) or not 0 <= elapsed_s < 1e6:
        raise ValueError
    return head


def _failed(error: RunError) -> RunResult:
    return RunResult(stdout="", stderr="", images=(), elapsed_s=0.0, error=error)
