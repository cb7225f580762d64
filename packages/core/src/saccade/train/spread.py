"""Rollouts spread over workers: whole groups to each, weights by file, and another worker for one that is lost.

Question i of a batch is played by worker i mod R, with its other questions as one batch of that worker's engine. Which
trajectories meet is so a function of the batch alone, and a share that is played again gives the same bytes.
"""

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from saccade import metric_names as metric
from saccade.config.fleet import COLLECTIVE
from saccade.engines.engine import Engine, abilities_of
from saccade.engines.weights import WeightsWriter, delete_weights, new_weights_path
from saccade.errors import MachineError
from saccade.heartbeat import phase
from saccade.media.packed import add_packed, packed_pictures
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.episodes import RolloutRequest
from saccade.train.fleet import (
    ComingWeights,
    Fleet,
    FleetPlayer,
    PlayedShard,
    SampledBy,
    Shard,
    Worker,
    WorkerShare,
    check_tries,
    result_of,
    shares_of,
)
from saccade.train.fleet_weights import LostWorkerError, sender_for
from saccade.train.plan import RLStage
from saccade.types import Trajectory

_FORGET_BYTES = 256 << 20
"""Pictures that a worker is sent before it forgets all of them."""
_FILES_KEPT = 2

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class _Seat:
    """One of the workers, by its number: the process may change."""

    worker: Worker
    sent: set[str] = field(default_factory=set)
    """Pictures that the process has."""
    sent_bytes: int = 0
    is_new: bool = True
    version: int | None = None
    """Of the weights that it was sent, where they are sent."""
    base: int | None = None
    """The number of the base that it was sent, where they are an adapter."""
    busy_s: float = 0.0
    busy_cpu_s: float = 0.0


class SpreadRollouts:
    """Rollout workers, and the engine that this process measures with."""

    has_own_weights = True

    def __init__(
        self,
        fleet: Fleet,
        engine: Engine,
        model: VisionLanguageModel,
        *,
        rows: int = 64,
        on_restart: Callable[[str], object] = logger.warning,
    ) -> None:
        """``rows`` are what a worker's engine samples side by side; ``on_restart`` is told of whatever was replaced."""
        self._fleet = fleet
        self._engine = engine
        self._abilities = abilities_of(engine)
        self._media = model.media
        self._view = model.view
        self._at_once = rows * fleet.settings.rollouts
        self._on_restart = on_restart
        self._restarts_left = fleet.settings.restarts
        self._files: list[Path] = []
        self._writer = WeightsWriter()
        self._sender = sender_for(fleet.settings, fleet.host, engine, model)
        # What a kill has left there.
        shutil.rmtree(fleet.weights, ignore_errors=True)
        self._expecting: SampledBy | None = None
        """Of the batch that is played next, where its weights change in its midst."""
        self._coming: ComingWeights | None = None
        """The name that the next weights have already."""
        self._is_closed = False
        self._meters: dict[str, float] = {}
        self._since_s = time.monotonic()
        self._seats = [_Seat(worker=fleet.start_worker(number)) for number in range(fleet.settings.rollouts)]

    def update_weights(self, model: VisionLanguageModel, version: int) -> None:
        """Writes them down at once: the model may be trained while workers play."""
        path = self._keep(model, version)
        if path is not None and self._abilities.take_weights is not None:
            self._abilities.take_weights(path, version)
        else:
            self._engine.update_weights(model, version)

    def refusal_in_flight(self) -> str | None:
        name = type(self._engine).__name__
        if self._abilities.take_weights is not None:
            return (
                f"rollout workers share the servers of {name}, which would change under the turns of all of them at "
                "once. Set fleet.rollouts=0"
            )
        if self._sender is not None:
            return (
                f"fleet.weights={COLLECTIVE} sends weights to workers between two batches alone. Leave fleet.weights "
                "empty, or name a folder"
            )
        if self._abilities.expect_weights is None:
            return f"the workers' engine {name} has no method expect_weights. Use the local engine"
        return None

    def expect_weights(self, after_steps: int) -> None:
        """Names the weights that are to come, and keeps those of the batch's beginning until it is played."""
        version = self._engine.policy_version
        path = new_weights_path(self._fleet.weights, version + 1)
        self._coming = ComingWeights(path=path, version=version + 1, after_steps=after_steps)
        self._expecting = SampledBy(weights=self._files[-1], version=version, coming=self._coming)

    def begin_with(self, model: VisionLanguageModel) -> None:
        """The weights that a run begins with, or goes on from."""
        self._keep(model, self._engine.policy_version)

    def play(self, stage: RLStage, requests: Sequence[RolloutRequest], questions: Sequence[int]) -> list[Trajectory]:
        """As ``PolicyRollouts.play``. MachineError when workers are lost again and again."""
        played: dict[int, Trajectory] = {}
        episodes = {stream.name: stream.episodes for stream in stage.streams}
        sampled_by, self._expecting = self._expecting, None
        for places, result in self.shares(stage.name, requests, questions, sampled_by=sampled_by):
            for name, calls in result.latencies.items():
                for tool, seconds in calls:
                    episodes[name].latencies.record(tool, seconds)
            played.update(zip(places, result.trajectories, strict=True))
        return [played[place] for place in range(len(requests))]

    def player(self, stage: str) -> FleetPlayer:
        return FleetPlayer(shares=partial(self.shares, stage, evaluates=True), view=self._view, at_once=self._at_once)

    def shares(
        self,
        stage: str,
        requests: Sequence[RolloutRequest],
        questions: Sequence[int],
        *,
        evaluates: bool = False,
        sampled_by: SampledBy | None = None,
    ) -> Iterator[tuple[Sequence[int], PlayedShard]]:
        """Each worker's share as it is done, and the places of its requests; pictures are in the run's store then.

        They are sampled with the newest weights where ``sampled_by`` does not say otherwise.
        """
        newest = SampledBy(
            weights=self._files[-1] if self._sender is None else None, version=self._engine.policy_version
        )
        shares: dict[Future[PlayedShard], tuple[int, WorkerShare]] = {}
        dealt = shares_of(questions, len(self._seats))
        self._send_weights(tuple(dealt))
        for number, places in dealt.items():
            share = WorkerShare(stage=stage, evaluates=evaluates, places=places, sampled_by=sampled_by or newest)
            shares[self._begin_share(number, share, requests)] = number, share
        while shares:
            next_s = min(share.until_s for _, share in shares.values())
            with phase(lambda: f"sampling: {len(shares)} of {len(dealt)} rollout workers are at work"):
                done, _ = wait(shares, timeout=max(0.0, next_s - time.monotonic()), return_when=FIRST_COMPLETED)
            overdue = [one for one, (_, share) in shares.items() if self._is_overdue(share)]
            for future in [*done, *(one for one in overdue if one not in done)]:
                number, share = shares.pop(future)
                try:
                    result = result_of(future)
                except LostWorkerError as error:
                    check_tries(number, share, str(error))
                    self._replace(number, str(error), "another one plays its share again")
                    shares[self._begin_share(number, share, requests)] = number, share
                    continue
                self._take(number, result)
                yield share.places, result

    def idle(self, learners_waited_s: float) -> Mapping[str, float]:
        now_s = time.monotonic()
        elapsed_s, self._since_s = now_s - self._since_s, now_s
        busy_s = [seat.busy_s for seat in self._seats]
        busy_cpu_s = max(seat.busy_cpu_s for seat in self._seats)
        for seat in self._seats:
            seat.busy_s = seat.busy_cpu_s = 0.0
        meters, self._meters = self._meters, {}
        return {
            metric.LEARNERS_IDLE_S: learners_waited_s,
            metric.ROLLOUTS_IDLE_S: max(0.0, elapsed_s - sum(busy_s) / len(busy_s)),
            metric.ROLLOUTS_BUSY_S: max(busy_s),
            metric.ROLLOUTS_BUSY_CPU_S: busy_cpu_s,
            **{f"{metric.TIME_PREFIX}fleet/{name}": value for name, value in meters.items()},
        }

    def close(self) -> None:
        self._is_closed = True
        # First: workers that wait for weights in the midst of a batch look whether the folder is there.
        shutil.rmtree(self._fleet.weights, ignore_errors=True)
        for seat in self._seats:
            seat.worker.leave()
        for seat in self._seats:
            seat.worker.end()

    def _keep(self, model: VisionLanguageModel, version: int) -> Path | None:
        """Weights for workers, in a file or in memory."""
        if self._sender is not None:
            self._sender.keep(model, version)
            return None
        coming, self._coming = self._coming, None
        path = new_weights_path(self._fleet.weights, version) if coming is None else coming.path
        self._writer.write(model, path)
        self._files.append(path)
        while len(self._files) > _FILES_KEPT:
            delete_weights(self._files.pop(0), kept=self._files)
        return path

    def _send_weights(self, numbers: Sequence[int]) -> None:
        """Sends the newest weights to those of the workers that lack them, where they are sent; until all have them."""
        while self._sender is not None:
            version = self._sender.version
            lacking = [number for number in numbers if self._seats[number].version != version]
            if not lacking:
                return
            seats = [self._seats[number] for number in lacking]
            with_base = any(seat.base != self._sender.base for seat in seats)
            lost = self._sender.send([seat.worker for seat in seats], with_base=with_base)
            for place, why in lost.items():
                self._replace(lacking[place], why, "another one is sent the weights")
            if not lost:
                for seat in seats:
                    seat.version, seat.base = version, self._sender.base

    def _is_overdue(self, share: WorkerShare) -> bool:
        """Whether a share is given up; while the learner owes it weights, the time does not count."""
        if share.until_s > time.monotonic():
            return False
        coming = share.sampled_by.coming
        if coming is None or coming.path.is_file():
            return True
        share.until_s = time.monotonic() + self._fleet.settings.play_timeout_s
        return False

    def _begin_share(
        self, number: int, share: WorkerShare, requests: Sequence[RolloutRequest]
    ) -> "Future[PlayedShard]":
        self._send_weights([number])
        seat, settings = self._seats[number], self._fleet.settings
        own = tuple(requests[place] for place in share.places)
        share.tries += 1
        share.until_s = time.monotonic() + settings.play_timeout_s + (settings.start_timeout_s if seat.is_new else 0.0)
        forgets = seat.sent_bytes > _FORGET_BYTES
        if forgets:
            seat.sent.clear()
            seat.sent_bytes = 0
        hashes = {image.hash for request in own for image in request.task.images} - seat.sent
        pictures = packed_pictures(self._media, hashes)
        seat.sent |= hashes
        seat.sent_bytes += sum(map(len, pictures.values()))
        return seat.worker.play(
            Shard(
                stage=share.stage,
                evaluates=share.evaluates,
                requests=own,
                weights=share.sampled_by.weights,
                version=share.sampled_by.version,
                coming=share.sampled_by.coming,
                pictures=pictures,
                forgets=forgets,
            )
        )

    def _take(self, number: int, played: PlayedShard) -> None:
        seat = self._seats[number]
        seat.is_new = False
        seat.busy_s += played.busy_s
        seat.busy_cpu_s += played.busy_cpu_s
        add_packed(self._media, played.pictures)
        for line in played.restarts:
            self._on_restart(f"rollout worker {number}: {line}")
        for name, value in played.meters.items():
            self._meters[name] = self._meters.get(name, 0.0) + value

    def _replace(self, number: int, why: str, done: str) -> None:
        """Another process for the number; MachineError when the budget is spent."""
        self._seats[number].worker.end()
        if self._is_closed:
            raise MachineError("the run has ended")
        if not self._restarts_left:
            raise MachineError(
                f"rollout worker {number}: {why}; fleet.restarts={self._fleet.settings.restarts} of them were replaced "
                "already. Fix the cause, then continue with --resume"
            )
        self._restarts_left -= 1
        self._on_restart(f"rollout worker {number}: {why}; {done}")
        self._seats[number] = _Seat(worker=self._fleet.start_worker(number))
