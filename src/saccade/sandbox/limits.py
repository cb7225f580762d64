"""Resource limits of the processes that run model code."""

import math
import resource

from saccade.sandbox.results import Limits

_STACK_BYTES = 16 << 20
_SHARED_BYTES = 1 << 30
"""Address space beyond private memory: mapped libraries and files."""


def apply(limits: Limits, *, mapped_bytes: int) -> None:
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
    """Limit the descriptors of this process, or of one that a keeper guards.

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
