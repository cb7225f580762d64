"""One session as the trainer sees it: input images encoded, code sent, results read."""

import asyncio
import contextlib
import io
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self, get_args

from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.sandbox.results import ErrorKind, Limits, RunError, RunResult
from saccade.sandbox.wire import ClosedError, DeadlineError, Head, receive_frame, send_frame, words

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
_FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}


def file_content(name: str, image: Image.Image | bytes) -> bytes:
    """The content of the file that a session sees under a name; UserError for names and types that cannot be."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"image name {name!r} is no plain file name; use letters, digits, dots, dashes, at most 100 of them"
        )
    if isinstance(image, bytes):
        return image
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    if suffix not in _FORMATS:
        raise UserError(f"image name {name!r} must end with one of {', '.join(_FORMATS)}")
    if not isinstance(image, Image.Image):
        raise UserError(f"image {name!r} is a {type(image).__name__}; give a PIL image or the bytes of a file")
    picture = image if image.mode in ("RGB", "L") else image.convert("RGB")
    buffer = io.BytesIO()
    if suffix == ".png":
        # Three times as fast as the default, and not much larger.
        picture.save(buffer, "PNG", compress_level=1)
    else:
        picture.save(buffer, _FORMATS[suffix])
    return buffer.getvalue()


_GRACE_S = 60.0
"""Beyond a run's own time, for forks and files on a busy machine. The keeper keeps the time; this is for its death."""
_CODE_BYTES = 1 << 20


class Session:
    """A namespace and a folder in which code runs, one run after the other; each one is a transaction."""

    def __init__(
        self, channel: int, pidfd: int, *, limits: Limits, runs: threading.BoundedSemaphore, threads: ThreadPoolExecutor
    ) -> None:
        self._channel = socket.socket(fileno=channel)
        self._pidfd = pidfd
        self._limits, self._runs, self._threads = limits, runs, threads
        self._turn = threading.Lock()
        self._owner = os.getpid()
        self._is_closed = False

    def begin(self, files: Sequence[tuple[str, bytes]], seed: int) -> None:
        """Hands over the images; called once, by the sandbox."""
        order: Head = {"files": [(name, len(content)) for name, content in files], "seed": seed}
        total = sum(len(content) for _, content in files)
        if total > self._limits.files_mib << 20:
            self.close()
            raise UserError(f"the images have {total >> 20} MiB, a session has files_mib={self._limits.files_mib}")
        answer, _ = self._ask(order, b"".join(content for _, content in files), within_s=_GRACE_S)
        if "refused" in answer:
            self.close()
            raise UserError(f"an input image cannot be read: {words(answer, 'refused')}")

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        """Runs code: what it showed, and why it failed if it did.

        MachineError when the session is lost; the sandbox and its other sessions live on.
        """
        if not 0 < timeout_s < 1e6:
            raise UserError(f"timeout_s={timeout_s} must be positive, in seconds")
        refused = too_long(code)
        if refused is not None:
            return refused
        text = code.encode("utf-8", "replace")
        try:
            with self._turn, self._runs:
                answer, body = self._ask({"timeout_s": float(timeout_s)}, text, within_s=timeout_s + _GRACE_S)
        finally:
            if self._is_closed:
                self._release()
        return result_of(answer, body, self._limits)

    async def run_async(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        """The same, off the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: self.run(code, timeout_s=timeout_s))

    def close(self) -> None:
        """Ends the session, also in the middle of a run, which then raises MachineError."""
        self._is_closed = True
        # Wakes a thread that waits in `run`, which then lets go of what it uses.
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._release()

    def _release(self) -> None:
        """Closes the descriptors of a closed session, unless a run still uses them: it does so when it ends."""
        if self._turn.acquire(blocking=False):
            self._channel.close()
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1
            self._turn.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # In a fork of the trainer this is a copy, and the session the trainer's.
        if not self._is_closed and self._owner == os.getpid():
            self.close()

    def _ask(self, order: Head, body: bytes, *, within_s: float) -> tuple[Head, bytearray]:
        if self._is_closed:
            raise MachineError("this session is closed")
        most = (self._limits.image_mib << 20) + 32 * self._limits.output_chars + (1 << 20)
        try:
            send_frame(self._channel, order, body)
            answer, content, _ = receive_frame(self._channel, most=most, deadline=time.monotonic() + within_s)
        except (ClosedError, DeadlineError) as error:
            self._kill()
            what = "was closed" if self._is_closed else "ended" if isinstance(error, ClosedError) else "does not answer"
            raise MachineError(f"the sandbox session {what}; its state is lost") from error
        return answer, content

    def _kill(self) -> None:
        if self._pidfd >= 0 and hasattr(signal, "pidfd_send_signal"):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)


def result_of(answer: Head, body: bytearray, limits: Limits) -> RunResult:
    """A run by the frame that ``Report.frame`` made of it."""
    content = memoryview(body)
    texts = []
    for name in ("out", "err"):
        parts = answer[name]
        assert isinstance(parts, list)
        first, last, between = parts
        texts.append(_text(bytes(content[:first]), bytes(content[first : first + last]), between, limits.output_chars))
        content = content[first + last :]
    images = []
    sizes = answer["images"]
    assert isinstance(sizes, list)
    for width, height in sizes:
        images.append(Image.frombytes("RGB", (width, height), bytes(content[: 3 * width * height])))
        content = content[3 * width * height :]
    elapsed_s = answer["elapsed_s"]
    assert isinstance(elapsed_s, float)
    return RunResult(stdout=texts[0], stderr=texts[1], images=tuple(images), elapsed_s=elapsed_s, error=_error(answer))


def _text(first: bytes, last: bytes, between: int, most: int) -> str:
    """Output as text of at most ``most`` characters, its beginning and its end, with a note between."""
    beginning, end = first.decode("utf-8", "replace"), last.decode("utf-8", "replace")
    if not between and len(beginning) + len(end) <= most:
        return beginning + end
    tail = most // 4
    whole = beginning if not last else beginning + end
    left_out = len(whole) - most + between
    return f"{whole[: most - tail]}\n[{left_out} characters of output left out]\n{whole[len(whole) - tail :]}"


def _error(answer: Head) -> RunError | None:
    kind = answer.get("error")
    if kind is None:
        return None
    return RunError(
        kind=_kind(kind),
        name=words(answer, "name"),
        message=words(answer, "message"),
        traceback=words(answer, "traceback"),
    )


def _kind(value: object) -> ErrorKind:
    for kind in get_args(ErrorKind):
        if kind == value:
            known: ErrorKind = kind
            return known
    return "killed"


def too_long(code: str) -> RunResult | None:
    """The result of code that is too long to be run; None for what is not."""
    size = len(code.encode("utf-8", "replace"))
    if size <= _CODE_BYTES:
        return None
    message = f"the code has {size} bytes, at most {_CODE_BYTES} are run"
    error = RunError(kind="limit", name="", message=message)
    return RunResult(stdout="", stderr="", images=(), elapsed_s=0.0, error=error)
