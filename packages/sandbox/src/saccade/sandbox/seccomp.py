"""The filter on system calls, and the gate through which a session's processes and threads are made."""

import contextlib
import errno
import fcntl
import os
import struct
from ctypes import addressof, create_string_buffer

from saccade.sandbox import linux
from saccade.sandbox.syscalls import Architecture

_SET_FILTER, _ACTION_AVAILABLE = 1, 2
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_ALLOW, _NOTIFY, _ERRNO, _KILL = 0x7FFF0000, 0x7FC00000, 0x00050000, 0x80000000

# Of the classic packet filter: load a word, compare, return.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_X32 = 0x40000000

_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1032, 1034)
"""Duplicates, flags, a process's own locks and questions; not owners and signals of descriptors, which can kill a
process, nor locks that the run before would share."""
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, how much is there to read, blocking, closing on exec."""
_PRCTL = (1, 2, 3, 7, 15, 16, 21, 23, 27, 30, 39, 0x53564D41)
"""Names, questions, and dying with the parent."""
_AF_UNIX = 1
_O_PATH = 0x200000
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_NOT_COUNTED = 0x100 | 0x40000
"""MAP_GROWSDOWN, which counts as a stack, and MAP_HUGETLB, which takes pages of the machine: no limit sees either."""
_PROT_WRITE = 0x02
_MOST_WITHDRAWN = 64 << 20
"""Bytes of a session that may be made read-only: libraries ask for it, and the limit on memory counts them no more."""
_RENAMES = (0, 1, 2)
"""Not RENAME_WHITEOUT, which makes a device."""

_FORK = 0x01200011
"""Flags of the C library's fork: SIGCHLD and the child's number in its own memory."""
_THREAD = 0x00010000 | 0x00000800 | 0x00000100
"""CLONE_THREAD, CLONE_SIGHAND and CLONE_VM."""
_NEVER_IN_THREAD = 0x7E020000 | 0x00008000 | 0x00002000 | 0x00000080
"""New namespaces, CLONE_PARENT, CLONE_PTRACE, CLONE_NEWTIME."""

_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_CONTINUE = 1

Program = list[tuple[int, int, int, int]]


def is_available() -> bool:
    """Whether this kernel can ask a keeper about a call."""
    try:
        linux.call(_seccomp_number(), _ACTION_AVAILABLE, 0, struct.pack("I", _NOTIFY))
    except OSError:
        return False
    return True


def program(architecture: Architecture, *, marks_files: bool) -> bytes:
    """The filter: what is not allowed fails with EPERM.

    ``marks_files``: whether permissions and times of files may be changed. Where host files are in sight they may not,
    and such a call does nothing and says that all went well, as most programs only want to copy them.
    """
    made: Program = [
        _load(_ARCHITECTURE),
        (_EQUAL, 1, 0, architecture.audit),
        _return(_KILL),
        _load(_NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        _return(_ERRNO | errno.ENOSYS),
    ]
    # An answer that makes the C library use clone(), whose flags a filter can read.
    made += _when(architecture.number("clone3"), [_return(_ERRNO | errno.ENOSYS)])
    made += _when(architecture.number("clone"), [_return(_NOTIFY)])
    # What is opened so is not to be seen by the state, which looks whether its files are still those of the session.
    for name, flags in (("open", 1), ("openat", 2)):
        if architecture.has(name):
            made += _when(architecture.number(name), [*_neither(flags, _O_PATH), _return(_ALLOW)])
    for number in architecture.allowed_calls():
        made += _when(number, [_return(_ALLOW)])
    for number in architecture.marking():
        made += _when(number, [_return(_ALLOW if marks_files else _ERRNO)])
    # Such a lock would be shared with the run before, and no other process is there to be locked out.
    made += _when(architecture.number("flock"), [_return(_ERRNO)])
    made += _when(architecture.number("fcntl"), _one_of(1, _FCNTL))
    made += _when(architecture.number("ioctl"), _one_of(1, _IOCTL))
    made += _when(architecture.number("prctl"), _one_of(0, _PRCTL))
    made += _when(architecture.number("socketpair"), _one_of(0, (_AF_UNIX,)))
    # Reading limits: no new value is given.
    made += _when(architecture.number("prlimit64"), _nothing_at(2))
    # To the other end only: an address may be a socket of the host. (sendmsg has its addresses where no filter sees.)
    made += _when(architecture.number("sendto"), _nothing_at(4))
    # Memory that processes share would keep what a failed run wrote to it. Of a file it may be: the keeper has those.
    made += _when(architecture.number("mmap"), _neither(3, _NOT_COUNTED) + _not_both(3, _MAP_ANONYMOUS, _MAP_SHARED))
    # What was written to and is then made read-only is counted no more: by the keeper instead.
    made += _when(architecture.number("mprotect"), _if_any(2, _PROT_WRITE, _ALLOW, _NOTIFY))
    made += _when(architecture.number("renameat2"), _one_of(4, _RENAMES))
    # Room beyond a file's end would not be counted.
    made += _when(architecture.number("fallocate"), _one_of(1, (0,)))
    made.append(_return(_ERRNO | errno.EPERM))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in made)


def install(filter_program: bytes) -> int:
    """Puts the filter on this process for good; returns the descriptor at which its keeper is asked."""
    instructions = create_string_buffer(filter_program, len(filter_program))
    head = struct.pack("HxxxxxxQ", len(filter_program) // 8, addressof(instructions))
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        with contextlib.suppress(OSError):
            return linux.call(_seccomp_number(), _SET_FILTER, flags, head)
    raise OSError(errno.EINVAL, "the kernel refuses the system call filter")


class ForkGate:
    """Lets threads be made, and the forks that the keeper has planned; nothing else becomes a process.

    It also counts the memory that is made read-only.
    """

    def __init__(self, listener: int, *, most_threads: int, architecture: Architecture) -> None:
        self._listener = listener
        self._most_threads = most_threads
        self._clone = architecture.number("clone")
        self._threads = most_threads
        self._withdrawn = self._withdrawn_before = 0

    def fileno(self) -> int:
        return self._listener

    def start_run(self) -> None:
        """Threads may be made from now on; what the run before this took is forgotten unless it was kept."""
        self._threads, self._withdrawn = 0, self._withdrawn_before

    def keep_run(self) -> None:
        """The run was good: no more threads, and what it took stays taken."""
        self._threads, self._withdrawn_before = self._most_threads, self._withdrawn

    def grant(self, forking: set[int]) -> int:
        """Answers one call: threads, and one fork of each process in the set; which thread has made one, or 0."""
        asked = bytearray(80)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, asked)
        except OSError:
            # The process that asked is dead.
            return 0
        identity, caller, _, number, _, _, first, second = struct.unpack_from("QIIiIQQQ", asked)
        is_thread = number == self._clone and first & _THREAD == _THREAD and not first & _NEVER_IN_THREAD
        if number != self._clone:
            error = self._withdraw(second)
        elif is_thread:
            self._threads += 1
            error = errno.EAGAIN if self._threads > self._most_threads else 0
        elif first == _FORK and caller in forking:
            forking.discard(caller)
            error = 0
        else:
            error = errno.EPERM
        answer = struct.pack("QqiI", identity, 0, -error, 0 if error else _CONTINUE)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._listener, _ANSWER, answer)
        return caller if is_thread and not error else 0

    def _withdraw(self, size: int) -> int:
        """The error number for making so many bytes read-only; 0 when it may be done."""
        if self._withdrawn + size > _MOST_WITHDRAWN:
            return errno.ENOMEM
        self._withdrawn += size
        return 0


def _seccomp_number() -> int:
    from saccade.sandbox.syscalls import ARCHITECTURES

    return ARCHITECTURES[os.uname().machine].number("seccomp")


def _load(offset: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, offset)


def _return(verdict: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, verdict)


def _argument(index: int) -> int:
    return 16 + 8 * index


def _when(number: int, then: Program) -> Program:
    """These instructions for one call; they must return."""
    return [(_EQUAL, 0, len(then), number), *then]


def _nothing_at(argument: int) -> Program:
    """Allows the call when a pointer is null."""
    test = [_load(_argument(argument)), (_EQUAL, 0, 3, 0), _load(_argument(argument) + 4), (_EQUAL, 0, 1, 0)]
    return [*test, _return(_ALLOW), _return(_ERRNO | errno.EPERM)]


def _neither(argument: int, bits: int) -> Program:
    """Refuses the call when one of these bits is set in an argument, and goes on otherwise."""
    return [_load(_argument(argument)), (_ANY_BIT, 0, 1, bits), _return(_ERRNO | errno.EPERM)]


def _if_any(argument: int, bits: int, then: int, otherwise: int) -> Program:
    return [_load(_argument(argument)), (_ANY_BIT, 0, 1, bits), _return(then), _return(otherwise)]


def _not_both(argument: int, first: int, second: int) -> Program:
    """Allows the call unless both bits are set in an argument."""
    test = [_load(_argument(argument)), (_ANY_BIT, 0, 2, first), (_ANY_BIT, 0, 1, second)]
    return [*test, _return(_ERRNO | errno.EPERM), _return(_ALLOW)]


def _one_of(argument: int, values: tuple[int, ...]) -> Program:
    """Allows the call when the low half of an argument is one of these; the kernel reads no more of it."""
    tests: Program = [(_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [_load(_argument(argument)), *tests, _return(_ERRNO | errno.EPERM), _return(_ALLOW)]
