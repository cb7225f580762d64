"""Checkpoints and records as a stranger would write them, and a watch over what this process reaches meanwhile."""

import json
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import saccade.models
from saccade.runs.asking import ToolRecord
from saccade.types import Json, ToolSpec

BASE = Path(saccade.models.__file__).parent / "base_checkpoint"
CROP: Mapping[str, Json] = {"function": "saccade.tools.images:crop", "deadline_s": 10.0}


def recorded(name: str, origin: Mapping[str, Json]) -> ToolRecord:
    return ToolRecord(spec=ToolSpec(name=name, description="Look.", parameters={"type": "object"}), origin=origin)


def stranger_checkpoint(folder: Path, *tools: tuple[str, Mapping[str, Json]], protocol: str = "tagged") -> Path:
    """The base checkpoint with a record of one way of asking, whose instructions name the tools."""
    shutil.copytree(BASE, folder)
    way = {
        "protocol": protocol,
        "is_known": True,
        "style": "brief",
        "box_form": "lenient",
        "tools": [
            {"name": name, "description": "Look.", "parameters": {"type": "object"}, "origin": dict(origin)}
            for name, origin in tools
        ],
        "max_turns": 2,
        "states_turns": False,
        "max_turn_tokens": 4,
        "max_tokens": 300,
        "top_p": 1.0,
        "top_k": 0,
        "system": f"tools: {', '.join(name for name, _ in tools)}",
    }
    record = {"version": 1, "min_pixels": None, "max_pixels": None, "evaluated": [way], "trained": {}}
    (folder / "saccade_asking.json").write_text(json.dumps(record))
    return folder


_WATCHING: list[list[tuple[str, str]]] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _WATCHING:
        return
    if event in ("socket.connect", "socket.getaddrinfo"):
        where = arguments[1] if event == "socket.connect" else arguments[0]
        # A path is a socket of this machine, as the sandbox has.
        if not (event == "socket.connect" and isinstance(where, str | bytes)):
            _WATCHING[-1].append((event, str(where)))
    elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn") or event == "open":
        _WATCHING[-1].append((event, str(arguments[0])))


sys.addaudithook(_hear)


@dataclass
class Watched:
    """What this process has reached while it was watched."""

    events: list[tuple[str, str]] = field(default_factory=list)

    @property
    def connections(self) -> list[str]:
        # A server looks its own address up.
        return [where for event, where in self.events if event.startswith("socket.") and where != "127.0.0.1"]

    @property
    def processes(self) -> list[str]:
        return [what for event, what in self.events if not event.startswith(("socket.", "open"))]

    def opened(self, part: str) -> list[str]:
        return [path for event, path in self.events if event == "open" and part in path]


@contextmanager
def watched() -> Iterator[Watched]:
    found = Watched()
    _WATCHING.append(found.events)
    try:
        yield found
    finally:
        _WATCHING.pop()


class Listener:
    """A server on loopback that keeps the headers of every request: a tool service and a chat server in one."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                tool = {"name": "zoom", "description": "Look.", "parameters": {"type": "object", "properties": {}}}
                self._answer({"tools": [{**tool, "arguments": [], "deadline_s": 5.0, "batches": False}]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                self._answer({"choices": [{"index": 0, "message": {"content": "4"}, "finish_reason": "stop"}]})

            def _answer(self, body: object) -> None:
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                sent = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def authorizations(self) -> list[str | None]:
        return [headers.get("authorization") for headers in self.headers]

    def __enter__(self) -> "Listener":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
