"""A server that speaks the Hugging Face hub's API on loopback, for tests: repositories with commits and branches.

What ``huggingface_hub``, its ``hf`` command, transformers and ``datasets`` ask of a hub without Xet is here: create a
repository or a branch, the three steps of a commit (preupload, LFS batch and upload, the commit itself), its tree, and
files with ranges; large files by an address elsewhere, as the hub's. It cuts downloads off as a test wants it.
"""

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from saccade.testing.hub_answers import HubAnswer, answer_request
from saccade.testing.hub_repos import HubRefusalError, HubState


class _HubHttpServer(ThreadingHTTPServer):
    daemon_threads = True


class FakeHub:
    """Serves while it is entered, at ``state.url``; ``tokens`` are users' names and whether they may write."""

    def __init__(self, tokens: Mapping[str, tuple[str, bool]]) -> None:
        self.state = HubState(dict(tokens))
        self.asked: list[str] = []
        """Method and path of each request, in their order."""
        self.cuts: list[int] = []
        """So many bytes of each of the next large downloads are sent, then the connection ends."""
        self.waits = threading.Event()
        """While it is set, large downloads stop in their middle until it is cleared or the client has gone."""
        self.lock = threading.Lock()
        self._server = _HubHttpServer(("127.0.0.1", 0), _handler(self))
        port = self._server.server_address[1]
        self.state.url, self.state.files_url = f"http://127.0.0.1:{port}", f"http://localhost:{port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

        def _answer(self) -> None:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            said = {key.title(): value for key, value in self.headers.items()}
            with hub.lock:
                try:
                    answer = answer_request(hub.state, self.command, self.path, said, body)
                except HubRefusalError as refusal:
                    told = json.dumps({"error": str(refusal)}).encode()
                    named = {"X-Error-Code": refusal.code, "X-Error-Message": str(refusal)}
                    answer = HubAnswer(refusal.status, told, named)
                large = self.command == "GET" and self.path.startswith("/blobs/")
                cut = hub.cuts.pop(0) if hub.cuts and large else None
                halved = large and hub.waits.is_set()
                # Last: who sees a request here may set what the next one meets, never what becomes of this one.
                hub.asked.append(f"{self.command} {self.path}")
            self.send_response(answer.status)
            self.send_header("Content-Length", answer.headers.get("Content-Length", str(len(answer.body))))
            for key, value in answer.headers.items():
                if key != "Content-Length":
                    self.send_header(key, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            if halved:
                self._half(answer.body)
            elif answer.status not in (204, 304):
                self.wfile.write(answer.body[:cut])
            self.close_connection = self.close_connection or cut is not None

        def _half(self, body: bytes) -> None:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            while hub.waits.is_set():
                time.sleep(0.02)
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            """Tests read ``asked``."""

    return Handler
