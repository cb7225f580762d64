"""A run in progress: what its stages share, how it resumes from its newest checkpoint, and when it must stop."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from saccade import metric_names as metric
from saccade.config.tracking import TrackingSettings
from saccade.engines.engine import Engine, EngineContext
from saccade.errors import MachineError
from saccade.evaluation.summary import StageSummary
from saccade.heartbeat import phase
from saccade.media.store import MediaStore
from saccade.models.checkpoint import ASKING_RECORD, TRAINED_ON_RECORD, LoadSettings
from saccade.models.identity import model_hash
from saccade.models.memory import use_deterministic_kernels
from saccade.models.vlm import VisionLanguageModel
from saccade.rewards.groups import UNANSWERED
from saccade.rollout.players import SamplePlayer, TokenPlayer
from saccade.runs.asking import AskedFile, AskingRecord, open_asked
from saccade.runs.checkpoints import Checkpoint, load_checkpoint, whole_checkpoint
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.progress import Progress
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.runs.trained_on import TrainedOn, read_trained_on
from saccade.train.engine_choice import check_engine
from saccade.train.plan import EpisodeSpec, LearningStage, Plan, ServedPolicy
from saccade.train.plan_record import asking_of
from saccade.train.rollouts import PolicyRollouts, restarts_of, rollouts_of
from saccade.train.stages import goes_by_first_policy
from saccade.types import Attempt, Json, Task
from saccade.waiting import run_to_end

if TYPE_CHECKING:
    from saccade.learner.processes import Company
    from saccade.runs.saver import Saver
    from saccade.runs.trackers.following import Trackers
    from saccade.train.fleet import Fleet
    from saccade.train.leading import Orders


@contextmanager
def repeatable(*, threads: int, load: LoadSettings) -> Iterator[None]:
    """This many threads and, on a CPU, deterministic kernels only; afterwards torch is as it was.

    On a GPU a run repeats closely, and to the bit with ``deterministic``.
    """
    threads_before, was_deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    precision_before = torch.get_float32_matmul_precision()
    torch.set_num_threads(threads)
    on_gpu = load.torch_device != "cpu"
    use_deterministic_kernels(load.deterministic or not on_gpu, on_gpu=on_gpu)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_deterministic)
        torch.set_float32_matmul_precision(precision_before)
        torch.set_num_threads(threads_before)


SKIPPED_IN_A_ROW = 5
"""So many steps without a finite loss, one after the other, are no accident."""


def check_scored(attempts: Sequence[Attempt], where: str) -> None:
    """MachineError that shows the first failure when every trajectory failed; some that did are only counted."""
    failed = [one.trajectory for one in attempts if one.trajectory.status == "failed"]
    failed = [one for one in failed if one.failure != UNANSWERED]
    if not failed or len(failed) < len(attempts):
        return
    first = failed[0]
    raise MachineError(
        f"{where}: all {len(failed)} trajectories failed, so there is nothing to score. The first "
        f"({first.task_id}, sample {first.sample}) says: {first.failure}. Fix the cause, then continue with --resume, "
        "or choose another --out if a setting has to change"
    )


class SkippedSteps:
    """Counts steps that were skipped because their loss or gradient was not finite."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._in_a_row = 0

    def count(self, metrics: Mapping[str, float]) -> None:
        """MachineError after ``SKIPPED_IN_A_ROW`` steps one after the other in which every update was skipped.

        A step that had nothing to learn from is none of them, and ends no row of them either.
        """
        updates = metrics.get(metric.UPDATES, 1.0)
        if not updates:
            return
        self._in_a_row = self._in_a_row + 1 if metrics.get(metric.SKIPPED, 0.0) >= updates else 0
        if self._in_a_row >= SKIPPED_IN_A_ROW:
            raise MachineError(
                f"stage {self._stage!r}: the last {self._in_a_row} steps gave no finite loss or gradient and changed "
                "no weight: training has diverged. Start a new run with a lower learning rate, from an earlier "
                "checkpoint if there is one"
            )


logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedPass:
    """An evaluation's trajectories, and what they are the outcome of."""

    name: str
    episodes: EpisodeSpec
    tasks: tuple[Task, ...]
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Keeping:
    """What an evaluation does with samples that are kept already: in its own journal, or in those of other runs."""

    retry_failed: bool = False
    """Plays samples again that the machine failed."""
    reuse: tuple[Path, ...] = ()
    """Directories of runs from which samples are taken that are the same by their key."""


@dataclass(kw_only=True)
class MeasuringState:
    """State of a run that evaluations need: all of it, where the policy is a server's model."""

    plan: Plan
    seed: int
    media: MediaStore
    directory: RunDirectory
    metrics: MetricsWriter
    progress: Progress
    stages: tuple[str, ...]
    reached: Checkpoint | None
    """The newest checkpoint; None before the first."""
    trained: TrainedOn
    asked: AskedFile
    player: SamplePlayer
    identity: Callable[[], Mapping[str, Json]]
    """Identity of the policy as it is now, for the keys of journals."""
    keeping: Keeping = Keeping()
    trackers: "Trackers | None" = None
    saver: "Saver | None" = None
    summaries: dict[str, StageSummary] = field(default_factory=dict)
    passes: list[NamedPass] = field(default_factory=list)
    """Greedy passes since the last step of training; what is equal to one of them need not be played again."""

    def save_copy(self) -> None:
        """Copies all of the run to its ``save_folder``, and returns when that is done."""
        if self.saver is not None:
            self.saver.save()
            self.saver.wait()

    def player_of(self, stage: str) -> SamplePlayer:
        """Who plays evaluations of the stage, or those in its midst."""
        return self.player


@dataclass(kw_only=True)
class RunState(MeasuringState):
    """State that all stages of a run share."""

    model: VisionLanguageModel
    engine: Engine
    """Measures; it samples in training too where this process plays the trajectories itself."""
    rollouts: PolicyRollouts
    """Those who play the trajectories that are learned from."""
    asking: AskingRecord
    """How the plan asks; every checkpoint carries it."""
    company: "Company | None" = None
    """The other ranks, where several learn together."""
    orders: "Orders | None" = None
    """The way to them, from the first stage on that learns."""

    def player_of(self, stage: str) -> SamplePlayer:
        return self.rollouts.player(stage) or self.player

    def note_restarts(self) -> None:
        """Writes down what the engine of this process had to start again."""
        for line in restarts_of(self.engine):
            self.directory.note_restart(line)

    @property
    def records(self) -> Mapping[str, Mapping[str, Json]]:
        """Records that a checkpoint carries for users of the policy."""
        return {ASKING_RECORD: self.asking.as_json(), TRAINED_ON_RECORD: self.trained.as_json()}


def open_run(
    plan: Plan,
    directory: RunDirectory,
    stack: ExitStack,
    *,
    media: MediaStore,
    seed: int,
    progress: Progress,
    company: "Company | None" = None,
    keeping: Keeping = Keeping(),
    fleet: "Fleet | None" = None,
    tracking: TrackingSettings = TrackingSettings(),
) -> RunState:
    """The run as its newest whole checkpoint left it, with all that came later deleted; or a new one."""
    paths = directory.paths
    stages = tuple(stage.name for stage in plan.stages)
    reached = whole_checkpoint(paths.checkpoints, stages, _goes_by(plan))
    position = None if reached is None else reached.position
    if reached is not None:
        logger.info("continuing from %s", reached.path)
    model = plan.new_model() if reached is None else load_checkpoint(reached, media, plan.load)
    directory.rewind(position, stages)
    metrics = stack.enter_context(
        MetricsWriter.open(paths.metrics, stages=stages, keep_until=position, tensorboard=paths.tensorboard)
    )
    trackers = _open_trackers(metrics, tracking, paths, stack)
    saver = _open_saver(tracking, directory, stack)
    context = EngineContext(model=model, load=plan.load, seed=seed, policy_version=_updates_until(plan, position))
    # Rollout workers have weights of their own: then the engine of this process only measures.
    with phase(lambda: "starting the engine"):
        engine = (plan.engine if fleet is not None and fleet.settings.rollouts else plan.applied_engine)(context)
    stack.callback(lambda: run_to_end(engine.aclose()))
    rollouts = rollouts_of(fleet, engine, model, directory, rows=plan.load.engine.max_rows)
    stack.callback(rollouts.close)
    check_engine(plan, engine, rollouts, model)
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
        player=TokenPlayer(engine=engine, chat=model.chat, view=model.view, at_once=plan.load.engine.max_rows),
        identity=lambda: _identity(model),
        keeping=keeping,
        rollouts=rollouts,
        trackers=trackers,
        saver=saver,
        reached=reached,
        asking=asking,
        trained=read_trained_on(model.checkpoint),
        asked=open_asked(paths.asked, remarks=plan.remarks, streams=asking.trained, write=directory.sums.write_json),
        company=company,
    )


def _identity(model: VisionLanguageModel) -> Mapping[str, str]:
    with phase(lambda: "hashing the weights"):
        return {"weights": model_hash(model)}


def _goes_by(plan: Plan) -> Mapping[str, str]:
    """Stages that compare with the policy that they began with, and the stage whose last checkpoint that is."""
    trained = [stage for stage in plan.stages if isinstance(stage, LearningStage) and stage.settings.steps]
    return {later.name: earlier.name for earlier, later in pairwise(trained) if goes_by_first_policy(later)}


def _open_trackers(
    metrics: MetricsWriter, tracking: TrackingSettings, paths: RunPaths, stack: ExitStack
) -> "Trackers | None":
    """The trackers of the settings, which have every record so far and are given each that comes."""
    if not tracking.has_any:
        return None
    from saccade.runs.trackers.following import open_trackers

    trackers = stack.enter_context(open_trackers(tracking, paths, values=read_json_object(paths.settings)))
    trackers.catch_up(paths.metrics)
    metrics.follow(trackers.log)
    return trackers


def _open_saver(tracking: TrackingSettings, directory: RunDirectory, stack: ExitStack) -> "Saver | None":
    if not tracking.save_folder:
        return None
    from saccade.runs.restoring import open_saver

    return stack.enter_context(open_saver(tracking, directory.paths.root, is_resumed=directory.is_resumed))


def open_served(
    plan: Plan,
    served: ServedPolicy,
    directory: RunDirectory,
    stack: ExitStack,
    *,
    media: MediaStore,
    seed: int,
    progress: Progress,
    keeping: Keeping = Keeping(),
    tracking: TrackingSettings = TrackingSettings(),
) -> MeasuringState:
    """The run whose policy is a server's model: evaluations alone, from the first on."""
    from saccade.rollout.chat_player import ChatPlayer

    paths = directory.paths
    stages = tuple(stage.name for stage in plan.stages)
    directory.rewind(None, stages)
    metrics = MetricsWriter.open(paths.metrics, stages=stages, keep_until=None, tensorboard=paths.tensorboard)
    return MeasuringState(
        plan=plan,
        seed=seed,
        media=media,
        directory=directory,
        metrics=stack.enter_context(metrics),
        progress=progress,
        stages=stages,
        player=ChatPlayer(model=served.model, view=served.view, at_once=served.at_once),
        identity=lambda: served.identity,
        trackers=_open_trackers(metrics, tracking, paths, stack),
        saver=_open_saver(tracking, directory, stack),
        keeping=keeping,
        reached=None,
        trained=TrainedOn(is_complete=False),
        asked=open_asked(paths.asked, remarks=plan.remarks, streams={}, write=directory.sums.write_json),
    )


def _updates_until(plan: Plan, position: Position | None) -> int:
    for stage in plan.stages:
        if position is not None and stage.name == position.stage:
            return plan.updates_before(stage) + position.step
    return 0


def is_done(run: MeasuringState, position: Position) -> bool:
    """Whether the checkpoint that the run continues from is at this position or beyond."""
    return run.reached is not None and not position.is_after(run.reached.position, run.stages)
