"""Python's search for cycles of garbage, which waits while a hundred thousand objects are made that all are kept."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Without that search, which would go over all of them again and again; memory is still freed by reference counts.

    It holds for the whole process, so only for work of a second or so.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
