"""Episodes of all requests at one engine, which has a thread and an event loop of its own.

The server's loop is so free to answer while a step of a large model runs.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from saccade.engines.engine import Completion, Engine, OpenBatch, Sampling, SequenceSlot, abilities_of
from saccade.envs.environment import Environment
from saccade.errors import SaccadeError, UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.chat import Chat
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.rollout.trajectory import Player, Result
from saccade.serving.live import LiveEpisode, LiveSlot
from saccade.serving.watched import OnTurn, WatchedEnvironment
from saccade.types import ImageRef, Trajectory

if TYPE_CHECKING:
    from saccade.engines.rows import EngineWork
    from saccade.models.vlm import VisionLanguageModel

logger = logging.getLogger(__name__)


AddGauge = Callable[[str, str, Callable[[], float]], None]
_TAG = re.compile(r"<[^<>\s]{1,60}>")
_SHORT_ANSWER = 64
"""Characters of an answer whose tokens are remembered: encoding one takes longer than many a turn's parsing."""
_ENVIRONMENT_TAGS = ("<tool_response>", "</tool_response>")


@runtime_checkable
class CountsWork(Protocol):
    """An engine that counts what it has done."""

    @property
    def work(self) -> "EngineWork": ...


def spelled_tokens(model: "VisionLanguageModel") -> tuple[str, ...]:
    """Tokens of a model that no text of a client may spell: special ones and tags."""
    added = model.tokenizer.added_tokens_decoder.values()
    return tuple(token.content for token in added if token.special or _TAG.fullmatch(token.content))


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSampling:
    """How one request samples."""

    temperature: float | None = None
    """None is as the agent is set."""
    top_p: float | None = None
    top_k: int | None = None
    max_action_tokens: int | None = None
    """Limit of all that the model writes in an episode."""

    def over(self, settings: RolloutSettings) -> RolloutSettings:
        """The agent's settings with what the request says."""
        return replace(
            settings,
            temperature=settings.temperature if self.temperature is None else self.temperature,
            top_p=settings.top_p if self.top_p is None else self.top_p,
            top_k=settings.top_k if self.top_k is None else max(0, self.top_k),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedEpisode:
    """An episode, and its reply cut to what was asked for."""

    trajectory: Trajectory
    prompt_tokens: int
    """Of the prompt and all observations."""
    completion_tokens: int
    """Of all turns."""
    answer: str
    """Empty where the episode ended without one."""
    answer_tokens: int
    is_cut: bool


class Agent(Protocol):
    """Plays questions; any number at a time, each a task of the caller's loop that may be cancelled."""

    @property
    def max_prompt_tokens(self) -> int: ...

    @property
    def special_tokens(self) -> Sequence[str]:
        """Tokens and tags that no text of a client may spell."""
        ...

    async def play(
        self,
        request: RolloutRequest,
        media: MediaStore,
        sampled: RequestSampling,
        *,
        max_reply_tokens: int | None,
        on_turn: OnTurn,
        live: LiveEpisode | None = None,
    ) -> PlayedEpisode:
        """One episode; ``on_turn`` is told of each turn as it ends, from any thread. SaccadeError when it cannot be.

        One that is ``live`` is asked in its own way, and followed token by token.
        """
        ...

    def start(self) -> None:
        """Returns when requests may come."""
        ...

    def add_gauges(self, add: AddGauge) -> None:
        """Gives the server's metrics numbers of its own."""
        ...

    def close(self) -> None:
        """Ends all episodes. Closing twice is allowed."""
        ...


class EngineAgent:
    """An agent whose policy runs at an engine of this process."""

    def __init__(
        self, engine: Engine, spec: EpisodeSpec, *, chat: Chat, view: ViewRule, special_tokens: Sequence[str] = ()
    ) -> None:
        open_batch = abilities_of(engine).open_batch
        if open_batch is None:
            raise UserError(f"{type(engine).__name__} plays only whole batches and cannot be served; use LocalEngine")
        self.engine = engine
        self.spec = spec
        self.special_tokens = tuple(sorted({*special_tokens, *_ENVIRONMENT_TAGS}))
        self._open_batch = open_batch
        self._chat = chat
        self._view = view
        self._batch: OpenBatch | None = None
        self._ids_of_short = lru_cache(maxsize=1024)(self._ids_of)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._pool = ThreadPoolExecutor(max_workers=spec.rollout.tool_threads, thread_name_prefix="environment")
        self._stop = asyncio.Event()
        self._is_ready = threading.Event()

    @property
    def max_prompt_tokens(self) -> int:
        return self.spec.rollout.max_tokens

    def add_gauges(self, add: AddGauge) -> None:
        """Work of a local engine: tokens by steps is how full its batches are."""
        if isinstance(engine := self.engine, CountsWork):
            add("agent_engine_decode_steps", "Steps of the engine so far", lambda: engine.work.decode_steps)
            add("agent_engine_tokens_sampled", "Tokens sampled so far", lambda: engine.work.tokens_sampled)
            add("agent_engine_prompts_shared", "Prompts whose KV cache was reused", lambda: engine.work.prompts_shared)
            add("agent_engine_tokens_reused", "Prompt tokens whose KV cache was", lambda: engine.work.tokens_reused)

    def start(self) -> None:
        """Returns when requests may come."""
        self._thread.start()
        self._is_ready.wait()

    def close(self) -> None:
        if self._thread.is_alive():
            with suppress(RuntimeError):  # It may end by itself meanwhile.
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def play(
        self,
        request: RolloutRequest,
        media: MediaStore,
        sampled: RequestSampling,
        *,
        max_reply_tokens: int | None,
        on_turn: OnTurn,
        live: LiveEpisode | None = None,
    ) -> PlayedEpisode:
        """One episode; cancelling it gives its row at the engine back."""
        playing: Future[PlayedEpisode] = asyncio.run_coroutine_threadsafe(
            self._play(request, media, sampled, max_reply_tokens, on_turn, live), self._loop
        )
        return await asyncio.wrap_future(playing)

    async def _play(
        self,
        request: RolloutRequest,
        media: MediaStore,
        sampled: RequestSampling,
        max_reply_tokens: int | None,
        on_turn: OnTurn,
        live: LiveEpisode | None,
    ) -> PlayedEpisode:
        if self._batch is None:
            raise SaccadeError("the engine is restarting; ask again")
        spec = self.spec if live is None else live.spec
        env: Environment = spec.environment(media, self._view, is_timed=False)
        slot: SequenceSlot = self._batch.join(request.label)
        if sampled.max_action_tokens is not None:
            slot = _BoundedSlot(slot, sampled.max_action_tokens)
        if live is not None:
            slot = LiveSlot(slot, live, self._chat, self.engine)
        trajectory = await Player(
            request=request,
            env=WatchedEnvironment(env, on_turn),
            slot=slot,
            chat=self._chat,
            settings=sampled.over(spec.rollout),
            policy_version=self.engine.policy_version,
            run_blocking=self._run_blocking,
            prompts={},
        ).play()
        return self._played_episode(trajectory, max_reply_tokens)

    def _played_episode(self, trajectory: Trajectory, max_reply_tokens: int | None) -> PlayedEpisode:
        answer = trajectory.answer or ""
        ids = self._ids_of_short(answer) if len(answer) <= _SHORT_ANSWER else self._ids_of(answer)
        is_cut = max_reply_tokens is not None and len(ids) > max_reply_tokens
        if is_cut:
            answer = self._chat.tokenizer.decode(ids[:max_reply_tokens])
        tokens = sum(len(segment.ids) for segment in trajectory.segments)
        written = sum(len(segment.ids) for segment in trajectory.segments if segment.role == "action")
        return PlayedEpisode(
            trajectory=trajectory,
            prompt_tokens=tokens - written,
            completion_tokens=written,
            answer=answer,
            answer_tokens=min(len(ids), max_reply_tokens or len(ids)),
            is_cut=is_cut,
        )

    def _ids_of(self, answer: str) -> list[int]:
        return self._chat.tokenizer.encode(answer, add_special_tokens=False)

    def _run_blocking(self, operation: Callable[[], Result], /) -> Awaitable[Result]:
        return self._loop.run_in_executor(self._pool, operation)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._is_ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        stopping = asyncio.ensure_future(self._stop.wait())
        while not stopping.done():
            async with self._open_batch() as batch:
                self._batch = batch
                self._is_ready.set()
                ended = asyncio.ensure_future(batch.ended())
                await asyncio.wait([stopping, ended], return_when=asyncio.FIRST_COMPLETED)
                self._batch = None
                if not stopping.done():
                    logger.error("the engine stopped with an error; it restarts")
                ended.cancel()
        playing = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)
        await self.engine.aclose()


class _BoundedSlot:
    """A slot whose turns together have at most so many tokens; a turn that finds none left ends by its length."""

    def __init__(self, slot: SequenceSlot, most: int) -> None:
        self._slot = slot
        self._left = most

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        if self._left == 0:
            return Completion(ids=(), logprobs=(), finish="length")
        bounded = replace(sampling, max_tokens=min(sampling.max_tokens, self._left))
        completion = await self._slot.sample(ids, images, bounded)
        self._left -= len(completion.ids)
        return completion

    def close(self) -> None:
        self._slot.close()
