"""A whole run: the stages of a plan one after the other, with checkpoints from which a killed run goes on."""

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.engines.local import LocalEngine
from saccade.errors import SaccadeError
from saccade.evaluation.evaluate import evaluation_requests, play
from saccade.evaluation.summary import StageSummary, summarise
from saccade.learner.learner import Learner
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.batch import ignore_trajectory
from saccade.train.checkpoints import (
    Checkpoint,
    latest_checkpoint,
    load_checkpoint,
    prune_checkpoints,
    restore_optimizer,
    save_checkpoint,
)
from saccade.train.metrics import MetricsWriter
from saccade.train.outcome import StepOutcome
from saccade.train.plan import Evaluate, Plan, Reinforce, Stage, Supervise
from saccade.train.position import Position
from saccade.train.progress import Progress
from saccade.train.records import read_records, write_records
from saccade.train.reinforce import reinforce, rollout_metrics
from saccade.train.repeatable import repeatable
from saccade.train.rundir import RunDirectory
from saccade.train.settings import to_json
from saccade.train.stopping import SkippedSteps, check_scored
from saccade.train.supervise import supervise
from saccade.types import Attempt, Json, Task, Trajectory

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class _Run:
    """A run in progress: what all stages share."""

    plan: Plan
    seed: int
    media: MediaStore
    directory: RunDirectory
    metrics: MetricsWriter
    progress: Progress
    stages: tuple[str, ...]
    model: VisionLanguageModel
    engine: LocalEngine
    reached: Checkpoint | None
    """The newest checkpoint; None before the first."""
    summaries: dict[str, StageSummary] = field(default_factory=dict)


def run_plan(
    plan: Plan,
    *,
    out: Path,
    media: MediaStore,
    seed: int,
    resume: bool = False,
    threads: int = 1,
    command: Sequence[str] = (),
    inputs: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Mapping[str, StageSummary]:
    """Runs every stage and returns the summary of each evaluation by its name.

    With ``resume`` the run in ``out`` continues from its newest checkpoint and ends, on a CPU with the same number of
    threads, with the same bytes as one that was never killed. ``media`` must be the store that the plan's tasks use.
    ``inputs`` names what the plan was made from (data, model); a run is not resumed with others.
    """
    plan.check()
    settings: dict[str, Json] = {
        "seed": seed,
        "threads": threads,
        "inputs": dict(inputs or {}),
        "recipe": to_json(plan.settings),
    }
    with ExitStack() as stack:
        stack.enter_context(repeatable(threads=threads, device=plan.load.torch_device))
        directory = stack.enter_context(
            RunDirectory.create(out, resume=resume, settings=settings, command=tuple(command), title=plan.title)
        )
        try:
            run = _open(plan, directory, stack, media=media, seed=seed, progress=progress or Progress())
            for stage in plan.stages:
                _run_stage(run, stage)
        except BaseException as error:
            _write_down_failure(directory, error)
            raise
        directory.finish("finished")
        return run.summaries


def _write_down_failure(directory: RunDirectory, error: BaseException) -> None:
    is_interrupt = isinstance(error, KeyboardInterrupt)
    try:
        directory.finish("failed", error="it was interrupted" if is_interrupt else f"{type(error).__name__}: {error}")
    except SaccadeError as second:
        # On a full disk this fails as well, and must not hide what ended the run.
        logger.warning("run.json could not be written: %s", second)


def _open(
    plan: Plan, directory: RunDirectory, stack: ExitStack, *, media: MediaStore, seed: int, progress: Progress
) -> _Run:
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
    return _Run(
        plan=plan,
        seed=seed,
        media=media,
        directory=directory,
        metrics=metrics,
        progress=progress,
        stages=stages,
        model=model,
        engine=LocalEngine(model, policy_version=_updates_until(plan, position)),
        reached=reached,
    )


def _updates_until(plan: Plan, position: Position | None) -> int:
    for stage in plan.stages:
        if position is not None and stage.name == position.stage:
            return plan.updates_before(stage) + position.step
    return 0


def _is_done(run: _Run, position: Position) -> bool:
    """Whether the checkpoint that the run continues from is at this position or beyond."""
    return run.reached is not None and not position.is_after(run.reached.position, run.stages)


def _run_stage(run: _Run, stage: Stage) -> None:
    if isinstance(stage, Evaluate):
        _evaluate(run, stage)
        return
    if _is_done(run, Position(stage=stage.name, step=stage.settings.steps)):
        return
    learner = Learner(run.model, stage.settings.optimizer)
    first_step = 0
    if run.reached is not None and run.reached.position.stage == stage.name:
        first_step = run.reached.position.step
        restore_optimizer(run.reached, learner.optimizer)
    with run.progress.stage(stage.name, total=stage.settings.steps, done=first_step) as bar:
        steps, skipped = _steps(run, stage, learner, first_step), SkippedSteps(stage.name)
        while (outcome := _step(run, stage, steps)) is not None:
            bar.advance(tokens=outcome.tokens, note=_note(outcome))
            skipped.count(outcome.metrics)
            if outcome.step % stage.settings.checkpoint_every == 0 or outcome.step == stage.settings.steps:
                _checkpoint(run, Position(stage=stage.name, step=outcome.step), learner)


def _first_policy(run: _Run, stage: Stage) -> VisionLanguageModel:
    """A copy of the model as the stage began with it, in memory of its own."""
    earlier = run.stages[: run.stages.index(stage.name)]
    start = latest_checkpoint(run.directory.paths.checkpoints, run.stages, among=earlier)
    policy = run.plan.build_model() if start is None else load_checkpoint(start, run.media, run.plan.load)
    # Both see the same pictures: each is decoded and resized once.
    policy.patches = run.model.patches
    return policy


def _steps(run: _Run, stage: Supervise | Reinforce, learner: Learner, first_step: int) -> Iterator[StepOutcome]:
    if isinstance(stage, Supervise):
        for outcome in supervise(stage, run.model, learner, first_step=first_step):
            run.engine.bump_version()
            yield outcome
        return
    yield from reinforce(
        stage,
        run.model,
        run.engine,
        learner,
        seed=run.seed,
        first_step=first_step,
        weights_changed=run.engine.bump_version,
        load_reference=lambda: _first_policy(run, stage),
    )


def _step(run: _Run, stage: Supervise | Reinforce, steps: Iterator[StepOutcome]) -> StepOutcome | None:
    """The next step, recorded; its pictures are on disk afterwards and no longer in memory."""
    started_s = time.monotonic()
    with run.media.temporary():
        outcome = next(steps, None)
        if outcome is not None:
            _record(run, stage, outcome, step_s=time.monotonic() - started_s)
        return outcome


def _record(run: _Run, stage: Supervise | Reinforce, outcome: StepOutcome, *, step_s: float) -> None:
    position = Position(stage=stage.name, step=outcome.step)
    metrics = {**outcome.metrics, "time/step_s": step_s, "time/tokens_per_s": outcome.tokens / step_s}
    if isinstance(stage, Reinforce) and stage.evaluation is not None and _is_due(stage, outcome.step):
        metrics |= _curve_point(run, stage.evaluation)
    run.metrics.write(position, metrics)
    if outcome.attempts:
        _write_records(run, run.directory.paths.trajectories(position), position, outcome.attempts)
        check_scored(outcome.attempts, f"step {outcome.step} of stage {stage.name!r}")


def _is_due(stage: Reinforce, step: int) -> bool:
    every = stage.settings.evaluate_every
    return every > 0 and step % every == 0


def _curve_point(run: _Run, evaluation: Evaluate) -> dict[str, float]:
    attempts = _play(run, evaluation, evaluation.tasks())
    return {f"held_out/{name}": value for name, value in rollout_metrics(attempts).items()}


def _checkpoint(run: _Run, position: Position, learner: Learner) -> None:
    run.metrics.sync()
    directory = run.directory.paths.checkpoints
    run.reached = save_checkpoint(directory, position, run.model, learner.optimizer)
    # A run that continues from here begins with an empty engine.
    run.engine.forget_images()
    prune_checkpoints(directory, position)


def _evaluate(run: _Run, stage: Evaluate) -> None:
    position = Position(stage=stage.name, step=1)
    path = run.directory.paths.evaluation(stage.name)
    if _is_done(run, position):
        # The model has moved on since: what it did then is on disk.
        run.summaries[stage.name] = _summary(stage.name, read_records(path))
        return
    tasks = stage.tasks()
    with run.progress.stage(stage.name, total=max(1, len(tasks))) as bar:
        finished = itertools.count(1)

        def advance(_: Trajectory) -> None:
            # The last one counts when the accuracy is known.
            if next(finished) < len(tasks):
                bar.advance()

        with run.media.temporary():
            attempts = _play(run, stage, tasks, on_finished=advance)
            run.metrics.write(position, dict(rollout_metrics(attempts)))
            _write_records(run, path, position, attempts)
            check_scored(attempts, f"evaluation {stage.name!r}")
        summary = run.summaries[stage.name] = _summary(stage.name, attempts)
        bar.advance(note=f"accuracy {_percent(summary.overall.accuracy)}")


def _play(
    run: _Run, stage: Evaluate, tasks: Sequence[Task], *, on_finished: Callable[[Trajectory], None] = ignore_trajectory
) -> list[Attempt]:
    return play(
        evaluation_requests(tasks, seed=run.seed, name=stage.name),
        engine=run.engine,
        chat=run.model.chat,
        make_env=lambda: stage.episodes.environment(run.media, run.model.view),
        settings=replace(stage.episodes.rollout, temperature=stage.temperature),
        reward=stage.reward,
        on_finished=on_finished,
    )


def _write_records(run: _Run, path: Path, position: Position, attempts: Sequence[Attempt]) -> None:
    write_records(path, position, attempts, media=run.media, media_directory=run.directory.paths.media)


def _summary(name: str, attempts: Iterable[Attempt]) -> StageSummary:
    return summarise(name, [(attempt.task, attempt.trajectory) for attempt in attempts])


def _note(outcome: StepOutcome) -> str:
    if "nll" in outcome.metrics:
        return f"loss {outcome.metrics['nll']:.3f}"
    return f"reward {outcome.metrics['reward/mean']:.3f}, tool {outcome.metrics['rollout/tool_rate']:.0%}"


def _percent(share: float | None) -> str:
    return "none scored" if share is None else f"{share:.1%}"
