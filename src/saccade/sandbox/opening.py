"""What happens between the fork of a session's keeper and the first order to it."""

import os
import shutil
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from saccade.sandbox import limits as resource_limits
from saccade.sandbox import processes, state
from saccade.sandbox.contract import Isolation, Limits
from saccade.sandbox.files import Files
from saccade.sandbox.keeper import Gate, Keeper, Memories
from saccade.sandbox.wire import Closed, packet_pair


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What all sessions of one sandbox share."""

    isolation: Isolation
    limits: Limits
    base: str
    """A folder of the host for the sessions' own ones; empty where each session has a file system in memory."""
    mapped_bytes: int
    """Address space of the warm parent."""


def keep(trainer: socket.socket, setting: Setting, *, others: Sequence[int]) -> NoReturn:
    """Runs a session in this fresh fork of the warm parent; ``others`` are descriptors that it must not hold."""
    for descriptor in others:
        os.close(descriptor)
    processes.die_with_parent()
    processes.adopt_orphans()
    folder = f"{setting.base}/{os.getpid()}"
    try:
        _serve(trainer, setting, folder)
    except Closed:
        pass
    finally:
        for pid in processes.children():
            processes.kill(pid)
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _serve(trainer: socket.socket, setting: Setting, folder: str) -> NoReturn:
    for name in ("", "/work", "/tmp"):
        Path(folder + name).mkdir(mode=0o700)
    memories = Memories(**{name: _memory_file(name) for name in ("out", "err", "inbox", "images")})
    near, far = packet_pair()
    place = state.Place(folder=folder, limits=setting.limits, is_in_pid_namespace=False)
    pid = os.fork()
    if pid == 0:
        near.close()
        trainer.close()
        processes.die_with_parent()
        _become_state(far, memories, place, setting)
    far.close()
    gate: Gate | None = None
    files = Files(folder, most_bytes=setting.limits.files_mib << 20, most_files=setting.limits.file_count)
    keeper = Keeper(trainer, near, state=pid, memories=memories, files=files, limits=setting.limits, gate=gate)
    keeper.serve()


def _become_state(channel: socket.socket, memories: Memories, place: state.Place, setting: Setting) -> NoReturn:
    nothing = os.open("/dev/null", os.O_RDWR)
    sources = {
        state.DEVNULL: nothing,
        state.OUT: memories.out,
        state.ERR: memories.err,
        state.CHANNEL: channel.fileno(),
        state.INBOX: memories.inbox,
        state.IMAGES: memories.images,
    }
    for target, source in sources.items():
        os.dup2(source, target, inheritable=False)
    channel.detach()
    for target, source in ((0, state.DEVNULL), (1, state.OUT), (2, state.ERR)):
        os.dup2(source, target)
    os.closerange(3, state.DEVNULL)
    os.closerange(state.IMAGES + 1, 4096)
    resource_limits.apply(setting.limits, mapped_bytes=setting.mapped_bytes)
    state.State(socket.socket(fileno=state.CHANNEL), place).serve()


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
