"""A server of chat completions that streams what a test wants, and ``saccade chat`` in a process."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from warm import WarmProcess

Reply = Callable[[str], str | Iterator[str]]
"""The text of a reply, by all texts of a conversation, or its pieces, which may wait for something."""

PIECES = 12
"""Of a long reply; a short one comes in fewer."""


def in_pieces(text: str) -> Iterator[str]:
    size = max(24, len(text) // PIECES)
    return (text[start : start + size] for start in range(0, len(text), size))


@contextmanager
def streaming_server(reply: Reply, *, wait_s: float = 0.05) -> Iterator[str]:
    """The address of a server that says ``reply`` a few characters at a time."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = reply(json.dumps(asked["messages"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            try:
                for piece in in_pieces(text) if isinstance(text, str) else text:
                    self._piece({"content": piece}, None)
                    time.sleep(wait_s)
                self._piece({}, "stop")
                self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                pass  # The client has left, as it may.

        def _piece(self, delta: dict[str, str], finish: str | None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            told = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(told)}\n\n".encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def chatting(out: Path, *arguments: str) -> Iterator[str]:
    """The address of ``saccade chat``'s page."""
    command = [sys.executable, "-m", "saccade", "chat", *arguments, "--out", str(out), "--port", "0", "--no-open"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(out.parent / "cache"), "OPENAI_API_KEY": "none"}
    log = out.parent / "chat.log"
    with (
        log.open("wb") as errors,
        WarmProcess(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert line.startswith("Chat: "), log.read_text()
        try:
            yield line.removeprefix("Chat: ").strip()
        finally:
            process.terminate()
            process.wait(180)
            process.stdout.close()
