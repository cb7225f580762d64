"""Forks of a process that holds model code; what runs with a fork of its own was registered by the model or a library.

Python and the C library both let code register hooks to run with a fork. ``fork`` runs none of them; it is for
processes with one thread. ``HeldFork`` is for those with more, whose locks and pools of threads only the hooks put in
order.
"""

import ctypes
from collections.abc import Callable
from os import _exit
from signal import pause
from typing import NoReturn

# It keeps the interpreter's lock, which a copy of this process must hold.
_library = ctypes.PyDLL(None, use_errno=True)
# glibc 2.34 and newer.
_bare_fork = getattr(_library, "_Fork", None)
_whole_fork = _library.fork
_register = getattr(_library, "__register_atfork", None)
_prepare, _repair = ctypes.pythonapi.PyOS_BeforeFork, ctypes.pythonapi.PyOS_AfterFork_Child


def fork() -> int:
    """As ``os.fork``, but without hooks (without those of Python, where the C library cannot leave out its own)."""
    return _checked_pid((_bare_fork or _whole_fork)())


class HeldFork:
    """A fork that the copy of this process does not leave: it sleeps between the hooks before a fork and those after.

    A library that keeps threads (``scipy.fft``) ends them in its hook before a fork, and starts them again in the
    copy. The sleeping copy must not have threads, but the runs that are forked from it need them: so each of these
    leaves the fork, and runs the hooks in its own time.
    """

    def __init__(self, sleep: Callable[[], None]) -> None:
        """``sleep`` is the life of the copy; it returns in copies of the copy only."""
        self._sleep, self._is_under_way = sleep, False
        self._hook = ctypes.CFUNCTYPE(None)(self._hold)
        if _bare_fork is not None and _register is not None:
            # In a child hooks run in the order of their registration, and Python must be repaired before it runs.
            for hook in (ctypes.cast(_repair, ctypes.c_void_p), self._hook):
                _register(None, None, hook, None)

    def begin(self) -> None:
        """Makes the copy, and stays to be killed; returns in copies of the copy, once they have run the hooks."""
        self._is_under_way = True
        _prepare()
        if _checked_pid(_whole_fork()):
            stay()
        if self._is_under_way:
            # Nothing held it: the C library is older, or code has taken the hook away.
            _repair()
            self._hold()

    def _hold(self) -> None:
        if not self._is_under_way:
            return
        self._is_under_way = False
        try:
            self._sleep()
        except BaseException:
            _exit(1)


def stay() -> NoReturn:
    """Waits to be killed."""
    while True:
        pause()


def _checked_pid(pid: int) -> int:
    if pid < 0:
        raise OSError(ctypes.get_errno(), "fork")
    return pid
