"""A worker process as the server sees it: started, given jobs, ended."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from saccade.codec.codecs import PLAIN_CODEC, plain_json
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, read
from saccade.services.messages import MESSAGES, ServedTool, WorkerJob, WorkerSetup, WorkerStarted
from saccade.services.settings import GroupSettings, Serving
from saccade.services.workers.calls import QueuedCall
from saccade.services.workers.running import CallReply
from saccade.services.workers.worker import END, outcomes_of

END_WITHIN_S = 5.0

STDERR = 2
"""Output of tools goes with the logs."""


class WorkerProcess:
    """One process with the tools of one group."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._ending = asyncio.create_task(process.wait())

    @classmethod
    async def start(cls, group: GroupSettings, serving: Serving, shelf: Path, index: int) -> "WorkerProcess":
        """A process that has begun to build its tools; ``OSError`` when the machine cannot start one."""
        setup = WorkerSetup(
            builder=serving.server.builder,
            folder=str(serving.folder),
            shelf=str(shelf),
            image_mb=serving.server.worker_image_mb,
            tools=group.tools,
        )
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "saccade.services.workers.worker",
                str(theirs.fileno()),
                PLAIN_CODEC.text(setup),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=STDERR,
                pass_fds=(theirs.fileno(),),
                env=_environment(group, index),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        return cls(process, reader, writer)

    @property
    def name(self) -> int:
        """Its number as a process."""
        return self._process.pid

    @property
    def grace_s(self) -> float:
        return 0.0

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    def when_ended(self, notify: Callable[[], object]) -> None:
        """Call ``notify`` when it has ended."""
        self._ending.add_done_callback(lambda _: notify())

    async def tools(self) -> Sequence[ServedTool]:
        """Descriptions of its tools once they are built; ``UserError`` when they cannot be."""
        header = (await read(self._reader)).header
        try:
            started = MESSAGES.reader(WorkerStarted).from_json(header, "the start")
        except BrokenRecordError as error:
            raise BrokenFrameError(f"a start that cannot be read: {error}") from error
        if started.mistake is not None:
            raise UserError(started.mistake)
        return started.tools

    async def run(self, calls: Sequence[QueuedCall]) -> list[CallReply]:
        """The outcomes of calls of one tool; ``BrokenFrameError`` when the process died over them."""
        job = WorkerJob(tool=calls[0].tool, calls=tuple(call.request for call in calls))
        self._writer.write(packed(WireFrame(plain_json(job))))
        outcomes = outcomes_of(await read(self._reader))
        if len(outcomes) != len(calls):
            raise BrokenFrameError(f"{len(calls)} calls had {len(outcomes)} outcomes")
        return outcomes

    def kill(self) -> None:
        """At once."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self) -> int:
        """The exit status, after it has been told to end, or killed when it does not."""
        # The worker ends by itself when its socket closes too, but would then hold the server for killed.
        self._writer.write(packed(END))
        self._writer.close()
        try:
            async with asyncio.timeout(END_WITHIN_S):
                return await asyncio.shield(self._ending)
        except TimeoutError:
            self.kill()
            return await self._ending


def _environment(group: GroupSettings, index: int) -> dict[str, str]:
    environment = dict(os.environ)
    if group.devices:
        environment["CUDA_VISIBLE_DEVICES"] = group.devices[index % len(group.devices)]
    return environment
