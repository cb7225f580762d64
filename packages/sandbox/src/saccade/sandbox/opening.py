"""The opening of a session: from the fork of its keeper to the first order to it."""

import contextlib
import os
import queue
import shutil
import socket
import tempfile
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from saccade.sandbox import descriptors, landlock, linux, namespaces, processes, seccomp, state
from saccade.sandbox.crew import READY_S
from saccade.sandbox.files import Files
from saccade.sandbox.keeper import Keeper
from saccade.sandbox.report import Memories, stderr_text
from saccade.sandbox.results import Isolation, Limits
from saccade.sandbox.syscalls import ARCHITECTURES
from saccade.sandbox.wire import ClosedError, packet_pair, receive_packet

_OWN_PROCESSES = 6
"""The keeper; a state, its child, one that takes the place of a child with threads, and the child of that; a spare."""
_THREAD_ROUNDS = 64
"""A run may make this many times as many threads as may live at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxSetting:
    """Settings that all sessions of one sandbox share."""

    isolation: Isolation
    limits: Limits
    base: str
    """A folder of the host for the sessions' own ones; empty where each session has a file system in memory."""
    mapped_bytes: int
    """Address space of the warm parent."""
    proc: int
    """A descriptor of /proc as it was before the root changed; -1 where it did not."""
    program: bytes
    """The filter on system calls; empty for none."""
    listed: tuple[str, ...]
    """Folders that sessions may list where they may not read all that lies in them."""
    readable: tuple[str, ...]
    """Paths that Landlock lets sessions read; none: no Landlock."""
    user: int
    """To which sessions change; -1: they stay what they are."""


def keep(trainer: socket.socket, setting: SandboxSetting, *, others: Sequence[int]) -> NoReturn:
    """Runs a session in this fresh fork of the warm parent; ``others`` are descriptors that it must not hold."""
    for descriptor in others:
        os.close(descriptor)
    processes.die_with_parent()
    processes.adopt_orphans()
    status = 0
    folder = f"{setting.base}/{os.getpid()}" if setting.base else namespaces.SESSION
    try:
        if not setting.base:
            limits = setting.limits
            namespaces.enter_session(setting.proc, mib=limits.files_mib, files=limits.file_count)
        _serve(trainer, setting, folder)
    except ClosedError:
        pass
    except BaseException:
        # To the trainer's standard error: a keeper runs no model code, so this is a fault of ours or the machine's.
        traceback.print_exc()
        status = 1
    if setting.base:
        for pid in processes.children():
            processes.kill(pid)
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(status)


def _serve(trainer: socket.socket, setting: SandboxSetting, folder: str) -> NoReturn:
    for name in ("", "/work", "/tmp"):
        Path(folder + name).mkdir(mode=0o700, exist_ok=True)
        if setting.user >= 0:
            os.chown(folder + name, setting.user, setting.user)
    memories = Memories(**{name: _memory_file(name) for name in ("out", "err", "inbox", "images")})
    near, far = packet_pair()
    place = state.Place(
        folder=folder, limits=setting.limits, is_in_pid_namespace=not setting.base, has_gate=bool(setting.program)
    )
    pid = os.fork()
    if pid == 0:
        near.close()
        trainer.close()
        processes.die_with_parent()
        _become_state(far, memories, place, setting)
    gate = None
    if setting.program:
        gate = _gate(near, memories, setting)
        processes.limit_descriptors(setting.limits, pid)
    limits = setting.limits
    files = Files(
        folder,
        most_bytes=limits.files_mib << 20,
        most_files=limits.file_count,
        make_room=None
        if setting.base
        else partial(namespaces.resize_session, mib=2 * limits.files_mib, files=2 * limits.file_count),
    )
    keeper = Keeper(
        trainer,
        near,
        far,
        state=pid,
        memories=memories,
        files=files,
        limits=limits,
        gate=gate,
        is_on_disk=bool(setting.base),
    )
    keeper.serve()


def _become_state(channel: socket.socket, memories: Memories, place: state.Place, setting: SandboxSetting) -> NoReturn:
    nothing = os.open("/dev/null", os.O_RDWR)
    _prefer_for_memory(setting.proc)
    descriptors.take(
        {
            descriptors.DEVNULL: nothing,
            descriptors.OUT: memories.out,
            descriptors.ERR: memories.err,
            descriptors.CHANNEL: channel.fileno(),
            descriptors.INBOX: memories.inbox,
            descriptors.IMAGES: memories.images,
        }
    )
    channel.detach()
    own = socket.socket(fileno=descriptors.CHANNEL)
    end = os._exit
    try:
        _confine(own, place, setting)
        state.SessionState(own, place).serve()
    except BaseException:
        # For the keeper, should this happen before the first run; what comes later is the model's doing.
        traceback.print_exc()
        own.send(b"{}")
    finally:
        # What comes after this belongs to the keeper.
        end(1)


def _confine(channel: socket.socket, place: state.Place, setting: SandboxSetting) -> None:
    """Everything that this process gives up for good before it sees model code."""
    if setting.user >= 0:
        os.setgroups([])
        os.setresgid(setting.user, setting.user, setting.user)
        os.setresuid(setting.user, setting.user, setting.user)
        processes.die_with_parent()
    processes.limit_resources(setting.limits, mapped_bytes=setting.mapped_bytes)
    if setting.isolation == "none":
        processes.limit_descriptors(setting.limits)
        return
    # Elsewhere it would count all processes of the user; there the gate alone bounds threads.
    if not setting.base:
        processes.limit_processes(setting.limits.threads + _OWN_PROCESSES)
    linux.drop_capabilities()
    linux.forbid_new_privileges()
    processes.may_write_own_proc_files(False)
    landlock.restrict(
        listed=setting.listed,
        readable=[*setting.readable, *namespaces.DEVICES],
        writable=[place.folder],
        devices=namespaces.DEVICES[:1],
    )
    _under_filter(channel, setting.program)


def _under_filter(channel: socket.socket, program: bytes) -> None:
    """Puts the filter on this process, and sends its listener to the keeper.

    What sends descriptors is forbidden by the filter, so it is done by a thread that was there before: a filter is put
    on one thread. No other thread is left when this returns.
    """
    listeners: queue.SimpleQueue[int] = queue.SimpleQueue()

    def send() -> None:
        listener = listeners.get()
        if listener >= 0:
            socket.send_fds(channel, [b"{}"], [listener])
            os.close(listener)

    size = threading.stack_size(1 << 18)
    sender = threading.Thread(target=send)
    sender.start()
    threading.stack_size(size)
    try:
        listeners.put(seccomp.install(program))
    except OSError:
        listeners.put(-1)
        raise
    finally:
        sender.join()


def _gate(near: socket.socket, memories: Memories, setting: SandboxSetting) -> seccomp.ForkGate:
    # The keeper holds the other end too, so a dead process does not close it.
    near.settimeout(READY_S)
    try:
        _, _, received = receive_packet(near)
    except (ClosedError, OSError):
        received = []
    near.settimeout(None)
    if len(received) != 1:
        raise RuntimeError("the session's first process did not confine itself" + stderr_text(memories))
    rounds = 1 if setting.base else _THREAD_ROUNDS
    return seccomp.ForkGate(
        received[0], most_threads=rounds * setting.limits.threads, architecture=ARCHITECTURES[linux.architecture_name()]
    )


def _prefer_for_memory(proc: int) -> None:
    """When the machine has no memory left, it takes it from the sessions first."""
    with contextlib.suppress(OSError):
        file = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=proc) if proc >= 0 else -1
        if file >= 0:
            os.write(file, b"900")
            os.close(file)


def _memory_file(name: str) -> int:
    if hasattr(os, "memfd_create"):
        file = os.memfd_create(name)
    else:
        with tempfile.TemporaryFile() as unnamed:
            file = os.dup(unnamed.fileno())
    if name in ("out", "err"):
        import fcntl

        # Whatever is cut off by the keeper, the next word goes to the end.
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND | os.O_RDWR)
    return file
