"""A run in progress: what its stages share, and how it is taken up where the newest checkpoint left it."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from saccade.engines.engine import Engine, EngineContext
from saccade.evaluation.summary import StageSummary
from saccade.media.store import MediaStore
from saccade.models.loading import ASKING_RECORD, TRAINED_ON_RECORD
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.asked import AskedFile, open_asked
from saccade.runs.asking import AskingRecord
from saccade.runs.checkpoints import Checkpoint, latest_checkpoint, load_checkpoint
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.progress import Progress
from saccade.runs.trained_on import TrainedOn, read_trained_on
from saccade.train.asking_of_plan import asking_of
from saccade.train.plan import EpisodeSpec, Plan, Stage
from saccade.types import Attempt, Json, Task
from saccade.waiting import run_to_end

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedPass:
    """An evaluation's trajectories, and what they are the outcome of."""

    name: str
    episodes: EpisodeSpec
    tasks: tuple[Task, ...]
    attempts: tuple[Attempt, ...]


@dataclass(kw_only=True)
class RunState:
    """What all stages of a run share."""

    plan: Plan
    seed: int
    media: MediaStore
    directory: RunDirectory
    metrics: MetricsWriter
    progress: Progress
    stages: tuple[str, ...]
    model: VisionLanguageModel
    engine: Engine
    reached: Checkpoint | None
    """The newest checkpoint; None before the first."""
    asking: AskingRecord
    """How the plan asks; every checkpoint carries it."""
    trained: TrainedOn
    asked: AskedFile
    summaries: dict[str, StageSummary] = field(default_factory=dict)
    passes: list[NamedPass] = field(default_factory=list)
    """Greedy passes since the last step of training; what is equal to one of them need not be played again."""

    @property
    def records(self) -> Mapping[str, Mapping[str, Json]]:
        """What a checkpoint carries for whoever uses the policy."""
        return {ASKING_RECORD: self.asking.as_json(), TRAINED_ON_RECORD: self.trained.as_json()}


def open_run(
    plan: Plan, directory: RunDirectory, stack: ExitStack, *, media: MediaStore, seed: int, progress: Progress
) -> RunState:
    """The run as its newest checkpoint left it, with all that came later deleted; or a new one."""
    paths = directory.paths
    stages = tuple(stage.name for stage in plan.stages)
    reached = latest_checkpoint(paths.checkpoints, stages)
    position = None if reached is None else reached.position
    if reached is not None:
        logger.info("continuing from %s", reached.path)
    model = plan.build_model() if reached is None else load_checkpoint(reached, media, plan.load)
    directory.rewind(position, stages)
    metrics = stack.enter_context(
        MetricsWriter.open(paths.metrics, stages=stages, keep_until=position, tensorboard=paths.tensorboard)
    )
    engine = plan.engine(
        EngineContext(model=model, load=plan.load, seed=seed, policy_version=_updates_until(plan, position))
    )
    stack.callback(lambda: run_to_end(engine.aclose()))
    asking = asking_of(plan, model.view)
    return RunState(
        plan=plan,
        seed=seed,
        media=media,
        directory=directory,
        metrics=metrics,
        progress=progress,
        stages=stages,
        model=model,
        engine=engine,
        reached=reached,
        asking=asking,
        trained=read_trained_on(model.checkpoint),
        asked=open_asked(paths.asked, remarks=plan.remarks, streams=asking.trained),
    )


def _updates_until(plan: Plan, position: Position | None) -> int:
    for stage in plan.stages:
        if position is not None and stage.name == position.stage:
            return plan.updates_before(stage) + position.step
    return 0


def is_done(run: RunState, position: Position) -> bool:
    """Whether the checkpoint that the run continues from is at this position or beyond."""
    return run.reached is not None and not position.is_after(run.reached.position, run.stages)


def first_policy(run: RunState, stage: Stage) -> VisionLanguageModel:
    """A copy of the model as the stage began with it, in memory of its own."""
    earlier = run.stages[: run.stages.index(stage.name)]
    start = latest_checkpoint(run.directory.paths.checkpoints, run.stages, among=earlier)
    policy = run.plan.build_model() if start is None else load_checkpoint(start, run.media, run.plan.load)
    # Both see the same pictures: each is decoded and resized once.
    policy.patches = run.model.patches
    return policy
