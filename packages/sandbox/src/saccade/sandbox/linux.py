"""Linux system calls that this version of Python does not offer, each raising OSError when it fails."""

import ctypes
import os
import platform

from saccade.sandbox.syscalls import ARCHITECTURES

NEW_NS = 0x20000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 2, 4, 8, 32
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4

_MNT_DETACH = 2
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_MOUNT_SETATTR = 442
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 38, 24, 47, 4
_CAPABILITY_VERSION = 0x20080522

_library = ctypes.CDLL(None, use_errno=True)
_library.syscall.restype = ctypes.c_long


def architecture_name() -> str:
    return platform.machine()


def call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """A system call by number."""
    given = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    return _checked_result(int(_library.syscall(ctypes.c_long(number), *given)))


def unshare(flags: int) -> None:
    _checked_result(_library.unshare(flags))


def enter_namespace(descriptor: int, kind: int) -> None:
    _checked_result(_library.setns(descriptor, kind))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = [os.fsencode(word) or None for word in (source, target, kind)]
    _checked_result(_library.mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None), target)


def restrict_mount(target: str, attributes: int, *, recursive: bool) -> None:
    """Adds attributes to a mount, whatever it has already."""
    content = b"".join(value.to_bytes(8, "little") for value in (attributes, 0, 0, 0))
    flags = _AT_RECURSIVE if recursive else 0
    call(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), flags, content, len(content))


def change_root(folder: str) -> None:
    """Makes a mount the root of all that this process sees; what was the root is out of reach."""
    os.chdir(folder)
    # The old root is put on top of the new one, and taken off.
    call(ARCHITECTURES[architecture_name()].number("pivot_root"), b".", b".")
    _checked_result(_library.umount2(b".", _MNT_DETACH))
    os.chdir("/")


def drop_capabilities() -> None:
    """Gives up every privilege of this process and of whatever it may start."""
    for capability in range(64):
        if _prctl(_PR_CAPBSET_DROP, capability) < 0:
            break
    _prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    header = _CAPABILITY_VERSION.to_bytes(4, "little") + bytes(4)
    call(ARCHITECTURES[architecture_name()].number("capset"), header, bytes(24))


def forbid_new_privileges() -> None:
    _checked_result(_prctl(_PR_SET_NO_NEW_PRIVS, 1))


def _prctl(option: int, value: int) -> int:
    unused = ctypes.c_ulong(0)
    return int(_library.prctl(option, ctypes.c_ulong(value), unused, unused, unused))


def _checked_result(result: int, what: str | None = None) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result
