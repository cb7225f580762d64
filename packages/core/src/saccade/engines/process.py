"""The engine in a process of its own: a local engine that is spawned, and replaced when it dies.

Weights and pictures go through files of a temporary folder, requests and answers through a socket (``saccade.frames``).
What is sampled is what a local engine samples, to the bit. A process that ends in the middle of a batch costs that
batch (``EngineLostError``); the next one begins with a new process and the newest weights.
"""

import asyncio
import logging
import tempfile
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from saccade.codec.codecs import PLAIN_CODEC
from saccade.engines.engine import Completion, EngineContext, EngineLostError, Sampling, ScoreRequest, WeightSource
from saccade.engines.process_connection import ProcessConnection
from saccade.engines.process_values import (
    MODEL,
    PICTURES,
    Pictures,
    SampledHead,
    SampleHead,
    ScoredText,
    ScoreHead,
    disk_errors,
)
from saccade.engines.weights import WeightsWriter, delete_weights, new_weights_path
from saccade.errors import SaccadeError
from saccade.types import ImageRef, Json

logger = logging.getLogger(__name__)


class ProcessEngine:
    """A ``Plan.engine``: ``dataclasses.replace(plan, engine=ProcessEngine)``."""

    has_own_weights = True
    records_experts = True

    def __init__(self, context: EngineContext, *, folder: Path | None = None) -> None:
        """``folder`` is where its temporary folder is made: ``/dev/shm`` keeps weights and pictures in memory.

        A tokenizer's directory and all weights must fit there, the weights twice.
        """
        self._owned = tempfile.TemporaryDirectory(prefix="saccade-engine-", dir=folder, ignore_cleanup_errors=True)
        self._folder = Path(self._owned.name)
        self._policy_version = context.policy_version
        self._load = _load_settings(context)
        self._pictures = Pictures(context.model.media, self._folder / PICTURES)
        with disk_errors(self._folder):
            context.model.save_base(self._folder / MODEL)
        self._writer = WeightsWriter(disk_errors)
        self._weights = self._write_weights(context.model, context.policy_version)
        self._is_closed = False
        self._flight: _Flight | None = None
        # A batch may be played in one thread while another gives it weights.
        self._flying = threading.Lock()
        self._connection: ProcessConnection = self._start()

    @property
    def policy_version(self) -> int:
        return self._policy_version

    @property
    def process_id(self) -> int:
        """That of the process that answers at present."""
        return self._connection.process_id

    @asynccontextmanager
    async def sequences(self, labels: Sequence[str]) -> AsyncIterator[Sequence["ProcessSlot"]]:
        """A slot for each trajectory of a batch; one batch at a time."""
        connection = self._running()
        with self._pictures.in_use():
            await connection.answer({"do": "open", "labels": list(labels)})
            slots = [ProcessSlot(connection, self._pictures, index) for index in range(len(labels))]
            is_lost = False
            try:
                yield slots
            except EngineLostError:
                is_lost = True
                raise
            finally:
                # A batch whose process has ended is over.
                with suppress(EngineLostError):
                    await connection.answer({"do": "end"})
                if not is_lost:
                    self._land()

    async def score(self, ids: Sequence[int], images: Sequence[ImageRef], start: int) -> tuple[float, ...]:
        """log p of each of ``ids[start:]`` given everything before it, at temperature 1; see ``score_batch``."""
        [scores] = await self.score_batch([ScoreRequest(ids=tuple(ids), images=tuple(images), start=start)])
        return scores

    async def score_batch(
        self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0
    ) -> tuple[tuple[float, ...], ...]:
        """As ``LocalEngine.score_batch``."""
        texts = tuple(ScoredText(count=len(one.ids), images=one.images, start=one.start) for one in requests)
        with self._pictures.in_use():
            for one in requests:
                self._pictures.put(one.images)
            ids = np.array([token for one in requests for token in one.ids], dtype=np.int64)
            head = ScoreHead(requests=texts, temperature=temperature)
            frame = await self._running().answer({"do": "score", **asdict(head)}, [ids.tobytes()])
        scores = iter(np.frombuffer(frame.parts[0], dtype=np.float64).tolist())
        return tuple(tuple(next(scores) for _ in one.ids[one.start :]) for one in requests)

    def update_weights(self, source: WeightSource, version: int) -> None:
        """Writes the weights down for this process and for those that replace it, and waits until they are in use."""
        written = self._write_weights(source, version)
        with self._flying:
            if self._flight is not None and self._flight.weights is None:
                self._flight.weights, self._flight.version = written, version
                self._connection.ask(self._flight.update())
                return
        try:
            self._connection.ask({"do": "update", "weights": str(written), "version": version}).result()
        except EngineLostError:
            # The process that replaces it begins with them.
            pass
        except SaccadeError:
            delete_weights(written, kept=[self._weights])
            raise
        self._take(written, version)

    def _take(self, written: Path, version: int) -> None:
        delete_weights(self._weights, kept=[written])
        self._weights, self._policy_version = written, version

    def expect_weights(self, after_steps: int) -> None:
        """As ``Abilities.expect_weights``. A batch that is played anew begins with the old weights again."""
        with self._flying:
            self._flight = _Flight(after_steps=after_steps)
            self._connection.ask(self._flight.expectation())

    def _land(self) -> None:
        """The batch that expected weights has ended: those that came are the engine's."""
        with self._flying:
            flight, self._flight = self._flight, None
            if flight is not None and flight.weights is not None:
                self._take(flight.weights, flight.version)

    def reset(self) -> None:
        """Encodes every image anew from here on."""
        with suppress(EngineLostError):
            self._connection.ask({"do": "reset"}).result()

    async def aclose(self) -> None:
        """Ends the process and deletes the folder."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.end()
            self._owned.cleanup()

    def _running(self) -> ProcessConnection:
        """The process, or a new one where it has ended."""
        if self._is_closed:
            raise SaccadeError("this engine is closed; make another one")
        with self._flying:
            if self._connection.lost is not None:
                logger.warning("%s; another one starts", self._connection.lost)
                self._connection.end()
                self._connection = self._start()
            return self._connection

    def _start(self) -> ProcessConnection:
        connection = ProcessConnection.spawn()
        connection.ask(
            {
                "do": "load",
                "folder": str(self._folder),
                "load": self._load,
                "weights": str(self._weights),
                "version": self._policy_version,
                "threads": torch.get_num_threads(),
                "repeats": torch.are_deterministic_algorithms_enabled(),
            }
        )
        if self._flight is not None:
            connection.ask(self._flight.expectation())
            if self._flight.weights is not None:
                connection.ask(self._flight.update())
        return connection

    def _write_weights(self, source: WeightSource, version: int) -> Path:
        """A new file: the process may be reading the last one."""
        path = new_weights_path(self._folder, version)
        self._writer.write(source, path)
        return path


@dataclass(kw_only=True, slots=True)
class _Flight:
    """Weights that the next batch takes over in its midst; every process that plays it is told of them."""

    after_steps: int
    weights: Path | None = None
    """None until they are given."""
    version: int = 0

    def expectation(self) -> dict[str, Json]:
        return {"do": "expect", "after_steps": self.after_steps}

    def update(self) -> dict[str, Json]:
        return {"do": "update", "weights": str(self.weights), "version": self.version}


class ProcessSlot:
    """A sequence of the engine in the other process."""

    def __init__(self, connection: ProcessConnection, pictures: Pictures, index: int) -> None:
        self._connection = connection
        self._pictures = pictures
        self._index = index

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """Continues ``ids``, as ``LocalSequence.sample``."""
        self._pictures.put(images)
        head = SampleHead(slot=self._index, images=tuple(images), sampling=sampling)
        try:
            frame = await self._connection.answer(
                {"do": "sample", **asdict(head)}, [np.array(ids, dtype=np.int64).tobytes()]
            )
        except asyncio.CancelledError:
            self.close()
            raise
        done = PLAIN_CODEC.reader(SampledHead).from_json(frame.header, "the turn")
        return Completion(
            ids=tuple(np.frombuffer(frame.parts[0], dtype=np.int64).tolist()),
            logprobs=tuple(np.frombuffer(frame.parts[1], dtype=np.float64).tolist()),
            finish=done.finish,
            versions=done.versions,
            routed_experts=frame.parts[2],
        )

    def close(self) -> None:
        self._connection.ask({"do": "close", "slot": self._index})


def _load_settings(context: EngineContext) -> dict[str, Json]:
    """Those that load a copy: what the model was made with since is in the files that it saves."""
    is_half = context.model.dtype == torch.bfloat16
    return asdict(replace(context.load, dtype="bfloat16" if is_half else "float32", chat_template=None))
