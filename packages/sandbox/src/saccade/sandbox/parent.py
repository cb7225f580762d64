"""The warm parent as the trainer sees it: a process to start, to ask for sessions, and to end."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict

from saccade.distribution import source_folders
from saccade.errors import MachineError, UserError
from saccade.sandbox import folders, libraries
from saccade.sandbox.namespaces import NAMES
from saccade.sandbox.results import Isolation, Layers, Limits
from saccade.sandbox.wire import ClosedError, DeadlineError, Head, receive_frame, send_frame, whole_number

_START_S = 120.0
"""Imports from a cold disk take their time."""
_CLAIM_S = 60.0
_END_S = 10.0


class ParentLostError(Exception):
    """The warm parent does not answer."""


class WarmParent:
    """One warm parent; not for several threads at once."""

    def __init__(self, isolation: Isolation, limits: Limits) -> None:
        libraries.require(*libraries.NEEDED, needed_for="the sandbox")
        libraries.warn_of_missing()
        self.folder = folders.make()
        self._channel, theirs = socket.socketpair()
        own = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
        passed = [theirs.fileno()] + ([own] if own >= 0 else [])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-s", "-P", "-c", _start(theirs.fileno(), own)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(self.folder),
                cwd="/",
                pass_fds=passed,
                # Not for a terminal's Ctrl-C, which the trainer handles.
                start_new_session=True,
            )
        finally:
            theirs.close()
            if own >= 0:
                os.close(own)
        self.layers = self._agree(isolation, limits)
        if isolation == "full":
            # Only the start needs it, for matplotlib's list of fonts: a session's folder is not the host's.
            folders.remove(self.folder)
            self.folder = ""

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def process_id(self) -> int:
        """Id of the process that watches over the warm parent; all others descend from it."""
        return self._process.pid

    def claim(self) -> tuple[int, int]:
        """A fresh session's socket and the pidfd of its keeper (-1 where there are none)."""
        try:
            send_frame(self._channel, {"want": "session"})
            _, _, descriptors = receive_frame(self._channel, deadline=time.monotonic() + _CLAIM_S)
        except (ClosedError, DeadlineError) as error:
            raise ParentLostError(f"its warm parent {self._process.pid} does not answer") from error
        if not descriptors:
            raise ParentLostError("its warm parent sent no session")
        return descriptors[0], descriptors[1] if len(descriptors) > 1 else -1

    def close(self) -> None:
        """Ends it and all its sessions, and waits until they are gone."""
        # Shut down and not only closed: a child forked from the trainer may hold a copy.
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self.folder:
            folders.remove(self.folder)

    def _agree(self, isolation: Isolation, limits: Limits) -> Layers:
        order: Head = {
            "isolation": isolation,
            "limits": asdict(limits),
            "base": "" if isolation == "full" else self.folder,
            "packages": libraries.usable_packages(),
        }
        try:
            send_frame(self._channel, order)
            answer, _, _ = receive_frame(self._channel, deadline=time.monotonic() + _START_S)
        except (ClosedError, DeadlineError) as error:
            self._process.kill()
            self.close()
            raise MachineError("the sandbox's warm parent did not start; its standard error says why") from error
        refused = answer.get("refused")
        if refused is not None:
            self.close()
            raise UserError(str(refused))
        return _layers(isolation, whole_number(answer, "landlock"), whole_number(answer, "user"))


def _layers(isolation: Isolation, landlock: int, user: int) -> Layers:
    if isolation == "none":
        return Layers(isolation=isolation)
    notes = []
    if landlock < 6:
        notes.append("this Landlock does not scope signals and abstract sockets; seccomp forbids both")
    if isolation == "restricted" and os.geteuid() == 0 and user < 0:
        notes.append("sessions run as root without privileges, as other users cannot read the libraries")
    return Layers(
        isolation=isolation,
        namespaces=NAMES if isolation == "full" else (),
        seccomp=True,
        landlock=landlock,
        notes=tuple(notes),
    )


def _start(control: int, trainer: int) -> str:
    places = [*(str(folder.parent) for folder in source_folders()), *libraries.package_folders()]
    return f"import sys; sys.path += {places!r}; from saccade.sandbox.start import main; main({control}, {trainer})"


def _environment(folder: str) -> dict[str, str]:
    """All that the warm parent and the sessions know of an environment."""
    single = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMEXPR_NUM", "VECLIB_MAXIMUM")
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "MPLBACKEND": "agg",
        # The same code says the same whenever it runs.
        "OPENCV_LOG_TIMESTAMP": "0",
        "MPLCONFIGDIR": f"{folder}/matplotlib",
        "USER": "user",
        # A process with several threads can neither make a user namespace nor be forked safely.
        **{f"{name}_THREADS": "1" for name in single},
    }
