"""The other side of ``ProcessEngine``: a local engine that answers frames until its connection closes."""

import asyncio
import itertools
import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from saccade.codec.codecs import PLAIN_CODEC
from saccade.engines.engine import ScoreRequest, SequenceSlot
from saccade.engines.local import LocalEngine, limited_engine
from saccade.engines.process_values import MODEL, PICTURES, SampledHead, SampleHead, ScoreHead
from saccade.engines.weights import WeightsFile
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.frames import BrokenFrameError, WireFrame, packed, read
from saccade.media.store import MediaStore
from saccade.models.checkpoint import EngineSettings
from saccade.models.loading import LoadSettings, load_model
from saccade.models.memory import use_deterministic_kernels
from saccade.types import Json


class EngineServer:
    """Requests of one connection, answered by one engine."""

    def __init__(self, engine: LocalEngine, writer: asyncio.StreamWriter) -> None:
        self._engine = engine
        self._writer = writer
        self._batch = AsyncExitStack()
        self._slots: Sequence[SequenceSlot] = ()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Takes requests in their order. What takes long is answered later, by its number."""
        while True:
            try:
                frame = await read(reader)
            except BrokenFrameError:
                return
            match frame.header["do"]:
                case "sample" | "score":
                    task = asyncio.create_task(self._answer(frame))
                    self._answering.add(task)
                    task.add_done_callback(self._answering.discard)
                case _:
                    await self._answer(frame)

    async def _answer(self, frame: WireFrame) -> None:
        try:
            answer = await self._reply_to(frame)
        except Exception as error:  # Belongs to the other side, which asked for it.
            answer = _error_frame(error)
        self._writer.write(packed(WireFrame({**answer.header, "id": frame.header["id"]}, answer.parts)))

    async def _reply_to(self, frame: WireFrame) -> WireFrame:
        header = frame.header
        match header["do"]:
            case "open":
                labels = [str(label) for label in _list(header["labels"])]
                self._slots = await self._batch.enter_async_context(self._engine.sequences(labels))
            case "sample":
                return await self._sample_turn(frame)
            case "close":
                self._slots[_whole(header["slot"])].close()
            case "end":
                await self._batch.aclose()
            case "score":
                return await self._score_texts(frame)
            case "expect":
                self._engine.expect_weights(_whole(header["after_steps"]))
            case "update":
                source = WeightsFile(Path(str(header["weights"])))
                self._engine.update_weights(source, _whole(header["version"]))
            case "reset":
                self._engine.reset()
        return WireFrame({})

    async def _sample_turn(self, frame: WireFrame) -> WireFrame:
        head = PLAIN_CODEC.reader(SampleHead).from_json(frame.header, "the turn")
        ids = np.frombuffer(frame.parts[0], dtype=np.int64).tolist()
        done = await self._slots[head.slot].sample(ids, head.images, head.sampling)
        sampled, logprobs = np.array(done.ids, dtype=np.int64), np.array(done.logprobs, dtype=np.float64)
        parts = sampled.tobytes(), logprobs.tobytes(), done.routed_experts
        return WireFrame(asdict(SampledHead(finish=done.finish, versions=done.versions)), parts)

    async def _score_texts(self, frame: WireFrame) -> WireFrame:
        head = PLAIN_CODEC.reader(ScoreHead).from_json(frame.header, "the texts")
        ids = iter(np.frombuffer(frame.parts[0], dtype=np.int64).tolist())
        requests = [
            ScoreRequest(ids=tuple(itertools.islice(ids, one.count)), images=one.images, start=one.start)
            for one in head.requests
        ]
        scores = await self._engine.score_batch(requests, temperature=head.temperature)
        return WireFrame({}, [np.array([one for text in scores for one in text], dtype=np.float64).tobytes()])


def _engine(header: Mapping[str, Json]) -> LocalEngine:
    torch.set_num_threads(_whole(header["threads"]))
    folder = Path(str(header["folder"]))
    load = _mapping(header["load"])
    limits = EngineSettings(**_mapping(load["engine"]))  # type: ignore[arg-type]
    # What the learner keeps in 8 bits is sent in full, with its adapter.
    settings = LoadSettings(**{**load, "engine": limits, "frozen_weights": "full"})  # type: ignore[arg-type]
    use_deterministic_kernels(header["repeats"] is True, on_gpu=settings.torch_device != "cpu")
    model = load_model(folder / MODEL, MediaStore(folder / PICTURES), settings)
    engine = limited_engine(model, limits)
    engine.update_weights(WeightsFile(Path(str(header["weights"]))), _whole(header["version"]))
    return engine


async def serve(connection: socket.socket) -> int:
    """Loads what the first request names and answers all others; the process's exit status."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 20)
    try:
        first = await read(reader)
    except BrokenFrameError:
        return 0
    try:
        engine = _engine(first.header)
    except Exception as error:  # Said to the other side, which says it to the user.
        refused = _error_frame(error)
        writer.write(packed(WireFrame({**refused.header, "id": first.header["id"], "ends": True})))
        await writer.drain()
        return 1
    writer.write(packed(WireFrame({"id": first.header["id"]})))
    await EngineServer(engine, writer).serve(reader)
    # The other side deletes it too, unless it was killed.
    shutil.rmtree(str(first.header["folder"]), ignore_errors=True)
    return 0


def _error_frame(error: Exception) -> WireFrame:
    kinds = (UserError, MachineError, SaccadeError, ValueError)
    kind = next((kind.__name__ for kind in kinds if isinstance(error, kind)), None)
    if kind is None:
        return WireFrame({"error": "SaccadeError", "message": f"{type(error).__name__}: {error}"})
    return WireFrame({"error": kind, "message": str(error)})


def _whole(value: Json) -> int:
    assert isinstance(value, int)
    return value


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


def _mapping(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, dict)
    return value


if __name__ == "__main__":
    # Ctrl-C reaches both processes: the other side says when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = asyncio.run(serve(socket.socket(fileno=int(sys.argv[1]))))
    # Not through the interpreter's end: torch's threads take their time, and there is nothing to save.
    sys.stderr.flush()
    os._exit(status)
