"""Checks of the kernel's isolation features, each tried in a process of its own, with advice on the missing ones."""

import errno
import os
from collections.abc import Callable

from saccade.sandbox import landlock, linux, namespaces, seccomp
from saccade.sandbox.results import Isolation
from saccade.sandbox.syscalls import ARCHITECTURES

_LEAST_LANDLOCK: dict[Isolation, int] = {"full": 1, "restricted": 3}
"""Without namespaces it is the only lock on files, and before version 3 it lets any file be cut off."""
_ELSE = "isolation='none' runs code without protection, for tests only"


def refusal(isolation: Isolation) -> str:
    """The reason why this isolation is not available here, with advice; empty when it is."""
    if isolation == "none":
        return ""
    missing = list(_missing(isolation))
    if not missing:
        return ""
    offer = ""
    if isolation == "full" and not list(_missing("restricted")):
        offer = (
            "\nWithout namespaces (weaker: see docs/sandbox.md) it works with isolation='restricted', which is your "
            "choice alone: --set isolation=restricted (saccade curate: --isolation restricted)."
        )
    return f"the sandbox cannot start with isolation={isolation!r}:\n" + "\n".join(missing) + offer + f"\n{_ELSE}."


def _missing(isolation: Isolation) -> list[str]:
    machine = linux.architecture_name()
    if not hasattr(os, "pidfd_open"):
        return ["- it needs Linux 5.12 or newer"]
    if machine not in ARCHITECTURES:
        return [f"- the system call filter knows {', '.join(ARCHITECTURES)}, this machine is {machine}"]
    missing = []
    if isolation == "full":
        number = _failure_of(_make_namespaces)
        if number:
            missing.append(f"- namespaces: {os.strerror(number)}. {_advice(number)}")
    if not seccomp.is_available():
        missing.append(
            "- seccomp with user notification: the kernel needs CONFIG_SECCOMP_FILTER and must be 5.0 or newer; "
            "inside a container, its own filter must allow the seccomp call"
        )
    have, least = landlock.version(), _LEAST_LANDLOCK[isolation]
    if have < least:
        missing.append(
            f"- Landlock: version {have}, needed is {least}. Use Linux {'6.2' if least > 1 else '5.13'} or newer built "
            "with CONFIG_SECURITY_LANDLOCK, and name landlock in the kernel's lsm= option"
        )
    return missing


def _advice(number: int) -> str:
    if number == errno.ENOSPC:
        return "Raise the limit: sysctl user.max_user_namespaces=10000 (and user.max_mnt_namespaces and the like)"
    if number in (errno.EPERM, errno.EACCES):
        return (
            "As root: sysctl kernel.unprivileged_userns_clone=1 (Debian), "
            "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 23.10 and newer); "
            "in Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
        )
    return "The kernel needs CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS and must be 5.12 or newer"


def _make_namespaces() -> None:
    """All that a session needs of namespaces, thrown away at once."""
    proc = namespaces.enter([], {})
    own = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status))
    os.close(own)
    namespaces.close_root()
    own = os.pidfd_open(os.getpid())
    namespaces.begin_pid_namespace()
    namespaces.leave_pid_namespace(own)
    namespaces.enter_session(proc, mib=1, files=10)


def _failure_of(attempt: Callable[[], None]) -> int:
    """The error number with which an attempt fails in a child process; 0 when it does not."""
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except OSError as error:
            os._exit(error.errno or errno.EINVAL)
        except BaseException:
            os._exit(errno.EINVAL)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else errno.EINVAL
