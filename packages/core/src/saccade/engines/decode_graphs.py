"""Decode steps as CUDA graphs: recorded once for a shape and replayed, which spares the host a thousand launches.

A step of a model of three billion weights takes a GPU some milliseconds, and the host ten times as long to launch. Rows
and pages are filled up to a few sizes, so that few graphs serve a whole batch. A graph reads its numbers from one
buffer, and keys and values from where the pages lay when it was recorded: it is recorded anew when the pool has grown.
"""

import functools
import logging
import os
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.engines.pages import PAGE, PageMemory
from saccade.engines.row_memory import padded, unpadded
from saccade.models.memory import on_device
from saccade.models.plain_forward import TokenDecoder

_WORTH = 4
"""Steps of one shape before it is recorded: a recording takes as long as a few of them."""
_ROW_STEP = 8
_MOST_KEPT = 64
"""Recordings that outlive a batch: each takes some memory of its own."""

logger = logging.getLogger(__name__)

Run = Callable[[], Float[Tensor, "rows hidden"]]
Record = Callable[[Run], tuple[Callable[[], None], Tensor]]
"""Runs something once while it is recorded; gives how to repeat it, and the tensor that each time has its result."""


class Shape(NamedTuple):
    """Size of a recorded step, which steps of fewer rows and tokens fill up."""

    rows: int
    pages: int
    """Of the longest row."""
    width: int = 1
    """New tokens of each row."""

    @classmethod
    def of(cls, rows: int, tokens: int, width: int = 1, page: int = PAGE) -> "Shape":
        """The next size for so many rows, the longest of so many tokens; a quarter more pages at most.

        ``width`` is how many new tokens a row has at most.
        """
        pages = -(-tokens // page)
        step = 1 << max(0, pages.bit_length() - 3)
        small = 1 << (rows - 1).bit_length()
        return cls(
            rows=small if rows <= _ROW_STEP else -(-rows // _ROW_STEP) * _ROW_STEP,
            pages=-(-pages // step) * step,
            width=1 << (width - 1).bit_length(),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recorded:
    numbers: Int[Tensor, "numbers"]
    replay: Callable[[], None]
    states: Float[Tensor, "tokens hidden"]


class DecodeGraphs:
    """The graphs on one pool of pages, of one batch or of several (``KeptGraphs``). Callers switch gradients off."""

    def __init__(self, decoder: TokenDecoder, memory: PageMemory, record: Record) -> None:
        self._decoder = decoder
        self._memory = memory
        self._record: Record | None = record
        self._uses: Counter[Shape] = Counter()
        self._recorded: dict[Shape, _Recorded] = {}
        self._pool: Tensor | None = None
        self._weights: tuple[object, ...] | None = None
        """Where they lay at the last look; None: look before the next step."""
        self._recorded_weights: tuple[object, ...] | None = None

    @property
    def is_on(self) -> bool:
        """Whether recording has not failed."""
        return self._record is not None

    def go_on(self, decoder: TokenDecoder, *, counts_anew: bool) -> None:
        """Another batch begins. Where it ``counts_anew``, its steps are recorded or not as if it were the first."""
        self._decoder = decoder
        self.note_changed_weights()
        if counts_anew:
            self._uses.clear()

    def note_changed_weights(self) -> None:
        """Weights may lie elsewhere from here on: recordings that read them where they lay go before the next step."""
        self._weights = None

    def forget_oldest(self) -> None:
        """Keeps the recordings that were used last."""
        for shape in list(self._recorded)[:-_MOST_KEPT]:
            del self._recorded[shape]

    def decode(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        places: Sequence[int],
        cached: Sequence[int],
        counts: Sequence[int],
    ) -> Float[Tensor, "tokens hidden"] | None:
        """Last hidden states after so many more tokens of each row; None where the step is not worth a graph."""
        if self._record is None:
            return None
        shape = Shape.of(len(cached), max(cached) + max(counts), max(counts), self._memory.page)
        self._uses[shape] += 1
        if self._uses[shape] < _WORTH:
            return None
        memory = self._memory
        memory.cover(places, [length + count for length, count in zip(cached, counts)])
        self._drop_stale()
        numbers = self._numbers(shape, tokens, positions, places, cached, counts)
        recorded = self._recorded.pop(shape, None) or self._try(shape, numbers, self._record)
        if recorded is None:
            return None
        self._recorded[shape] = recorded
        recorded.numbers.copy_(numbers)
        recorded.replay()
        # The next replay, of any shape, overwrites them.
        states = recorded.states[: len(cached) * shape.width]
        own = unpadded(states, counts, shape.width)
        return own.clone() if own is states else own

    def _drop_stale(self) -> None:
        """A recording reads pages and weights where they lay."""
        if self._weights is None:
            self._weights = self._decoder.places()
        if self._pool is not self._memory.pool or self._recorded_weights != self._weights:
            self._recorded.clear()
            self._pool, self._recorded_weights = self._memory.pool, self._weights

    def _numbers(
        self,
        shape: Shape,
        tokens: Sequence[int],
        positions: Sequence[int],
        places: Sequence[int],
        cached: Sequence[int],
        counts: Sequence[int],
    ) -> Int[Tensor, "numbers"]:
        """All that a step is told; rows that fill up write to the spare page and see themselves alone."""
        memory, width, spare = self._memory, shape.width, [0] * (shape.rows - len(cached))
        targets = memory.targets(places, cached, width, counts)
        tables = memory.tables(places, shape.pages)
        return on_device(
            [
                *(*padded(tokens, counts, width), *spare * width),
                *(*padded(positions, counts, width), *spare * width),
                *(*(place for row in targets for place in row), *spare * width),
                *(*cached, *spare),
                *(page for table in tables for page in table),
                *spare * shape.pages,
            ],
            memory.device,
        )

    def _try(self, shape: Shape, numbers: Int[Tensor, "numbers"], record: Record) -> _Recorded | None:
        rows, new = shape.rows, shape.rows * shape.width
        ids, places, targets = numbers[: 3 * new].view(3, new)
        starts, table = numbers[3 * new : 3 * new + rows], numbers[3 * new + rows :].view(rows, shape.pages)

        def step() -> Tensor:
            window = self._memory.window_on(
                table, targets.view(rows, -1), starts, total=shape.pages * self._memory.page
            )
            return self._decoder(ids, places, window.attention())

        try:
            replay, states = record(step)
        except RuntimeError as error:
            # An operation that cannot be recorded: slower, and nothing else.
            _say_unrecorded(str(error).partition("\n")[0])
            self._record = None
            self._recorded.clear()
            return None
        return _Recorded(numbers=numbers, replay=replay, states=states)


@functools.cache
def _say_unrecorded(why: str) -> None:
    """Once in a process, whichever batch it is of."""
    logger.warning("decode steps are not recorded as CUDA graphs here: %s", why)


SWITCH = "SACCADE_CUDA_GRAPHS"
"""Environment variable that leaves decode steps unrecorded when it is 0."""


def cuda_recorder(device: torch.device) -> "CudaRecorder | None":
    """None where there is no GPU, or with ``SACCADE_CUDA_GRAPHS=0``."""
    return CudaRecorder(device) if device.type == "cuda" and os.environ.get(SWITCH) != "0" else None


class CudaRecorder:
    """Records on a device; all recordings share their memory, as one runs after the other."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._memory = torch.cuda.graph_pool_handle()
        self._graphs: weakref.WeakSet[torch.cuda.CUDAGraph] = weakref.WeakSet()

    def __call__(self, run: Run) -> tuple[Callable[[], None], Tensor]:
        # An engine may run in a thread of its own, whose current device is the first.
        with torch.cuda.device(self._device):
            return self._record(run)

    def _record(self, run: Run) -> tuple[Callable[[], None], Tensor]:
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            # Libraries make their workspaces at the first call, which cannot be recorded.
            run()
        torch.cuda.current_stream().wait_stream(aside)
        if not self._graphs:
            # Memory whose last graph has gone takes no other.
            self._memory = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # A learner in another thread may use the device meanwhile.
        with torch.cuda.graph(graph, pool=self._memory, capture_error_mode="thread_local"):
            states = run()
        self._graphs.add(graph)
        return graph.replay, states
