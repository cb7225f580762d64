"""The doors of a fleet: what a loop asks of those who play its trajectories; what goes to a worker and comes back.

``InProcess`` plays with the engine of this process, as a run without a fleet does; ``SpreadRollouts`` hands whole
groups to workers. Learners have a door of their own, ``PolicyLearner``.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from saccade.config.fleet import FleetSettings
from saccade.engines.engine import Engine, abilities_of
from saccade.learner.processes import Company
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.batch import rollout_streams
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import SampleCost, SamplePlayer
from saccade.runs.directory import RunDirectory
from saccade.train.coming_weights import ComingWeights
from saccade.train.fleet_weights import Receives
from saccade.train.plan import RLStage
from saccade.types import Json, Trajectory


class PolicyRollouts(Protocol):
    """Those who play the trajectories of a stage."""

    @property
    def has_own_weights(self) -> bool:
        """Whether they may play while the learner works: ``update_weights`` alone changes what they sample with."""
        ...

    def play(self, stage: RLStage, requests: Sequence[RolloutRequest], questions: Sequence[int]) -> list[Trajectory]:
        """One trajectory per request, in their order; ``questions`` numbers the question that each is about.

        Requests of one question are played together. Pictures of the trajectories are in the run's store afterwards.
        """
        ...

    def player(self, stage: str) -> SamplePlayer | None:
        """Plays evaluations of the stage, or those in its midst; None where the engine of this process does."""
        ...

    def update_weights(self, model: VisionLanguageModel, version: int) -> None:
        """Everything that is played from here on is sampled with these weights."""
        ...

    def refusal_in_flight(self) -> str | None:
        """Why weights cannot change in the midst of what is played, and what to use; None where they can."""
        ...

    def expect_weights(self, after_steps: int) -> None:
        """What is played next goes on with the weights that ``update_weights`` gives, after so many decode steps.

        The call comes before ``play`` begins, which another thread may do; ``update_weights`` comes once after it.
        """
        ...

    def idle(self, learners_waited_s: float) -> Mapping[str, float]:
        """Metrics of the step that is over: who waited for whom. ``learners_waited_s`` is the learners' part."""
        ...

    def close(self) -> None: ...


class InProcess:
    """The engine of this process."""

    def __init__(self, engine: Engine, model: VisionLanguageModel) -> None:
        self._engine = engine
        self._model = model

    @property
    def has_own_weights(self) -> bool:
        return abilities_of(self._engine).has_own_weights

    def play(self, stage: RLStage, requests: Sequence[RolloutRequest], questions: Sequence[int]) -> list[Trajectory]:
        return play_here(stage, requests, engine=self._engine, model=self._model)

    def player(self, stage: str) -> SamplePlayer | None:
        return None

    def update_weights(self, model: VisionLanguageModel, version: int) -> None:
        self._engine.update_weights(model, version)

    def refusal_in_flight(self) -> str | None:
        if abilities_of(self._engine).expect_weights is not None:
            return None
        return (
            f"its engine {type(self._engine).__name__} has no method expect_weights: it takes weights between two "
            "batches alone. Use ProcessEngine or VllmEngine"
        )

    def expect_weights(self, after_steps: int) -> None:
        expect_weights = abilities_of(self._engine).expect_weights
        assert expect_weights is not None
        expect_weights(after_steps)

    def idle(self, learners_waited_s: float) -> Mapping[str, float]:
        return {}

    def close(self) -> None:
        pass


def play_here(
    stage: RLStage, requests: Sequence[RolloutRequest], *, engine: Engine, model: VisionLanguageModel
) -> list[Trajectory]:
    """The trajectories of some requests of a stage, as one batch of an engine."""
    return rollout_streams(
        requests,
        engine=engine,
        chat=model.chat,
        streams={
            stream.name: stream.episodes.played_as(model.media, model.view, temperature=stage.settings.temperature)
            for stream in stage.streams
        },
    )


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


def restarts_of(engine: Engine) -> tuple[str, ...]:
    """What the engine started again since it was last asked."""
    take_restarts = abilities_of(engine).take_restarts
    return () if take_restarts is None else tuple(take_restarts())


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


def spread_over(company: Company | None, fleet: Fleet | None) -> dict[str, Json]:
    """The settings of the processes that results depend on; none where there is one process."""
    learners: dict[str, Json] = {} if company is None else {"learners": company.count, "wrap": company.sharding.wrap}
    rollouts: dict[str, Json] = (
        {} if fleet is None or not fleet.settings.rollouts else {"rollouts": fleet.settings.rollouts}
    )
    return {"fleet": {**learners, **rollouts}} if learners or rollouts else {}


def rollouts_of(
    fleet: Fleet | None, engine: Engine, model: VisionLanguageModel, directory: RunDirectory, *, rows: int
) -> PolicyRollouts:
    """Those who play a run's trajectories: the fleet's workers, or the engine here; restarts are written down."""
    for line in () if fleet is None else fleet.restarted:
        directory.note_restart(line)
    if fleet is None or not fleet.settings.rollouts:
        return InProcess(engine, model)
    from saccade.train.spread import SpreadRollouts

    spread = SpreadRollouts(fleet, engine, model, rows=rows, on_restart=directory.note_restart)
    spread.begin_with(model)
    return spread
