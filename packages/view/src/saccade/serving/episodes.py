"""A request from its body to its episodes: read, given a place, played, and given up when its client leaves."""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from saccade.errors import SaccadeError, UserError
from saccade.rollout.episodes import RolloutRequest
from saccade.seeding import seed_for
from saccade.serving.agent import Agent, PlayedEpisode, RequestSampling
from saccade.serving.meters import AgentMeters
from saccade.serving.pictures import EpisodePictures, PicturesInUse, are_small, read_pictures
from saccade.serving.questions import AskedWrongError, ChatQuestion, read_request, taken_apart
from saccade.serving.remote import PictureFetcher
from saccade.serving.settings import AgentServerSettings
from saccade.serving.traces import Traces
from saccade.types import Task, Trajectory, Turn

ReadValue = TypeVar("ReadValue")

logger = logging.getLogger(__name__)

STREAM = "served"
_READERS = 2
"""Requests whose pictures are decoded at the same time: each may take the memory of its pixels."""
_READ_HERE = 1 << 18
"""Bytes of a body that is read without leaving the event loop, with pictures that are small: going to another thread
and back takes as long as decoding one of 256 x 256."""


OnTurnOfSample = Callable[[int, Turn], None]
"""Is told of each turn as it ends, with the number of its sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A request that has its place."""

    ident: str
    asked: ChatQuestion
    task: Task
    pictures: EpisodePictures


class EpisodesOfRequests:
    """All that requests share. Used from one event loop."""

    def __init__(
        self,
        agent: Agent,
        held: PicturesInUse,
        settings: AgentServerSettings,
        meters: AgentMeters,
        fetcher: PictureFetcher | None = None,
    ) -> None:
        self.settings = settings
        self.meters = meters
        self.traces = Traces(settings)
        self._agent = agent
        self._held = held
        self._fetcher = fetcher
        self._open = 0
        self._readers = ThreadPoolExecutor(max_workers=_READERS, thread_name_prefix="pictures")
        meters.gauge("agent_open_trajectories", "Episodes at work or waiting for a row", lambda: self._open)
        meters.gauge("agent_traces", "Requests whose trajectories are kept", lambda: self.traces.count)
        meters.gauge("agent_pictures", "Pictures that are held", lambda: held.count)

    @property
    def open_count(self) -> int:
        """Episodes that have a place."""
        return self._open

    async def close(self) -> None:
        self._readers.shutdown(wait=False, cancel_futures=True)
        if self._fetcher is not None:
            await self._fetcher.close()

    @asynccontextmanager
    async def request(self, body: bytes) -> AsyncIterator[Request]:
        """The request in its place; ``AskedWrongError`` when it is wrong or there is no place for it.

        Its pictures are forgotten at the end, unless a trace keeps them.
        """
        asked = await self._read(lambda: read_request(body, self.settings), is_small=len(body) <= _READ_HERE)
        if self._open + asked.samples > self.settings.queue:
            raise AskedWrongError(
                f"{self._open} of at most {self.settings.queue} episodes are open; come back later",
                status=429,
                code="queue_full",
            )
        self._open += asked.samples
        pictures = EpisodePictures(self._held)
        fetched = AsyncExitStack()
        try:
            files = await fetched.enter_async_context(self._fetcher.fetched(_addresses(asked))) if self._fetcher else {}
            images = await self._read(
                lambda: read_pictures(asked.pictures, pictures, self.settings, files),
                is_small=len(body) <= _READ_HERE and are_small(asked.pictures),
            )
            question = taken_apart(asked.question, self._agent.special_tokens)
            digest = hashlib.sha256("\n".join([question, *(image.hash for image in images)]).encode()).hexdigest()
            # There is no gold answer, and nothing that plays a question reads one.
            task = Task(
                id=f"{STREAM}-{digest[:16]}",
                family=STREAM,
                question=question,
                answer="",
                answer_kind="text",
                images=images,
                source=STREAM,
                is_interleaved=asked.is_interleaved,
            )
            yield Request(ident=f"chatcmpl-{secrets.token_hex(16)}", asked=asked, task=task, pictures=pictures)
        finally:
            self._open -= asked.samples
            pictures.close()
            await fetched.aclose()

    async def play(self, request: Request, on_turn: OnTurnOfSample | None = None) -> list[PlayedEpisode]:
        """All samples of a request, in their order; the trajectories are kept as its trace.

        When one cannot be played the others are ended: ``AskedWrongError`` says why. ``on_turn`` is called in the
        event loop with a sample's number.
        """
        try:
            async with asyncio.timeout(self.settings.deadline_s):
                played = await self._play_samples(request, on_turn)
        except TimeoutError:
            raise AskedWrongError(
                f"no reply within {self.settings.deadline_s:g} s", status=504, code="deadline"
            ) from None
        except UserError as error:
            raise AskedWrongError(str(error)) from error
        except SaccadeError as error:
            logger.warning("%s: %s", request.ident, error)
            raise AskedWrongError(f"the engine failed: {error}", status=503, code="engine") from error
        trajectories = [one.trajectory for one in played]
        self.traces.keep(request.ident, self.settings.name, request.task, trajectories, request.pictures.handed_over())
        for one in played:
            if one.trajectory.status == "failed":
                raise self._failure(one.trajectory)
        return played

    async def _play_samples(self, request: Request, on_turn: OnTurnOfSample | None) -> list[PlayedEpisode]:
        if request.asked.samples == 1:
            return [await self._play_one(request, 0, on_turn)]
        tasks = [
            asyncio.ensure_future(self._play_one(request, sample, on_turn)) for sample in range(request.asked.samples)
        ]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _play_one(self, request: Request, sample: int, on_turn: OnTurnOfSample | None) -> PlayedEpisode:
        loop = asyncio.get_running_loop()
        asked = request.asked

        def tell(turn: Turn) -> None:
            self.meters.turn(turn)
            # Nobody looks: the loop is not woken for it.
            if on_turn is not None:
                loop.call_soon_threadsafe(on_turn, sample, turn)

        seed = secrets.randbits(63) if asked.seed is None else asked.seed
        try:
            played = await self._agent.play(
                RolloutRequest(
                    task=request.task,
                    stream=STREAM,
                    sample=sample,
                    seed=seed if sample == 0 else seed_for(seed, "sample", sample),
                ),
                request.pictures,
                RequestSampling(
                    temperature=asked.temperature,
                    top_p=asked.top_p,
                    top_k=asked.top_k,
                    max_action_tokens=asked.max_completion_tokens,
                ),
                max_reply_tokens=asked.max_tokens,
                on_turn=tell,
            )
        except asyncio.CancelledError:
            self.meters.count_left()
            raise
        self.meters.count_played(played)
        return played

    def _failure(self, trajectory: Trajectory) -> AskedWrongError:
        """The client's mistake where its prompt alone was too long, else the machine's."""
        if len(trajectory.ids) >= self._agent.max_prompt_tokens and not trajectory.turns:
            return AskedWrongError(trajectory.failure, "messages", code="context_length_exceeded")
        logger.warning("an episode failed: %s", trajectory.failure)
        return AskedWrongError(f"the episode failed: {trajectory.failure}", status=500, code="episode_failed")

    async def _read(self, read: Callable[[], ReadValue], *, is_small: bool) -> ReadValue:
        return read() if is_small else await asyncio.get_running_loop().run_in_executor(self._readers, read)


def _addresses(asked: ChatQuestion) -> list[str]:
    return [picture.url for picture in asked.pictures if picture.url.startswith("https://")]
