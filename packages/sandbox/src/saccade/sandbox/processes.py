"""Process control: death with a parent, adoption of orphans, resource limits. Outside Linux the ties do nothing."""

import contextlib
import ctypes
import math
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path

from saccade.sandbox.results import Limits

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

_NEEDED = 1 << 0 | 1 << 6 | 1 << 7 | 1 << 21
"""CAP_CHOWN, CAP_SETGID, CAP_SETUID and CAP_SYS_ADMIN."""
NOBODY = 65534
"""As whom root's sessions go on."""

_library = ctypes.CDLL(None, use_errno=True)
_IS_LINUX = sys.platform.startswith("linux")


def _control(option: int, value: int) -> None:
    if _IS_LINUX:
        unused = ctypes.c_ulong(0)
        _library.prctl(option, ctypes.c_ulong(value), unused, unused, unused)


def die_with_parent() -> None:
    """Has the kernel kill this process when its parent ends."""
    _control(_PR_SET_PDEATHSIG, signal.SIGKILL)


def outlive_parent() -> None:
    _control(_PR_SET_PDEATHSIG, 0)


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent ends."""
    _control(_PR_SET_CHILD_SUBREAPER, 1)


def may_write_own_proc_files(allowed: bool) -> None:
    """Whether this process may be traced, and owns its files under /proc; taken away by every change of user."""
    _control(_PR_SET_DUMPABLE, int(allowed))


def is_root() -> bool:
    """Whether this process may do all that root may, and become another user; root of a container often may not."""
    if os.geteuid() != 0:
        return False
    status = Path("/proc/self/status").read_text()
    privileges = int(status.partition("CapEff:")[2].split()[0], 16)
    lines = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return privileges & _NEEDED == _NEEDED and any(
        int(first) <= NOBODY < int(first) + int(count) for first, _, count in lines
    )


def children() -> list[int]:
    """This process's children, adopted ones among them; none where there is no /proc."""
    own = os.getpid()
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name before the last bracket may hold anything.
            parent = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == own:
            found.append(int(entry.parent.name))
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Sends a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def kill_and_await(pid: int) -> None:
    """Ends a process that need not be a child, and returns when it runs no more."""
    if not hasattr(os, "pidfd_open"):
        kill(pid)
        return
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        kill(pid)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        poll.poll()
    finally:
        os.close(process)


def await_child(pid: int) -> None:
    """Takes leave of a child that is about to end."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def reap() -> list[int]:
    """Takes leave of the children that have ended, and returns them."""
    ended: list[int] = []
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append(pid)


def cpu_time_s(pid: int) -> float:
    """Processor time of another process so far, in s; 0 where that cannot be told."""
    try:
        # The number of its clock, as the C library's `clock_getcpuclockid` makes it.
        return time.clock_gettime(~pid << 3 | 2)
    except (OSError, AttributeError):
        return 0.0


def thread_count() -> int:
    """Number of threads of this process, as far as it can tell."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        import threading

        return threading.active_count()


_STACK_BYTES = 16 << 20
_SHARED_BYTES = 1 << 30
"""Address space beyond private memory: mapped libraries and files."""


def limit_resources(limits: Limits, *, mapped_bytes: int) -> None:
    """Limits this process and those forked from it; ``mapped_bytes`` is the address space that it has already."""
    private = limits.memory_mib << 20
    wanted = {
        resource.RLIMIT_DATA: private,
        resource.RLIMIT_AS: mapped_bytes + private + _SHARED_BYTES,
        resource.RLIMIT_FSIZE: max(limits.files_mib, limits.image_mib) << 20,
        resource.RLIMIT_CPU: math.ceil(limits.cpu_s),
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_STACK: _STACK_BYTES,
    }
    for kind, value in wanted.items():
        _, most = resource.getrlimit(kind)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (value, value))


def limit_descriptors(limits: Limits, process: int = 0) -> None:
    """Limits the descriptors of this process, or of one that a keeper guards.

    Apart from the rest, because a process may only send a descriptor while fewer than this are under way from all
    processes of its user: a session that leaves many unread would else keep others from starting.
    """
    value = (limits.open_files, limits.open_files)
    if process:
        resource.prlimit(process, resource.RLIMIT_NOFILE, value)
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, value)


def limit_processes(count: int) -> None:
    """Bounds threads and processes of this user together, so only for a user namespace of the session's own."""
    resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
