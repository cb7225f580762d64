"""torch as a run needs it to repeat to the bit."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def repeatable(*, threads: int, device: str) -> Iterator[None]:
    """This many threads and, on a CPU, deterministic kernels only; afterwards torch is as it was.

    On a GPU torch would refuse some kernels: there a run repeats closely, not to the bit.
    """
    threads_before, was_deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(device == "cpu")
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_deterministic)
        torch.set_num_threads(threads_before)
