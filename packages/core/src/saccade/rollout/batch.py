"""Batch of trajectories at one engine, each in an environment of its own."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from saccade.engines.engine import Engine, EngineLostError, ShowsOpenTurn
from saccade.envs.environment import MakeEnvironment
from saccade.errors import MachineError
from saccade.heartbeat import phase
from saccade.models.chat import Chat
from saccade.rollout.episodes import PlayedAs as PlayedAs
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.rollout.trajectory import Player, Prompts, Result
from saccade.types import Trajectory
from saccade.waiting import run_to_end

FAILURES_SHOWN = 3
ENGINE_RESTARTS = 2
"""How often a batch is played anew because its engine ended."""

logger = logging.getLogger(__name__)


def ignore_trajectory(_: Trajectory) -> None:
    """For callers that need not know of single trajectories."""


def ignore_placed(_: int, __: Trajectory) -> None:
    """For callers that need not know of single trajectories and their places."""


async def rollout(
    requests: Sequence[RolloutRequest],
    *,
    engine: Engine,
    chat: Chat,
    streams: Mapping[str, PlayedAs],
    on_finished: Callable[[Trajectory], None] = ignore_trajectory,
    on_placed: Callable[[int, Trajectory], None] = ignore_placed,
) -> list[Trajectory]:
    """One trajectory per request, in the order of the requests; all streams are one batch of the engine.

    Each trajectory has its own environment from its stream's ``make_env``, at work in a pool of threads: a slow tool
    delays its own trajectory. A trajectory whose environment fails ends ``failed`` and the others go on. A batch whose
    engine ends is played anew; any other error of the engine is raised. ``on_finished`` is called once with each
    trajectory as it ends, in no fixed order, and ``on_placed`` with the place of its request as well.
    """
    finished: set[int] = set()

    def on_first_finished(index: int, trajectory: Trajectory) -> None:
        if index not in finished:
            finished.add(index)
            on_finished(trajectory)
            on_placed(index, trajectory)

    for restarts_left in reversed(range(ENGINE_RESTARTS + 1)):
        try:
            return await _play_batch(requests, engine=engine, chat=chat, streams=streams, on_finished=on_first_finished)
        except EngineLostError as error:
            if not restarts_left:
                raise MachineError(
                    f"{error}; this happened {ENGINE_RESTARTS + 1} times in a row to a batch of {len(requests)} "
                    "trajectories. If memory ran out, lower rollout.max_tokens, rl.group_size or rl.tasks_per_step"
                ) from error
            logger.warning("%s; the batch of %d trajectories is played again", error, len(requests))
    raise AssertionError("the last try returns or raises")


async def _play_batch(
    requests: Sequence[RolloutRequest],
    *,
    engine: Engine,
    chat: Chat,
    streams: Mapping[str, PlayedAs],
    on_finished: Callable[[int, Trajectory], None],
) -> list[Trajectory]:
    """One try of the whole batch."""
    threads = max((played.settings.tool_threads for played in streams.values()), default=1)
    pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="environment")

    playing = _PlayingBatch(count=len(requests))

    def run_blocking(operation: Callable[[], Result], /) -> Awaitable[Result]:
        return asyncio.get_running_loop().run_in_executor(pool, playing.in_environment(operation))

    async def play(index: int, player: Player) -> Trajectory:
        trajectory = await player.play()
        probe = streams[player.request.stream].probe
        if probe is not None and trajectory.status != "failed":
            trajectory = await probe.probed(player.request.task, trajectory, engine=engine, chat=chat)
        playing.done.add(index)
        on_finished(index, trajectory)
        return trajectory

    prompts: Prompts = {}
    with phase(playing.in_words):
        try:
            async with engine.sequences([request.label for request in requests]) as slots:
                players = [
                    Player(
                        request=request,
                        env=streams[request.stream].make_env(),
                        slot=slot,
                        chat=chat,
                        settings=streams[request.stream].settings,
                        records_experts=streams[request.stream].records_experts,
                        policy_version=engine.policy_version,
                        run_blocking=run_blocking,
                        prompts=prompts,
                    )
                    for request, slot in zip(requests, slots, strict=True)
                ]
                playing.players = players
                tasks = [asyncio.create_task(play(index, player)) for index, player in enumerate(players)]
                try:
                    trajectories = await asyncio.gather(*tasks)
                    _warn_of_failures(trajectories)
                    return trajectories
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            # Without waiting, so that a hanging tool cannot hold up the error that ends the batch.
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(kw_only=True, slots=True)
class _PlayingBatch:
    """How far a batch is, for a person who waits; nothing that is played depends on it."""

    count: int
    players: Sequence[Player] = ()
    done: set[int] = field(default_factory=set)
    """Places of those that have ended."""
    _busy: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)
    _started_s: float = field(default_factory=time.monotonic)

    def in_environment(self, operation: Callable[[], Result]) -> Callable[[], Result]:
        """The operation, counted while it is at work."""

        def counted() -> Result:
            self._count(1)
            try:
                return operation()
            finally:
                self._count(-1)

        return counted

    def in_words(self) -> str:
        """``sampling: 3 of 16 trajectories done, turn 2, 12 tokens/s, 1 in their environment``."""
        turns = [len(player.clocks) for place, player in enumerate(self.players) if place not in self.done]
        tokens = sum(_sampled(player) for player in self.players)
        speed = tokens / max(1e-9, time.monotonic() - self._started_s)
        tools = f", {self._busy} in their environment" if self._busy else ""
        done = f"{len(self.done)} of {self.count} trajectories done"
        return f"sampling: {done}, turn {1 + max(turns, default=0)}, {speed:,.1f} tokens/s{tools}"

    def _count(self, change: int) -> None:
        # Operations are at work in several threads.
        with self._counting:
            self._busy += change


def _sampled(player: Player) -> int:
    """Tokens that the policy wrote so far, those of an open turn among them."""
    ended = sum(len(segment.ids) for segment in list(player.segments) if segment.role == "action")
    return ended + (len(player.slot.sampled_so_far().ids) if isinstance(player.slot, ShowsOpenTurn) else 0)


def _warn_of_failures(trajectories: Sequence[Trajectory]) -> None:
    """The first few of a batch; when everything fails alike, hundreds of lines would hide why."""
    failed = [trajectory for trajectory in trajectories if trajectory.status == "failed"]
    for one in failed[:FAILURES_SHOWN]:
        logger.warning("trajectory %s/%s/%d failed: %s", one.task_id, one.stream, one.sample, one.failure)
    if len(failed) > FAILURES_SHOWN:
        logger.warning("%d of %d trajectories failed; each says why in its file", len(failed), len(trajectories))


def rollout_streams(
    requests: Sequence[RolloutRequest],
    *,
    engine: Engine,
    chat: Chat,
    streams: Mapping[str, PlayedAs],
    on_finished: Callable[[Trajectory], None] = ignore_trajectory,
) -> list[Trajectory]:
    """``rollout`` for callers outside an event loop."""
    return run_to_end(rollout(requests, engine=engine, chat=chat, streams=streams, on_finished=on_finished))


def rollout_batch(
    requests: Sequence[RolloutRequest],
    *,
    engine: Engine,
    chat: Chat,
    make_env: MakeEnvironment,
    settings: RolloutSettings,
    on_finished: Callable[[Trajectory], None] = ignore_trajectory,
) -> list[Trajectory]:
    """``rollout_streams`` where all streams are played alike."""
    played = PlayedAs(make_env=make_env, settings=settings)
    streams = {request.stream: played for request in requests}
    return rollout_streams(requests, engine=engine, chat=chat, streams=streams, on_finished=on_finished)
