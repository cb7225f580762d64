"""Whether torch could not get memory, and how much it had asked for."""

import re

import torch

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
