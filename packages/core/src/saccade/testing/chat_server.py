"""Chat server for tests: real HTTP on loopback, OpenAI's chat completions, replies as the test wants them."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from saccade.types import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """Response of the server; ``after_s`` is how long it keeps silent first."""

    body: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    cut_to: int | None = None
    """The connection is closed after so many bytes of the body, of which the header promises more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Json]


Serve = Callable[[Received], Served]


def chat_reply(*texts: str, prompt_tokens: int = 0, completion_tokens: int = 0) -> Served:
    """A successful reply of a chat server with these texts."""
    choices = [
        {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return Served(body=json.dumps({"object": "chat.completion", "choices": choices, "usage": usage}))


class _ChatHttpServer(ThreadingHTTPServer):
    daemon_threads = True
    # A client's burst of connections must not be turned away before a test says so.
    request_queue_size = 256


class ChatServer:
    """A chat server that serves while it is entered; ``received`` holds every request in the order of arrival."""

    def __init__(self, serve: Serve) -> None:
        self.received: list[Received] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                received = Received(
                    path=self.path,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=json.loads(self.rfile.read(length)),
                )
                with outer._lock:
                    outer.received.append(received)
                served = serve(received)
                outer._closing.wait(served.after_s)
                try:
                    self._send(served)
                except OSError:
                    # The client has given up waiting.
                    self.close_connection = True

            def _send(self, served: Served) -> None:
                body = served.body.encode()
                self.send_response(served.status)
                headers = {"Content-Type": "application/json", **served.headers, "Content-Length": str(len(body))}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body[: served.cut_to])
                self.close_connection = self.close_connection or served.cut_to is not None

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                """Nothing: a test reads ``received``."""

        self._server = _ChatHttpServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The ``base_url`` of a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def one_after_another(*served: Served) -> Serve:
    """Each answer once, in this order; the last of them for ever."""
    lock, left = threading.Lock(), list(served)

    def serve(_: Received) -> Served:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return serve


MARKDOWN_TABLE = "| Year | Apples | Pears |\n|---|---|---|\n| 2020 | 3 | 5 |\n| 2021 | 4 | 2.5 |"
CDL_LINES = (
    "construction_cdl: Shape(AB,BC,CA)\n"
    "image_cdl: Equal(LengthOfLine(AB),3), PerpendicularBetweenLine(AB,CB)\n"
    "text_cdl: Equal(LengthOfLine(BC),4)\n"
    "goal_cdl: Value(LengthOfLine(AC))"
)
SOLUTION = "The angle at B is right, so AC is the square root of 9 + 16.\nAnswer: 5"
CAPTION = "A bar chart of two fruits in two years; apples rise and pears fall."


def expert_reply(received: Received) -> Served:
    """A table, CDL, a caption or a solution, by what the prompt asks for."""
    prompt = _words(received.body.get("messages"))
    if "Markdown" in prompt:
        return chat_reply(MARKDOWN_TABLE)
    if "formal language" in prompt:
        return chat_reply(CDL_LINES)
    return chat_reply(CAPTION if "Describe this chart" in prompt else SOLUTION)


def _words(messages: Json) -> str:
    if isinstance(messages, str):
        return messages
    if isinstance(messages, list):
        return " ".join(map(_words, messages))
    if isinstance(messages, dict):
        return " ".join(_words(messages.get(key)) for key in ("content", "text"))
    return ""
