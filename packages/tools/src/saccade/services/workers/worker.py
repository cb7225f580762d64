"""A worker process: builds its tools once, then runs the calls that the server sends it, one job after another.

    python -m saccade.services.workers.worker <descriptor of a socket> <settings as JSON>

What tools print goes to stderr. The process ends when its server does, however that ended.
"""

import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.services.images import image_file, remove_if_abandoned
from saccade.services.logs import log_as_json
from saccade.services.messages import MESSAGES, ReplyHead, WorkerJob, WorkerReplies, WorkerSetup, WorkerStarted
from saccade.services.workers.running import CallReply, ToolRunner, build_tools

END = WireFrame({"end": True}, [])
"""The last that a server says to a worker."""

logger = logging.getLogger(__name__)


def main() -> NoReturn:
    # A signal for all processes at once means the server: it lets calls come to an end, then ends its workers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    log_as_json(logging.INFO)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _serve(connection, MESSAGES.read(WorkerSetup, sys.argv[2], "the setup"))
    # Not through the interpreter's end: a tool's threads must not keep the process.
    sys.stderr.flush()
    os._exit(0)


def _serve(connection: socket.socket, setup: WorkerSetup) -> None:
    # From the start, since loading a model takes time in which a server may end.
    watch = threading.Thread(target=_watch, args=(connection, Path(setup.shelf)), daemon=True)
    watch.start()
    try:
        runner = _runner(setup)
    except UserError as error:
        connection.sendall(packed(WireFrame(asdict(WorkerStarted(mistake=str(error))))))
        return
    try:
        connection.sendall(packed(WireFrame(asdict(WorkerStarted(tools=runner.about())))))
        while (frame := receive(connection)) != END:
            job = MESSAGES.reader(WorkerJob).from_json(frame.header, "the job")
            connection.sendall(packed(_answer(runner.run(job.tool, job.calls))))
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


def _runner(setup: WorkerSetup) -> ToolRunner:
    return ToolRunner(
        build_tools(setup.builder, setup.tools, Path(setup.folder)),
        fetch=lambda key: _read(Path(setup.shelf), key),
        image_mb=setup.image_mb,
    )


def _read(shelf: Path, key: str) -> bytes | None:
    try:
        return image_file(shelf, key).read_bytes()
    except FileNotFoundError:
        return None


def _answer(outcomes: Sequence[CallReply]) -> WireFrame:
    heads = [
        ReplyHead(status=one.status, pictures=tuple(key for key, _ in one.pictures), missing=one.missing)
        for one in outcomes
    ]
    parts = [part for one in outcomes for part in (one.body, *(png for _, png in one.pictures))]
    return WireFrame(asdict(WorkerReplies(outcomes=tuple(heads))), parts)


def outcomes_of(answer: WireFrame) -> list[CallReply]:
    """Replies in a worker's answer; ``BrokenFrameError`` when it is none."""
    parts = iter(answer.parts)
    try:
        return [
            CallReply(
                status=one.status,
                body=next(parts),
                pictures=tuple([(key, next(parts)) for key in one.pictures]),
                missing=one.missing,
            )
            for one in MESSAGES.reader(WorkerReplies).from_json(answer.header, "the answer").outcomes
        ]
    except (BrokenRecordError, StopIteration) as error:
        raise BrokenFrameError(f"an answer that cannot be read: {error}") from error


if __name__ == "__main__":
    main()
