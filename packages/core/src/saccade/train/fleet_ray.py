"""A fleet of Ray actors: learners that meet in one process group, and rollout workers.

This module and ``ray_cluster`` alone import Ray. Plain actors and placement groups: Ray starts processes, carries
calls and says who has died. It restarts nothing (``max_restarts=0``), since an actor that comes back by itself has old
weights and no group: a lost rollout worker is replaced by the first learner, a lost learner ends its group, and another
group goes on from the newest checkpoint.
"""

import logging
import math
import os
import socket
import time
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from saccade.errors import MachineError, SaccadeError, UserError, missing_extra
from saccade.evaluation.summary import StageSummary
from saccade.learner.processes import LostRanksError
from saccade.train.fleet import PlayedShard, Shard
from saccade.train.fleet_weights import Invitation, LostWorkerError
from saccade.train.job import FailedPart, GroupPlace, Job, learn, log_here, rollout_worker, sendable_error
from saccade.train.ray_cluster import asked_of, cluster, ray_words, reserve

try:
    import ray
    from ray.exceptions import RayError
    from ray.util.placement_group import PlacementGroup
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
except ImportError as error:
    raise missing_extra("cluster", "ray", needed_for="a run with rollout workers (fleet.rollouts)") from error

POLL_S = 1.0
PEERS_END_S = 60.0
"""How long the first learner may go on after another one has failed."""
DEATH_IS_TOLD_S = 10.0
"""How long Ray may take to say that a process has died, after its peers have noticed."""
LEAVES_WITHIN_S = 5.0
"""How long a rollout worker that was asked to close has for it before it is killed."""

_FOR_WORKERS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY")

logger = logging.getLogger(__name__)


class LearnerActor:
    """One learner, in a process of its own."""

    def address(self, is_local: bool) -> tuple[str, int]:
        """Where the group may meet: this machine and a port that is free now."""
        host: str = "127.0.0.1" if is_local else ray.util.get_node_ip_address()
        with socket.socket() as listening:
            listening.bind((host, 0))
            return host, int(listening.getsockname()[1])

    def learn(
        self, job: Job, place: GroupPlace, restarted: tuple[str, ...]
    ) -> "Mapping[str, StageSummary] | FailedPart":
        log_here(is_quiet=job.is_quiet or place.rank > 0)
        seats = _Seats(job)
        try:
            return learn(job, place, seats.start, restarted)
        except Exception as error:
            return FailedPart(error=sendable_error(error))


class RolloutActor:
    """One rollout worker, in a process of its own."""

    def __init__(self, job: Job) -> None:
        log_here(is_quiet=True)
        self._opening: SaccadeError | None = None
        try:
            self._worker = rollout_worker(job)
        except Exception as error:  # Said with the first shard: an actor whose constructor fails hides its reason.
            self._opening = sendable_error(error)

    def receive(self, invitation: Invitation) -> FailedPart | None:
        if self._opening is not None:
            return FailedPart(error=self._opening)
        try:
            self._worker.receive(invitation)
        except Exception as error:
            return FailedPart(error=sendable_error(error))
        return None

    def play(self, shard: Shard) -> PlayedShard | FailedPart:
        if self._opening is not None:
            return FailedPart(error=self._opening)
        try:
            return self._worker.play(shard)
        except Exception as error:
            return FailedPart(error=sendable_error(error))

    def close(self) -> None:
        if self._opening is None:
            self._worker.close()


class RayWorker:
    """A ``Worker``: the actor of one rollout worker."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._left: Any = None
        self._until_s = 0.0

    def play(self, shard: Shard) -> "Future[PlayedShard]":
        return _handed_on(self._actor.play.remote(shard))

    def receive(self, invitation: Invitation) -> "Future[None]":
        return _handed_on(self._actor.receive.remote(invitation))

    def leave(self) -> None:
        self._left = self._actor.close.remote()
        self._until_s = time.monotonic() + LEAVES_WITHIN_S

    def end(self) -> None:
        if self._left is not None:
            ray.wait([self._left], timeout=max(0.0, self._until_s - time.monotonic()))
        ray.kill(self._actor, no_restart=True)


class _Seats:
    """Starts rollout workers, on the machines that their placement group was given."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._group: PlacementGroup | None = None

    def start(self, number: int) -> RayWorker:
        fleet = self._job.fleet
        asked = asked_of(fleet.rollout_cpus, fleet.rollout_gpus)
        if self._group is None:
            self._group = reserve(fleet, asked, fleet.rollouts, "SPREAD", "rollout")
        options = _options(self._job, asked, self._group, number)
        return RayWorker(ray.remote(RolloutActor).options(**options).remote(self._job))


class _Group:
    """The learners as one group, which ends as a whole."""

    def __init__(self, job: Job, placed: PlacementGroup | None, restarted: tuple[str, ...]) -> None:
        fleet = job.fleet
        asked = asked_of(fleet.learner_cpus, fleet.learner_gpus)
        self._started_s = fleet.start_timeout_s
        self._actors = [
            ray.remote(LearnerActor).options(**_options(job, asked, placed, rank)).remote()
            for rank in range(fleet.learners)
        ]
        host, port = self._get(self._actors[0].address.remote(fleet.is_local), fleet.start_timeout_s)
        self._parts = {
            rank: actor.learn.remote(job, GroupPlace(rank=rank, host=host, port=port), restarted)
            for rank, actor in enumerate(self._actors)
        }

    def outcome(self) -> Mapping[str, StageSummary]:
        """What the first learner gives. Raises what it raises, or ``LostRanksError`` when a process has died."""
        until_s = math.inf
        while True:
            for rank in self._ended_ranks(POLL_S):
                result = self._part_of(rank)
                if rank == 0:
                    return self._leads(result)
                if isinstance(result, FailedPart):
                    until_s = min(until_s, time.monotonic() + PEERS_END_S)
            if time.monotonic() > until_s:
                raise MachineError("a learner has failed, and the first one did not end; continue with --resume")

    def _ended_ranks(self, within_s: float) -> list[int]:
        done, _ = ray.wait(list(self._parts.values()), num_returns=1, timeout=within_s)
        return sorted(rank for rank, part in self._parts.items() if part in done)

    def end(self) -> None:
        for actor in self._actors:
            ray.kill(actor, no_restart=True)

    def _leads(self, result: object) -> Mapping[str, StageSummary]:
        if not isinstance(result, FailedPart):
            assert isinstance(result, Mapping)
            return result
        if not isinstance(result.error, UserError):
            # A peer that noticed a death speaks before Ray does.
            until_s = time.monotonic() + DEATH_IS_TOLD_S
            while self._parts and (ended := self._ended_ranks(max(0.0, until_s - time.monotonic()))):
                for rank in ended:
                    self._part_of(rank)
        raise result.error

    def _part_of(self, rank: int) -> object:
        """What a rank gave; ``LostRanksError`` when its process has died."""
        return self._get(self._parts.pop(rank), self._started_s, f"learner {rank}: ")

    def _get(self, reference: Any, timeout_s: float, who: str = "learner 0: ") -> Any:
        try:
            return ray.get(reference, timeout=timeout_s)
        except RayError as error:
            raise LostRanksError(f"{who}{ray_words(error)}") from error


def train_on_ray(job: Job) -> Mapping[str, StageSummary]:
    """Runs a job on a cluster until it is done, with another group of learners for each that is lost.

    Raises what the run raises, or MachineError when the budget of restarts is spent or resources are missing.
    """
    fleet, restarted = job.fleet, list[str]()
    with cluster(fleet):
        placed = reserve(fleet, asked_of(fleet.learner_cpus, fleet.learner_gpus), fleet.learners, "PACK", "learner")
        while True:
            group: _Group | None = None
            try:
                group = _Group(job, placed, tuple(restarted))
                return group.outcome()
            except LostRanksError as error:
                if len(restarted) >= fleet.restarts:
                    raise MachineError(
                        f"{error}; fleet.restarts={fleet.restarts} groups of learners were replaced already. Fix the "
                        "cause, then continue with --resume"
                    ) from error
                restarted.append(f"{error}; another group of learners goes on from the newest checkpoint")
                logger.warning("%s", restarted[-1])
            finally:
                if group is not None:
                    group.end()


def _options(job: Job, asked: Mapping[str, float], group: PlacementGroup | None, index: int) -> dict[str, object]:
    options: dict[str, object] = {
        "num_cpus": asked.get("CPU", 0),
        "num_gpus": asked.get("GPU", 0),
        "max_restarts": 0,
        "max_task_retries": 0,
    }
    if group is not None:
        options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(group, index)
    if not job.fleet.is_local:
        # On this machine they inherit it.
        variables = {name: os.environ[name] for name in _FOR_WORKERS if name in os.environ}
        options["runtime_env"] = {"env_vars": variables}
    return options


def _handed_on(reference: Any) -> "Future[Any]":
    """What an actor answers, by our own errors."""
    asked: Future[Any] = Future()
    asked.set_running_or_notify_cancel()
    answered: Future[object] = reference.future()
    answered.add_done_callback(partial(_hand_on, asked))
    return asked


def _hand_on(asked: "Future[Any]", answered: "Future[object]") -> None:
    error = answered.exception()
    if error is not None:
        asked.set_exception(LostWorkerError(ray_words(error)))
        return
    result = answered.result()
    if isinstance(result, FailedPart):
        asked.set_exception(result.error)
    else:
        asked.set_result(result)
