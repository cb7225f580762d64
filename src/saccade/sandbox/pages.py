"""Memory of the warm parent in pages of 2 MiB: each fork of a session copies one entry for them instead of 512."""

import ctypes
import os
import re

_COLLAPSE = 25
"""MADV_COLLAPSE, of Linux 6.1."""
_LARGE = 1 << 21
_OWN = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0\s*(?:\[heap\])?")


def enlarge(proc: int) -> None:
    """Gives back what is free and joins the rest; ``proc`` is a descriptor of /proc, -1 where it is in its place.

    Where the kernel or the C library cannot do it, everything stays as it is.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        return
    library.malloc_trim(0)
    try:
        file = os.open("self/maps" if proc >= 0 else "/proc/self/maps", os.O_RDONLY, dir_fd=max(proc, 0))
    except OSError:
        return
    with os.fdopen(file, encoding="utf-8", errors="replace") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        if found := _OWN.fullmatch(line):
            start, end = (int(place, 16) for place in found.groups())
            for place in range(-(-start // _LARGE) * _LARGE, end - _LARGE + 1, _LARGE):
                # Ranges that were never used are refused.
                library.madvise(ctypes.c_void_p(place), ctypes.c_size_t(_LARGE), _COLLAPSE)
