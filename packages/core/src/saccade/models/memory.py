"""Memory of the process: what one training step frees the next needs again, and errors of memory that ran out.

The C library hands what lies free at the end of its memory back to the system, and the system clears every page anew
when it is used again. On a virtual machine that was a twentieth of a step's time of a tiny model. Of large ones it is
less, and what is kept would be a sixth of the peak: only processes of tiny models do this. Those of large ones give
back what lies free between blocks in use as well, which the library by itself never does. Where the environment sets up
glibc's memory (``MALLOC_TRIM_THRESHOLD_`` and the like, or ``GLIBC_TUNABLES``), neither is done.
"""

import ctypes
import functools
import math
import mmap
import os
import re
import sys
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from saccade.errors import UserError

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Numbers of glibc's settings, from malloc.h."""
_NO_RESERVE = 0x4000
"""``MAP_NORESERVE`` of Linux: Python names it from 3.12 on."""
_LARGEST_KEPT = 32 << 20
"""Bytes of a block. Larger ones, once freed, would leave holes that the next do not fit in."""
_KEPT_AT_END = 1 << 30
"""Bytes that may lie free at the end of the memory."""


@functools.cache
def keep_freed_memory() -> bool:
    """Lets this process keep what it frees, if its C library is glibc and its environment says nothing else.

    Its memory then stays at its peak until it ends. Returns whether it was done.
    """
    if sys.platform != "linux" or _is_set_up():
        return False
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None:
        return False
    settings = {_MMAP_THRESHOLD: _LARGEST_KEPT, _TRIM_THRESHOLD: _KEPT_AT_END}
    return all(set_option(option, value) == 1 for option, value in settings.items())


_CUBLAS, _FIXED_WORKSPACES = "CUBLAS_WORKSPACE_CONFIG", (":4096:8", ":16:8")
"""With workspaces of its own choice cuBLAS may add in another order each time."""


def use_deterministic_kernels(wanted: bool, *, on_gpu: bool = False) -> None:
    """Torch's deterministic kernels alone, or any; an operation that has none raises torch's RuntimeError.

    No warning in its place: attention's backward adds up in order only where torch may raise. ``on_gpu`` must come
    before the GPU's first product; UserError where the environment stands against it. New memory stays as it is: to
    fill it took a tenth of a step.
    """
    if wanted and on_gpu:
        if (found := os.environ.setdefault(_CUBLAS, _FIXED_WORKSPACES[0])) not in _FIXED_WORKSPACES:
            raise UserError(
                f"model.deterministic=true, but the environment sets {_CUBLAS}={found}, with which products differ "
                f"from run to run; unset it, or set it to {_FIXED_WORKSPACES[0]}"
            )
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    torch.use_deterministic_algorithms(wanted)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def give_freed_memory_back() -> None:
    """Give all whole pages that lie free in this process's memory back to the system, if its C library is glibc and its
    environment says nothing else."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if sys.platform == "linux" and trim is not None and not _is_set_up():
        trim(ctypes.c_size_t(0))


def _is_set_up() -> bool:
    return any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)


def untouched_zeros(shape: Sequence[int], dtype: torch.dtype) -> Tensor | None:
    """Zeros on the CPU that take memory only where they are written, page by page; None where the system has none.

    They may be larger than the machine's memory. A system that promises no more memory than it has
    (``vm.overcommit_memory=2``), or a process with a bound on its addresses, refuses what is too large.
    """
    if sys.platform != "linux":
        return None
    count = math.prod(shape)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        mapped = mmap.mmap(-1, max(1, count) * dtype.itemsize, flags=flags)
    except (OSError, OverflowError):
        return None
    return torch.frombuffer(mapped, dtype=dtype, count=count).view(*shape)


def give_range_back(rows: Float[Tensor, "*runs tokens dim"], start: int, stop: int) -> None:
    """Give the memory of tokens ``start`` to ``stop`` of each run back to the system; their values are lost.

    Whole pages alone are given back, of a tensor on the CPU whose tokens are neighbours in memory.
    """
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if sys.platform != "linux" or advise is None:
        return
    page, token = mmap.PAGESIZE, rows.stride(-2) * rows.element_size()
    offsets = [0]
    for size, stride in zip(rows.shape[:-2], rows.stride()[:-2]):
        offsets = [offset + index * stride * rows.element_size() for offset in offsets for index in range(size)]
    for offset in offsets:
        run = rows.data_ptr() + offset
        first, last = -(-(run + start * token) // page) * page, (run + stop * token) // page * page
        if last > first:
            advise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED)


def on_device(
    numbers: Sequence[object] | Shaped[np.ndarray, "..."], device: torch.device, dtype: torch.dtype = torch.long
) -> Tensor:
    """A tensor of numbers of the host, sent without waiting for what the device is at."""
    return sent(torch.tensor(numbers, dtype=dtype), device)


def sent(made: Shaped[Tensor, "..."], device: torch.device) -> Shaped[Tensor, "..."]:
    """A tensor of the host on a device, without waiting for what a GPU is at: a copy of memory that may be swapped
    would."""
    return (made.pin_memory() if device.type == "cuda" else made).to(device, non_blocking=True)


def bytes_left(device: torch.device) -> int:
    """That a GPU has left for what lives long, with what torch keeps of it unused; a tenth is left to forwards."""
    free, total = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + unused - total // 10


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
