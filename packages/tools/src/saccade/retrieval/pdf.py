"""Pages of PDFs as pictures, drawn by pypdfium2 in a process of its own that hostile files may crash."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from PIL import Image

from saccade.errors import missing_extra
from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.plain_files import open_plain
from saccade.types import Json

PAGE_SECONDS = 30.0
"""A page that takes more of a processor's time is given up."""
_KEPT_VARIABLES = ("PATH", "PYTHON", "LD_", "LANG", "LC_", "VIRTUAL_ENV")
_WAIT_SECONDS = 1200.0
"""For a process that does nothing and does not end either."""


class UnreadablePageError(Exception):
    """Why a page, or a file as a whole, is no picture: said in the middle of a sentence."""


class PdfReader:
    """Draws pages in order or in any; a context manager, for one thread."""

    def __init__(self, *, dots_per_inch: int, max_pixels: int, page_seconds: float = PAGE_SECONDS) -> None:
        self._dpi, self._max_pixels = dots_per_inch, max_pixels
        self._page_seconds = page_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def __enter__(self) -> "PdfReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def pages(self, path: Path) -> int:
        """How many pages a document has; ``UnreadablePageError`` when it has none that can be told."""
        count = int(str(self._exchange(path, {}).header["pages"]))
        if count == 0:
            raise UnreadablePageError("it has no pages")
        return count

    def draw(self, path: Path, number: int) -> Image.Image:
        """A page in RGB, by its number from 1; ``UnreadablePageError`` when it cannot be drawn."""
        answer = self._exchange(path, {"page": number - 1, "dpi": self._dpi, "max_pixels": self._max_pixels})
        size = int(str(answer.header["width"])), int(str(answer.header["height"]))
        return Image.frombytes("RGB", size, answer.parts[0])

    def _exchange(self, path: Path, request: Mapping[str, Json]) -> WireFrame:
        connection = self._connect()
        try:
            document = open_plain(path)
        except OSError as error:
            raise UnreadablePageError(error.strerror or str(error)) from error
        try:
            with document:
                # The process opens no file itself.
                socket.send_fds(connection, [b"\0"], [document.fileno()])
            connection.sendall(packed(WireFrame({**request, "seconds": self._page_seconds})))
            answer = receive(connection)
        except (BrokenFrameError, OSError) as error:
            slow = self._end() in (-signal.SIGPROF, -signal.SIGKILL)
            why = f"drawing it takes more than {self._page_seconds:g} s" if slow else "drawing it crashes the renderer"
            raise UnreadablePageError(why) from error
        if "error" in answer.header:
            raise UnreadablePageError(str(answer.header["error"]))
        return answer

    def _connect(self) -> socket.socket:
        if self._socket is None:
            if importlib.util.find_spec("pypdfium2") is None:
                raise missing_extra("retrieval", "pypdfium2", needed_for="reading PDFs")
            ours, theirs = socket.socketpair()
            command = [sys.executable, "-m", "saccade.retrieval.pdf_process", str(theirs.fileno())]
            with theirs:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    # Keys and tokens are for no document.
                    env={name: value for name, value in os.environ.items() if name.startswith(_KEPT_VARIABLES)},
                )
            ours.settimeout(_WAIT_SECONDS)
            self._socket = ours
        return self._socket

    def _end(self) -> int:
        """How the process ended: by itself, or killed now."""
        status = 0
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                # What closed the connection was its end, which may take a moment.
                self._process.wait(timeout=1.0)
            self._process.kill()
            status = self._process.wait()
        self._socket, self._process = None, None
        return status
