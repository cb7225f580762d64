"""Weights that a rollout worker's batch takes over in its midst: a file whose name is known before it is there.

The share names the file, so a share that is played again finds the same weights at the same decode step, whether they
are there by then or not. Nothing has to be told to a worker that is at work.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from saccade.engines.engine import Engine, abilities_of
from saccade.engines.weights import give_weights
from saccade.errors import SaccadeError

_LOOK_S = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class ComingWeights:
    """What a share needs to know of them."""

    path: Path
    """Where they will be, whole; their folder goes away where they never come."""
    version: int
    after_steps: int
    """Decode steps of the share that are run before them."""


@contextmanager
def taking(engine: Engine, coming: ComingWeights | None) -> Iterator[None]:
    """Gives the weights to the batch that is played inside as soon as they are there; None gives nothing."""
    if coming is None:
        yield
        return
    expect_weights = abilities_of(engine).expect_weights
    assert expect_weights is not None
    expect_weights(coming.after_steps)
    has_ended = threading.Event()
    watching = threading.Thread(
        target=_give_when_there, args=(engine, coming, has_ended), name="coming weights", daemon=True
    )
    watching.start()
    try:
        yield
    finally:
        has_ended.set()
        watching.join()


def _give_when_there(engine: Engine, coming: ComingWeights, has_ended: threading.Event) -> None:
    while not has_ended.wait(_LOOK_S):
        if coming.path.is_file() or not coming.path.parent.is_dir():
            # Where the folder is gone the run is over, and reading fails the batch, which would wait for ever.
            with suppress(SaccadeError):
                give_weights(engine, coming.path, coming.version)
            return
