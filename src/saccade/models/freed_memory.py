"""Memory between the steps of a training: what one frees the next needs again.

The C library hands what lies free at the end of its memory back to the system, and the system clears every page anew
when it is used again. On a virtual machine that was a twentieth of a step's time.
"""

import ctypes
import functools
import os
import sys

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Numbers of glibc's settings, from malloc.h."""
_LARGEST_KEPT = 32 << 20
"""Bytes of a block. Larger ones, once freed, would leave holes that the next do not fit in."""
_KEPT_AT_END = 1 << 30
"""Bytes that may lie free at the end of the memory."""


@functools.cache
def keep_freed_memory() -> bool:
    """Lets this process keep what it frees, if its C library is glibc and nobody has set that up otherwise.

    Its memory then stays at its peak until it ends. Whoever wants something else sets any of glibc's variables
    (``MALLOC_TRIM_THRESHOLD_`` and the like, or ``GLIBC_TUNABLES``). Returns whether it was done.
    """
    is_set_up = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if sys.platform != "linux" or is_set_up:
        return False
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None:
        return False
    settings = {_MMAP_THRESHOLD: _LARGEST_KEPT, _TRIM_THRESHOLD: _KEPT_AT_END}
    return all(set_option(option, value) == 1 for option, value in settings.items())
