"""The trainer's handle on the sandbox: it starts the warm parent once, and again when it is lost."""

import asyncio
import contextlib
import os
import threading
import warnings
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, get_args

from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.sandbox.libraries import require as require
from saccade.sandbox.parent import ParentLostError, WarmParent
from saccade.sandbox.results import Isolation, Layers, Limits
from saccade.sandbox.session import Session, file_content

if TYPE_CHECKING:
    from saccade.sandbox.remote import RemoteSandbox


class NoIsolationWarning(UserWarning):
    """Model-written code runs with the rights of this process."""


class Sandbox:
    """Runs model-written code in sessions that cannot reach the machine, the trainer or each other.

    ``with`` starts the warm parent; so does the first session. All methods may be called from any thread.
    """

    def __init__(
        self, *, isolation: Isolation = "full", limits: Limits | None = None, concurrent_runs: int | None = None
    ) -> None:
        limits = limits or Limits()
        limits.check()
        if isolation not in get_args(Isolation):
            raise UserError(f"isolation={isolation!r} is not known; use one of {', '.join(get_args(Isolation))}")
        count = concurrent_runs if concurrent_runs is not None else os.cpu_count() or 1
        if count < 1:
            raise UserError(f"concurrent_runs={count} leaves no run to make; use 1 or more")
        self.isolation: Isolation = isolation
        self.limits = limits
        self._runs = threading.BoundedSemaphore(count)
        # As many threads as runs, so that those who wait for a run cannot keep others from opening and closing.
        self._run_threads = ThreadPoolExecutor(count, thread_name_prefix="sandbox-run")
        self._door_threads = ThreadPoolExecutor(2, thread_name_prefix="sandbox-door")
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._parent: WarmParent | None = None
        self._is_closed = False

    @property
    def layers(self) -> Layers:
        """The kernel's layers of isolation; starts the warm parent."""
        with self._lock:
            return self._running_parent().layers

    def start(self) -> None:
        """Starts the warm parent now: UserError when the kernel lacks a layer or the libraries are not installed."""
        with self._lock:
            self._running_parent()

    def session(self, images: Mapping[str, Image.Image | bytes] | None = None, *, seed: int = 0) -> Session:
        """A session with its own variables and folder; the images are files there, the first is ``input_image``.

        An image given as bytes is an encoded file, decoded in the sandbox. UserError for names that are no plain file
        names, MachineError when no session can be had.
        """
        files = [(name, file_content(name, image)) for name, image in (images or {}).items()]
        channel, pidfd = self._claim_session()
        session = Session(channel, pidfd, limits=self.limits, runs=self._runs, threads=self._run_threads)
        session.begin(files, seed)
        return session

    @contextlib.asynccontextmanager
    async def open_session(
        self, images: Mapping[str, Image.Image | bytes] | None = None, *, seed: int = 0
    ) -> AsyncIterator[Session]:
        """The same for ``async with``."""
        loop = asyncio.get_running_loop()
        opening = loop.run_in_executor(self._door_threads, lambda: self.session(images, seed=seed))
        try:
            session = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_late)
            raise
        try:
            yield session
        finally:
            session.close()

    def close(self) -> None:
        """Ends the warm parent and every session; a closed sandbox stays closed."""
        with self._lock:
            self._is_closed = True
            parent, self._parent = self._parent, None
        if parent is not None:
            parent.close()
        self._run_threads.shutdown(wait=False, cancel_futures=True)
        self._door_threads.shutdown(wait=False, cancel_futures=True)

    def __del__(self) -> None:
        parent = getattr(self, "_parent", None)
        # In a fork of the trainer this is a copy, and the sandbox the trainer's. At the end of all there is no module.
        if parent is not None and os is not None and self._owner == os.getpid():
            self.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.get_running_loop().run_in_executor(self._door_threads, self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """The same as ``close``, off the event loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def _claim_session(self) -> tuple[int, int]:
        with self._lock:
            try:
                return self._running_parent().claim()
            except ParentLostError:
                self._abandon()
            try:
                return self._running_parent().claim()
            except ParentLostError as error:
                raise MachineError(f"the sandbox gave no session: {error}") from error

    def _running_parent(self) -> WarmParent:
        if self._is_closed:
            raise UserError("this sandbox is closed; make a new one")
        if self._parent is not None and not self._parent.is_alive:
            self._abandon()
        if self._parent is None:
            if self.isolation == "none":
                warnings.warn(
                    "isolation='none': model-written code can do whatever this process can; use it for tests only",
                    NoIsolationWarning,
                    stacklevel=3,
                )
            self._parent = WarmParent(self.isolation, self.limits)
        return self._parent

    def _abandon(self) -> None:
        if self._parent is not None:
            self._parent.close()
            self._parent = None


def _close_late(opening: "asyncio.Future[Session]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def sandbox_for(isolation: Isolation, server: str = "") -> "Sandbox | RemoteSandbox":
    """A sandbox of this machine, or of the server at an address (``saccade.sandbox.remote``).

    UserError for an isolation that the server would not hear of.
    """
    if not server:
        return Sandbox(isolation=isolation)
    if isolation != "full":
        raise UserError(f"isolation={isolation} has no effect on code that runs at {server}; leave it out")
    from saccade.sandbox.remote import RemoteSandbox

    return RemoteSandbox(server)
