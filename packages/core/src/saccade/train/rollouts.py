"""What a loop asks of those who play its trajectories; without a fleet the engine of this process plays them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from saccade import metric_names as metric
from saccade.engines.engine import Engine, abilities_of
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.batch import rollout_streams
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import SamplePlayer
from saccade.runs.directory import RunDirectory
from saccade.train.plan import RLStage
from saccade.types import Trajectory

if TYPE_CHECKING:
    from saccade.train.fleet import Fleet


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
            stream.name: replace(
                stream.episodes.played_as(model.media, model.view, temperature=stage.settings.temperature),
                records_experts=stage.settings.router_replay == "R3",
            )
            for stream in stage.streams
        },
    )


def restarts_of(engine: Engine) -> tuple[str, ...]:
    """What the engine started again since it was last asked."""
    take_restarts = abilities_of(engine).take_restarts
    return () if take_restarts is None else tuple(take_restarts())


def prefilled_by(engine: Engine, prefix: str = "") -> Mapping[str, float]:
    """Metrics: tokens that the engine prefilled since it was last asked, and tokens that it had; tokens that it guessed
    ahead, and those that were sampled; see ``Abilities``.

    None of an engine that does not count them, or that was not used.
    """
    found: dict[str, float] = {}
    abilities = abilities_of(engine)
    for take, *names in (
        (abilities.take_prefilled, metric.TOKENS_PREFILLED, metric.TOKENS_REUSED),
        (abilities.take_drafted, metric.TOKENS_DRAFTED, metric.DRAFTS_ACCEPTED),
    ):
        counts = (0, 0) if take is None else take()
        if counts[0]:
            found |= {f"{metric.TIME_PREFIX}{prefix}{name}": count for name, count in zip(names, counts)}
    return found


def rollouts_of(
    fleet: "Fleet | None", engine: Engine, model: VisionLanguageModel, directory: RunDirectory, *, rows: int
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
