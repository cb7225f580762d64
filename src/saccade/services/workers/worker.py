"""A worker process: builds its tools once, then runs the calls that the server sends it, one job after another.

    python -m saccade.services.workers.worker <descriptor of a socket> <settings as JSON>

What tools print goes to stderr. The process ends when its server does, however that ended.
"""

import json
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from saccade.errors import UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.services.images import image_file, remove_if_abandoned
from saccade.services.logs import log_as_json
from saccade.services.workers.running import CallReply, CallRequest, ToolRunner, build_tools
from saccade.tools.catalogue.settings import ToolSettings
from saccade.types import Json

END = WireFrame({"end": True}, [])
"""The last that a server says to a worker."""

logger = logging.getLogger(__name__)


def main() -> NoReturn:
    # A signal for all processes at once means the server: it lets calls come to an end, then ends its workers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    log_as_json(logging.INFO)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _serve(connection, json.loads(sys.argv[2]))
    # Not through the interpreter's end: a tool's threads must not keep the process.
    sys.stderr.flush()
    os._exit(0)


def _serve(connection: socket.socket, settings: Mapping[str, Json]) -> None:
    # From the start, since loading a model takes time in which a server may end.
    watch = threading.Thread(target=_watch, args=(connection, Path(str(settings["shelf"]))), daemon=True)
    watch.start()
    try:
        runner = _runner(settings)
    except UserError as error:
        connection.sendall(packed(WireFrame({"mistake": str(error)})))
        return
    try:
        connection.sendall(packed(WireFrame({"tools": runner.about()})))
        while (job := receive(connection)) != END:
            outcomes = runner.run(str(job.header["tool"]), _requests(job.header))
            connection.sendall(packed(_answer(outcomes)))
    except (BrokenFrameError, OSError):
        # The server has gone, and the other thread is about to end the process.
        watch.join()


def _watch(connection: socket.socket, shelf: Path) -> NoReturn:
    """Ends the process when the server has gone, also in the middle of a job."""
    gone = select.poll()
    # Of no event but the other side's end, which is always told: jobs are read where they are run.
    gone.register(connection, 0)
    gone.poll()
    try:
        last = connection.recv(1 << 16, socket.MSG_PEEK)
    except OSError:
        last = b""
    if not last.endswith(packed(END)):
        _clear_away(shelf)
    os._exit(0)


def _clear_away(shelf: Path) -> None:
    """Removes the images of a server that was killed, as soon as the kernel has let go of its lock."""
    for _ in range(40):
        if remove_if_abandoned(shelf) or not shelf.exists():
            return
        time.sleep(0.05)


def _runner(settings: Mapping[str, Json]) -> ToolRunner:
    folder, shelf = Path(str(settings["folder"])), Path(str(settings["shelf"]))
    tools = settings["tools"]
    assert isinstance(tools, Sequence)
    described = [ToolSettings(**one) for one in tools]  # type: ignore[arg-type]
    return ToolRunner(
        build_tools(str(settings["builder"]), described, folder),
        fetch=lambda key: _read(shelf, key),
        image_mb=int(str(settings["image_mb"])),
    )


def _read(shelf: Path, key: str) -> bytes | None:
    try:
        return image_file(shelf, key).read_bytes()
    except FileNotFoundError:
        return None


def _requests(header: Mapping[str, Json]) -> list[CallRequest]:
    calls = header["calls"]
    assert isinstance(calls, Sequence)
    return [CallRequest(arguments=one["arguments"], images=tuple(one["images"])) for one in calls]  # type: ignore[call-overload,index,arg-type]


def _answer(outcomes: Sequence[CallReply]) -> WireFrame:
    about: list[Json] = [
        {"status": one.status, "pictures": [key for key, _ in one.pictures], "missing": list(one.missing)}
        for one in outcomes
    ]
    parts = [part for one in outcomes for part in (one.body, *(png for _, png in one.pictures))]
    return WireFrame({"outcomes": about}, parts)


def outcomes_of(answer: WireFrame) -> list[CallReply]:
    """Replies in a worker's answer; ``BrokenFrameError`` when it is none."""
    parts = iter(answer.parts)
    try:
        return [
            CallReply(
                status=int(one["status"]),  # type: ignore[call-overload,index,arg-type]
                body=next(parts),
                pictures=tuple([(str(key), next(parts)) for key in one["pictures"]]),  # type: ignore[call-overload,index,union-attr]
                missing=tuple(str(key) for key in one["missing"]),  # type: ignore[call-overload,index,union-attr]
            )
            for one in answer.header["outcomes"]  # type: ignore[union-attr]
        ]
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise BrokenFrameError(f"an answer that says nothing: {error!r}") from error


if __name__ == "__main__":
    main()
