"""A fleet of rollout workers: what goes to a worker and comes back. ``SpreadRollouts`` hands whole groups to them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from saccade.config.fleet import FleetSettings
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import SampleCost
from saccade.train.coming_weights import ComingWeights
from saccade.train.fleet_weights import Receives
from saccade.train.rollouts import InProcess as InProcess
from saccade.train.rollouts import PolicyRollouts as PolicyRollouts
from saccade.types import Trajectory


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
