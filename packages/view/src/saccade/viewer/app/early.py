"""The page before its server: a thread that answers with the shell, scripts and styles while all else is imported.

A browser has parsed the page and drawn its frame when the first rows are there. The thread needs Python's standard
library alone. It looks at the beginning of each request without taking it from the connection: what the page's parts
do not answer, and all that is not a plain GET, waits there untouched, and the connection is handed to the server. The
guards are the server's own.
"""

import re
import selectors
import socket
import sys
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

from saccade.viewer.app.assets import FOLDER, PageAnswer, asset_answer, shell
from saccade.viewer.app.door import Door
from saccade.viewer.app.guards import guarded

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MAX_HEAD_BYTES = 32_768
_END = b"\r\n\r\n"
_LINE = re.compile(rb"GET (/[!-$&->@-~]*)(?:\?([!-~]*))? HTTP/1\.1")
"""A path without escapes."""
_FIELD = re.compile(rb"([0-9A-Za-z-]+):[ \t]*([\t -~]*)")
_LEFT = frozenset({b"content-length", b"transfer-encoding", b"upgrade", b"expect"})
"""What a plain GET does not have."""
_MAX_CONNECTIONS = 64
_SEND_WITHIN_S = 2.0
_SWITCH_S = 0.0005
"""Imports keep the interpreter for Python's 5 ms at a time, and each step of an answer would wait for them."""


class EarlyAnswers:
    """Answers at a door from ``with`` until ``hand_over``, or until the block ends."""

    def __init__(self, door: Door) -> None:
        self._listener = door.listener
        self._page = guarded(_EarlyPage(door.csrf), host=door.host, token=door.token)
        self._end, self._told = socket.socketpair()
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._run, name="early answers", daemon=True)
        self._switch_s = sys.getswitchinterval()

    def __enter__(self) -> Self:
        sys.setswitchinterval(_SWITCH_S)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self.hand_over():
            connection.close()

    def hand_over(self) -> list[socket.socket]:
        """Ends the thread. The connections that are open, with whatever they ask that was not answered."""
        if self._end.fileno() >= 0:
            self._end.send(b"\0")
            self._thread.join()
            sys.setswitchinterval(self._switch_s)
            self._end.close()
            self._told.close()
        given, self._open = self._open, []
        return given

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._told, selectors.EVENT_READ)
            self._listener.setblocking(False)
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._told:
                        return
                    if key.fileobj is self._listener:
                        self._accept(selector)
                    else:
                        self._read(selector, key.fileobj)  # type: ignore[arg-type]

    def _accept(self, selector: selectors.BaseSelector) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # It went away again.
            return
        connection.settimeout(_SEND_WITHIN_S)
        self._open.append(connection)
        selector.register(connection, selectors.EVENT_READ)
        if len(self._open) == _MAX_CONNECTIONS:  # The others wait for the server.
            selector.unregister(self._listener)

    def _read(self, selector: selectors.BaseSelector, connection: socket.socket) -> None:
        try:
            begun = connection.recv(_MAX_HEAD_BYTES, socket.MSG_PEEK)
            head, end, _ = begun.partition(_END)
            answer = answer_to(head, self._page) if end else None
            if answer is not None:
                connection.recv(len(head + end))
                connection.sendall(answer)
                begun = b"" if _is_last(answer) else begun
        except OSError:  # It does not read, or went away.
            begun, answer = b"", None
        if not begun:
            selector.unregister(connection)
            self._open.remove(connection)
            connection.close()
        elif answer is None:
            selector.unregister(connection)


class _EarlyPage:
    """An ASGI application that answers what a page is made of, and sends nothing where another must answer."""

    def __init__(self, csrf: str) -> None:
        self._csrf = csrf

    async def __call__(self, scope: "Scope", _: "Receive", send: "Send") -> None:
        answer = self._answer(scope)
        if answer is not None:
            headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in answer.headers.items()]
            headers.append((b"content-length", str(len(answer.content)).encode("ascii")))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer.content})

    def _answer(self, scope: "Scope") -> PageAnswer | None:
        path: str = scope["path"]
        if path == "/":
            return shell(csrf=self._csrf)
        if path.startswith(FOLDER):
            known = dict(scope["headers"]).get(b"if-none-match")
            query = scope["query_string"].decode("latin-1")
            return asset_answer(path.removeprefix(FOLDER), query, known and known.decode("latin-1"))
        return None


def answer_to(head: bytes, app: "ASGIApp") -> bytes | None:
    """What the application answers to the lines of a request; None where it leaves it, or it is no plain GET."""
    scope = _scope(head)
    sent = [] if scope is None else _messages_of(app, scope)
    if not sent:
        return None
    start, body = sent
    lines = [f"HTTP/1.1 {start['status']} {HTTPStatus(start['status']).phrase}".encode("ascii")]
    lines += [name + b": " + value for name, value in start["headers"]]
    return b"\r\n".join(lines) + _END + bytes(body["body"])


def _is_last(answer: bytes) -> bool:
    return b"\r\nconnection: close" in answer.partition(_END)[0]


def _scope(head: bytes) -> "Scope | None":
    line, *rest = head.split(b"\r\n")
    asked = _LINE.fullmatch(line)
    fields = [_FIELD.fullmatch(one) for one in rest]
    headers = [(one[1].lower(), one[2].strip()) for one in fields if one is not None]
    if asked is None or None in fields or any(name in _LEFT for name, _ in headers):
        return None
    if dict(headers).get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    return {
        "type": "http",
        "method": "GET",
        "path": asked[1].decode("ascii"),
        "query_string": asked[2] or b"",
        "headers": headers,
    }


def _messages_of(app: "ASGIApp", scope: "Scope") -> list["Message"]:
    """Messages of an application that never waits, which therefore needs no event loop."""
    messages: list[Message] = []

    async def send(message: "Message") -> None:
        messages.append(message)

    async def receive() -> "Message":
        raise RuntimeError("a GET has no body")

    async def answer() -> None:
        await app(scope, receive, send)

    try:
        answer().send(None)
    except StopIteration:
        return messages
    raise RuntimeError("the guards of the page waited for something")
