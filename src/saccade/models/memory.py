"""Memory of the process: what one training step frees the next needs again, and errors of memory that ran out.

The C library hands what lies free at the end of its memory back to the system, and the system clears every page anew
when it is used again. On a virtual machine that was a twentieth of a step's time of a tiny model. Of large ones it is
less, and what is kept would be a sixth of the peak: only processes of tiny models do this. Those of large ones give
back what lies free between blocks in use as well, which the library by itself never does.
"""

import ctypes
import functools
import mmap
import os
import re
import sys

import torch
from torch import Tensor

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Numbers of glibc's settings, from malloc.h."""
_LARGEST_KEPT = 32 << 20
"""Bytes of a block. Larger ones, once freed, would leave holes that the next do not fit in."""
_KEPT_AT_END = 1 << 30
"""Bytes that may lie free at the end of the memory."""


@functools.cache
def keep_freed_memory() -> bool:
    """Lets this process keep what it frees, if its C library is glibc and its environment says nothing else.

    Its memory then stays at its peak until it ends. Any of glibc's own variables (``MALLOC_TRIM_THRESHOLD_`` and the
    like, or ``GLIBC_TUNABLES``) switches it off. Returns whether it was done.
    """
    is_set_up = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if sys.platform != "linux" or is_set_up:
        return False
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None:
        return False
    settings = {_MMAP_THRESHOLD: _LARGEST_KEPT, _TRIM_THRESHOLD: _KEPT_AT_END}
    return all(set_option(option, value) == 1 for option, value in settings.items())


def give_freed_memory_back() -> None:
    """Give all whole pages that lie free in this process's memory back to the system, if its C library is glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if sys.platform == "linux" and trim is not None:
        trim(ctypes.c_size_t(0))


def give_pages_back(tensor: Tensor) -> None:
    """Give the memory of a contiguous tensor on the CPU back to the system before the tensor itself is freed.

    Its values are lost, but for those on pages that it shares with others. Nothing is done where the system has no
    ``madvise``.
    """
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if sys.platform != "linux" or advise is None or not tensor.is_contiguous():
        return
    page = mmap.PAGESIZE
    begin, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
    first, last = -(-begin // page) * page, end // page * page
    if last > first:
        advise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED)


_ASKED_FOR = re.compile(r"[Tt]ried to allocate (?P<size>[\d.]+ \w+)")


def is_out_of_memory(error: BaseException) -> bool:
    """On whichever device: the allocator of the CPU has no error class of its own."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def asked_for(error: BaseException) -> str:
    """`` while it asked for 2.00 GiB``, as torch said it; empty where it did not."""
    asked = _ASKED_FOR.search(str(error))
    return f" while it asked for {asked['size']}" if asked else ""
