"""The warm parent: a process with the libraries loaded, from which each session is forked.

It is started with an environment and descriptors of its own choosing, so nothing of the trainer's memory,
environment or open files can reach a session. It ends when the trainer ends, however that happens.
"""

import contextlib
import ctypes
import gc
import os
import re
import select
import shutil
import signal
import socket
from pathlib import Path
from typing import NoReturn

from saccade.sandbox import folders, landlock, linux, namespaces, probe, processes, seccomp
from saccade.sandbox.libraries import Entries, carved_folders, gather, hide_none, places, usable_entries
from saccade.sandbox.opening import SandboxSetting, keep
from saccade.sandbox.results import Isolation, Limits
from saccade.sandbox.syscalls import ARCHITECTURES
from saccade.sandbox.wire import ClosedError, Head, receive_frame, send_frame

_COLLAPSE = 25
"""MADV_COLLAPSE, of Linux 6.1."""
_LARGE_PAGE = 1 << 21
_OWN_MEMORY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0\s*(?:\[heap\])?")
_SPARES = 2


def serve(channel: socket.socket, trainer: int, order: Head, usable: Entries) -> NoReturn:
    """Serves the trainer, whose pidfd is ``trainer``, as it orders; ``usable`` is what sessions see of packages."""
    isolation = order["isolation"]
    assert isolation in ("full", "restricted", "none")
    why_not = probe.refusal(isolation)
    if why_not:
        send_frame(channel, {"refused": why_not})
        os._exit(0)
    libraries = places()
    packages = usable_entries(libraries, usable)
    base = str(order["base"])
    processes.adopt_orphans()
    if base:
        folders.hold(base)
        gather(f"{base}/packages", usable)
    proc = namespaces.enter(libraries, packages) if isolation == "full" else -1
    watcher = os.getpid()
    warm = os.fork()
    if warm:
        channel.close()
        _watch(warm, trainer, base)
    processes.adopt_orphans()
    processes.die_with_parent()
    # From inside a new namespace the parent has no number.
    if os.getppid() not in (watcher, 0):
        os._exit(0)
    _warm_up()
    _enlarge_pages(proc)
    if isolation == "full":
        namespaces.close_root()
    # Where no root hides it, Landlock has to leave out what may not be used.
    listed, readable = carved_folders(libraries, packages) if base else ([], [*libraries, *packages])
    limits = order["limits"]
    assert isinstance(limits, dict)
    setting = SandboxSetting(
        isolation=isolation,
        limits=Limits(**limits),
        base=base,
        mapped_bytes=_mapped_bytes(proc),
        proc=proc,
        program=b""
        if isolation == "none"
        else seccomp.program(ARCHITECTURES[linux.architecture_name()], marks_files=isolation == "full"),
        listed=tuple(listed),
        readable=() if isolation == "none" else (*readable, *_made_for_sessions(base)),
        user=_user(isolation, [*libraries, *packages]),
    )
    with contextlib.suppress(ClosedError):
        _Zygote(channel, trainer, setting).serve()
    os._exit(0)


def _watch(warm: int, trainer: int, base: str) -> NoReturn:
    """Waits for the warm parent, and then leaves nothing behind."""
    with contextlib.suppress(ChildProcessError):
        while os.wait()[0] != warm:
            continue
    while strays := processes.children():
        for pid in strays:
            processes.kill(pid)
        processes.reap()
    if base:
        folders.remove(base)
    os._exit(0)


def _warm_up() -> None:
    import selectors

    from saccade.sandbox import displays

    displays.warm()
    hide_none()
    # An epoll would be shared with the run before, so sessions have none.
    vars(selectors)["DefaultSelector"] = selectors.PollSelector
    gc.collect()
    # Collections in the sessions leave these objects, and so the pages that they share with this process, alone.
    gc.freeze()


def _enlarge_pages(proc: int) -> None:
    """Gives back free memory and joins the rest in pages of 2 MiB: a fork copies one entry for them instead of 512.

    ``proc`` is a descriptor of /proc, -1 where it is in its place. Where the kernel or the C library cannot do it,
    everything stays as it is.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        return
    library.malloc_trim(0)
    try:
        file = os.open("self/maps" if proc >= 0 else "/proc/self/maps", os.O_RDONLY, dir_fd=max(proc, 0))
    except OSError:
        return
    with os.fdopen(file, encoding="utf-8", errors="replace") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        if found := _OWN_MEMORY.fullmatch(line):
            start, end = (int(place, 16) for place in found.groups())
            for place in range(-(-start // _LARGE_PAGE) * _LARGE_PAGE, end - _LARGE_PAGE + 1, _LARGE_PAGE):
                # Ranges that were never used are refused.
                library.madvise(ctypes.c_void_p(place), ctypes.c_size_t(_LARGE_PAGE), _COLLAPSE)


def _mapped_bytes(proc: int) -> int:
    try:
        file = os.open("self/statm" if proc >= 0 else "/proc/self/statm", os.O_RDONLY, dir_fd=max(proc, 0))
        try:
            pages = int(os.read(file, 200).split()[0])
        finally:
            os.close(file)
    except OSError:
        return 4 << 30
    return pages * os.sysconf("SC_PAGE_SIZE")


def _made_for_sessions(base: str) -> tuple[str, ...]:
    """The accounts, caches and lists of packages that were made for the sessions, never the host's."""
    return (f"{base}/matplotlib", f"{base}/packages") if base else ("/etc",)


def _user(isolation: Isolation, libraries: list[str]) -> int:
    """User of the sessions of a root without namespaces: ``nobody``, when that user can read the libraries."""
    if isolation != "restricted" or not processes.is_root():
        return -1
    folders = {parent for library in libraries for parent in (Path(library), *Path(library).parents)}
    return processes.NOBODY if all(folder.stat().st_mode & 0o5 == 0o5 for folder in folders) else -1


class _Zygote:
    """Forks keepers ahead of need and hands them out."""

    def __init__(self, channel: socket.socket, trainer: int, setting: SandboxSetting) -> None:
        self._channel, self._trainer, self._setting = channel, trainer, setting
        self._keepers: set[int] = set()
        self._spares: list[tuple[socket.socket, int]] = []
        self._own = os.pidfd_open(os.getpid()) if setting.isolation == "full" else -1
        self._ended, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._ended, False)
        self._wake = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Until the trainer closes its end or ends."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._ended, select.POLLIN)
        if self._trainer >= 0:
            poll.register(self._trainer, select.POLLIN)
        send_frame(self._channel, {"landlock": landlock.version(), "user": self._setting.user})
        while True:
            # With spares at hand, wait; without, only look.
            ready = {descriptor for descriptor, _ in poll.poll(0 if len(self._spares) < _SPARES else None)}
            if self._trainer in ready:
                return
            if self._ended in ready:
                self._bury()
            if self._channel.fileno() in ready:
                self._hand_out()
            elif len(self._spares) < _SPARES:
                self._spares.append(self._spawn())

    def _hand_out(self) -> None:
        receive_frame(self._channel)
        session, pid = self._spares.pop(0) if self._spares else self._spawn()
        descriptors = [session.fileno()]
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                descriptors.append(os.pidfd_open(pid))
        try:
            send_frame(self._channel, {"session": pid}, descriptors=descriptors)
        finally:
            session.close()
            for descriptor in descriptors[1:]:
                os.close(descriptor)

    def _spawn(self) -> tuple[socket.socket, int]:
        mine, keepers = socket.socketpair()
        if self._own >= 0:
            namespaces.begin_pid_namespace()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            own = [self._channel.detach(), mine.detach(), self._ended, self._wake]
            own += [session.detach() for session, _ in self._spares] + [
                number for number in (self._trainer, self._own) if number >= 0
            ]
            keep(keepers, self._setting, others=own)
        if self._own >= 0:
            namespaces.leave_pid_namespace(self._own)
        keepers.close()
        self._keepers.add(pid)
        return mine, pid

    def _bury(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._ended, 4096)
        ended = set(processes.reap())
        dead = ended & self._keepers
        self._keepers -= dead
        self._spares = [spare for spare in self._spares if spare[1] not in dead]
        if self._setting.base and ended:
            for pid in set(processes.children()) - self._keepers:
                processes.kill(pid)
            for pid in dead:
                shutil.rmtree(f"{self._setting.base}/{pid}", ignore_errors=True)
