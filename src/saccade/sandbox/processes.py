"""Ties between processes: death with a parent, adoption of orphans. Outside Linux they do nothing."""

import contextlib
import ctypes
import os
import select
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

_NEEDED = 1 << 0 | 1 << 6 | 1 << 7 | 1 << 21
"""CAP_CHOWN, CAP_SETGID, CAP_SETUID and CAP_SYS_ADMIN."""
NOBODY = 65534
"""As whom root's sessions go on."""

_library = ctypes.CDLL(None, use_errno=True)
# Unlike the other it keeps the interpreter's lock, which a copy of this process must hold.
_library_for_fork = ctypes.PyDLL(None, use_errno=True)
_IS_LINUX = sys.platform.startswith("linux")


def _control(option: int, value: int) -> None:
    if _IS_LINUX:
        unused = ctypes.c_ulong(0)
        _library.prctl(option, ctypes.c_ulong(value), unused, unused, unused)


def fork() -> int:
    """As ``os.fork``, but without what model code may have registered to run then; for processes with one thread."""
    pid = int(_library_for_fork.fork())
    if pid < 0:
        raise OSError(ctypes.get_errno(), "fork")
    return pid


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


def thread_count() -> int:
    """How many threads this process has, as far as it can tell."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        import threading

        return threading.active_count()
