"""A fleet of rollout workers: what goes to a worker and comes back. ``SpreadRollouts`` hands whole groups to them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from saccade.config.fleet import FleetSettings
from saccade.engines.engine import Engine, abilities_of
from saccade.engines.weights import give_weights
from saccade.errors import MachineError, SaccadeError
from saccade.media.resize import ViewRule
from saccade.rollout.batch import PlayedAs
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import OnPlayed, PlayedSample, SampleCost
from saccade.train.fleet_weights import LostWorkerError, Receives
from saccade.train.rollouts import InProcess as InProcess
from saccade.train.rollouts import PolicyRollouts as PolicyRollouts
from saccade.types import Trajectory

_LOOK_S = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class ComingWeights:
    """Weights that a share's batch takes over in its midst: a file whose name is known before it is there.

    A share that is played again finds the same weights at the same decode step, whether they are there by then or not.
    Nothing has to be told to a worker that is at work.
    """

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One worker's share of a batch."""

    stage: str
    evaluates: bool = False
    """Whether the stage's evaluation is played, and not what is learned from."""
    requests: tuple[RolloutRequest, ...]
    weights: Path | None
    """File of the weights to sample with; None where they were sent by a collective."""
    version: int
    """Of the weights."""
    coming: ComingWeights | None = None
    """Those that it goes on with in its midst."""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """Packed, by hash: the questions' own that this worker has not seen yet."""
    forgets: bool = False
    """Whether the pictures so far are needed no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedShard:
    """What a worker made of a shard."""

    trajectories: tuple[Trajectory, ...]
    costs: tuple[SampleCost, ...] = ()
    """Of each trajectory of an evaluation."""
    pictures: Mapping[str, bytes]
    """Packed, by hash: those that tools made."""
    busy_s: float
    """Seconds in which it was played."""
    busy_cpu_s: float
    """Processor seconds of the worker's process in it."""
    latencies: Mapping[str, Sequence[tuple[str, float]]]
    """Calls of tools by the stream: name and seconds."""
    meters: Mapping[str, float]
    """What the plan's resources counted there."""
    restarts: tuple[str, ...] = ()
    """What the worker's engine had to start again, in words."""


class Worker(Receives, Protocol):
    """A rollout worker from afar."""

    def play(self, shard: Shard) -> "Future[PlayedShard]":
        """Raises ``LostWorkerError`` when the worker ends before it is done."""
        ...

    def leave(self) -> None:
        """Asks it to close what it has opened, and returns at once; ``end`` then gives it a moment for that."""
        ...

    def end(self) -> None:
        """Ends it, by force; ending twice is allowed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What a run that is spread over processes is given by whoever started them."""

    settings: FleetSettings
    start_worker: Callable[[int], Worker]
    """Starts the rollout worker of a number, without waiting until it is ready."""
    weights: Path
    """Folder for weights that all workers see."""
    host: str = "127.0.0.1"
    """This machine as workers reach it, where weights are sent by a collective."""
    restarted: tuple[str, ...] = ()
    """Restarts that this process is the outcome of, in words."""


TRIES = 3
"""How often one share of a batch is begun, each time with another worker."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledBy:
    """The weights of a batch, whoever plays its shares and when."""

    weights: Path | None
    """None where they are sent."""
    version: int
    coming: ComingWeights | None = None


@dataclass(kw_only=True)
class WorkerShare:
    """Part of a batch that one worker plays at a time."""

    stage: str
    evaluates: bool
    places: tuple[int, ...]
    """Of its requests in the batch."""
    sampled_by: SampledBy
    until_s: float = 0.0
    tries: int = 0


def shares_of(questions: Sequence[int], workers: int) -> dict[int, tuple[int, ...]]:
    """The places of each worker's requests, by its number; a worker without a question has no share."""
    places: dict[int, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question % workers, []).append(place)
    return {number: tuple(of) for number, of in sorted(places.items())}


def check_tries(number: int, share: WorkerShare, why: str) -> None:
    """MachineError when this share has ended every worker that was given it."""
    if share.tries >= TRIES:
        raise MachineError(
            f"rollout worker {number}: {why}; this happened {TRIES} times in a row to its share of "
            f"{len(share.places)} trajectories. If memory ran out, lower rl.group_size, rl.tasks_per_step or "
            "rollout.max_tokens, or use more rollout workers"
        )


def result_of(future: "Future[PlayedShard]") -> PlayedShard:
    if not future.done():
        raise LostWorkerError("it gave no answer in time (fleet.play_timeout_s)")
    return future.result()


class PlayShares(Protocol):
    """Workers' shares of some requests as they are done, with the places of the requests in them."""

    def __call__(
        self, requests: Sequence[RolloutRequest], questions: Sequence[int], /
    ) -> Iterator[tuple[Sequence[int], PlayedShard]]: ...


@dataclass(frozen=True, kw_only=True)
class FleetPlayer:
    """A ``SamplePlayer``; workers find by their own plan how an evaluation is played."""

    shares: PlayShares
    view: ViewRule
    at_once: int

    def play(self, requests: Sequence[RolloutRequest], how: PlayedAs, on_played: OnPlayed) -> list[PlayedSample]:
        """``on_played`` is told of a worker's share when all of it is done. MachineError as workers are lost."""
        numbers = {task: number for number, task in enumerate(dict.fromkeys(one.task.id for one in requests))}
        finished: dict[int, PlayedSample] = {}
        for places, played in self.shares(requests, [numbers[one.task.id] for one in requests]):
            for place, trajectory, cost in zip(places, played.trajectories, played.costs, strict=True):
                finished[place] = PlayedSample(trajectory=trajectory, cost=cost)
                on_played(place, finished[place])
        return [finished[place] for place in range(len(requests))]
