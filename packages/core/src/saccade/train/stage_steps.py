"""A stage that learns: its steps one after the other, each recorded, with checkpoints to go on from when killed."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from saccade import metric_names as metric
from saccade.heartbeat import phase
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.step_figures import NonFiniteStep
from saccade.learner.trained_weights import choose_trained, trained_in_words
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import (
    Checkpoint,
    latest_checkpoint,
    load_extras,
    prune_checkpoints,
    restore_learner,
    save_checkpoint,
)
from saccade.runs.position import Position
from saccade.runs.reaches import remember_own
from saccade.runs.records import export_images, images_of, write_nonfinite
from saccade.train.fitting import check_stage_fits
from saccade.train.leading import LeadingLearner, Orders, StageStart
from saccade.train.loops import RLLoop, StepOutcome
from saccade.train.measure import curve_point, time_metrics, write_attempts
from saccade.train.plan import LearningStage, PreferenceStage, RLStage, SFTStage
from saccade.train.rollouts import prefilled_by
from saccade.train.stage_learner import model_at, stage_learner
from saccade.train.state import RunState, SkippedSteps, check_scored, is_done
from saccade.types import Attempt, Json

logger = logging.getLogger(__name__)


def learn_stage(run: RunState, stage: LearningStage) -> None:
    """Runs a stage that learns, or what is left of it after the checkpoint that the run goes on from."""
    if not stage.settings.steps or is_done(run, Position(stage=stage.name, step=stage.settings.steps)):
        return
    run.passes.clear()
    if isinstance(stage, RLStage):
        check_stage_fits(run, stage)
    skipped_batches: list[NonFiniteStep] = []
    learner = _learner(run, stage, skipped_batches)
    if what := trained_in_words(run.model, stage.settings.optimizer):
        logger.info("stage %s: %s", stage.name, what)
    if isinstance(stage, RLStage) and stage.algorithm is None:
        logger.info("stage %s: %s", stage.name, stage.settings.algorithm.in_words)
    first_step = 0
    if run.reached is not None and run.reached.position.stage == stage.name:
        first_step = run.reached.position.step
        restore_learner(run.reached, learner)
    with ExitStack() as waiting, run.progress.stage(stage.name, total=stage.settings.steps, done=first_step) as bar:
        steps, skipped = _steps(run, stage, learner, first_step, waiting), SkippedSteps(stage.name)
        while (outcome := _step(run, stage, steps, waiting)) is not None:
            bar.advance(tokens=outcome.tokens, note=_note(outcome))
            position = Position(stage=stage.name, step=outcome.step)
            if skipped_batches:
                write_nonfinite(run.directory.paths.nonfinite, position, skipped_batches)
                skipped_batches.clear()
            skipped.count(outcome.metrics)
            if outcome.step % stage.settings.checkpoint_every == 0 or outcome.step == stage.settings.steps:
                state = steps.state_dict() if isinstance(steps, RLLoop) else {}
                _checkpoint(run, position, learner, state, kept=stage.settings.checkpoints_kept)


def _learner(run: RunState, stage: LearningStage, skipped: list[NonFiniteStep]) -> PolicyLearner:
    if run.company is None:
        return stage_learner(stage, run.model, seed=run.seed, on_nonfinite=skipped.append)
    run.orders = run.orders or Orders(run.company, run.media)
    return _leading_learner(run, run.orders, stage, skipped)


def _leading_learner(
    run: RunState, orders: Orders, stage: LearningStage, skipped: list[NonFiniteStep]
) -> LeadingLearner:
    """Every rank takes a model of its own apart; the run's stays whole, for the engine and for checkpoints."""
    start = StageStart(stage=stage.name, checkpoint=run.reached, first_policy=_first_policy_at(run, stage))
    with orders.giving("begin", start=start):
        choose_trained(run.model, stage.settings.optimizer)
        model = model_at(run.plan, start.checkpoint, run.media)
        # Both see the same pictures: each is decoded and resized once.
        model.patches = run.model.patches
        learner = stage_learner(
            stage,
            model,
            seed=run.seed,
            on_nonfinite=skipped.append,
            ranks=orders.company,
            sharding=orders.company.sharding,
        )
    return LeadingLearner(learner, run.model, orders)


def _steps(
    run: RunState, stage: LearningStage, learner: PolicyLearner, first_step: int, waiting: ExitStack
) -> Iterator[StepOutcome]:
    if isinstance(stage, SFTStage):
        from saccade.train.supervised import supervise

        return _then_handed_over(run, stage, learner, supervise(stage, run.model, learner, first_step=first_step))
    if isinstance(stage, PreferenceStage):
        # With the first stage of this kind: others need nothing of it.
        from saccade.train.preferring import prefer

        preferring = prefer(stage, learner, first_step=first_step, load_reference=lambda: _first_policy(run, stage))
        return _then_handed_over(run, stage, learner, preferring)
    steps = RLLoop(
        stage,
        run.model,
        run.engine,
        learner,
        seed=run.seed,
        first_step=first_step,
        load_reference=lambda: _first_policy(run, stage),
        rollouts=run.rollouts,
        load=run.plan.load,
    )
    if run.reached is not None and first_step > 0:
        state = load_extras(run.reached)
        steps.load_state_dict(state)
        _keep_images(run, waiting, steps.ahead())
    return steps


def _first_policy_at(run: RunState, stage: LearningStage) -> Checkpoint | None:
    """The checkpoint that the stage began with; None where it began with the plan's own model."""
    earlier = run.stages[: run.stages.index(stage.name)]
    return latest_checkpoint(run.directory.paths.checkpoints, run.stages, among=earlier)


def _first_policy(run: RunState, stage: LearningStage) -> VisionLanguageModel:
    """A copy of the model as the stage began with it, in memory of its own."""
    policy = model_at(run.plan, _first_policy_at(run, stage), run.media, is_sharded=run.company is not None)
    # Both see the same pictures: each is decoded and resized once.
    policy.patches = run.model.patches
    return policy


def _then_handed_over(
    run: RunState, stage: SFTStage | PreferenceStage, learner: PolicyLearner, steps: Iterator[StepOutcome]
) -> Iterator[StepOutcome]:
    """The steps, and the last weights given to the engine: nothing samples in between."""
    yield from steps
    learner.publish()
    run.rollouts.update_weights(run.model, run.plan.updates_before(stage) + stage.settings.steps)


def _keep_images(run: RunState, waiting: ExitStack, attempts: Sequence[Attempt]) -> None:
    """The pictures of trajectories that wait to be trained on, from the run's files, until the next call."""
    waiting.close()
    waiting.enter_context(run.media.temporary())
    for image in {image.hash for attempt in attempts for image in images_of(attempt)}:
        if image not in run.media:
            run.media.add_file(run.directory.paths.media / f"{image}.png")


def _step(run: RunState, stage: LearningStage, steps: Iterator[StepOutcome], waiting: ExitStack) -> StepOutcome | None:
    """The next step, recorded; its pictures are on disk afterwards and no longer in memory."""
    started_s, started_cpu_s = time.monotonic(), time.process_time()
    with run.media.temporary():
        outcome = next(steps, None)
        if outcome is not None:
            run.trained.add(outcome.tasks)
            step_s, step_cpu_s = time.monotonic() - started_s, time.process_time() - started_cpu_s
            _record(run, stage, outcome, step_s=step_s, step_cpu_s=step_cpu_s)
            run.note_restarts()
    if outcome is not None:
        _keep_images(run, waiting, outcome.ahead)
    return outcome


def _record(run: RunState, stage: LearningStage, outcome: StepOutcome, *, step_s: float, step_cpu_s: float) -> None:
    position = Position(stage=stage.name, step=outcome.step)
    metrics = {
        **outcome.metrics,
        metric.STEP_S: step_s,
        metric.STEP_CPU_S: step_cpu_s,
        metric.TOKENS_PER_S: outcome.tokens / step_s,
    }
    if isinstance(stage, RLStage):
        metrics |= {metric.TIME_PREFIX + name: value for name, value in run.plan.meters().items()}
        metrics |= time_metrics(stream.episodes for stream in stage.streams)
        metrics |= prefilled_by(run.engine)
    if isinstance(stage, RLStage) and stage.evaluation is not None and _is_due(stage, outcome.step):
        metrics |= curve_point(run, stage.name, stage.evaluation)
    run.metrics.write(position, metrics)
    with phase(lambda: "writing records"):
        export_images(outcome.ahead, media=run.media, media_directory=run.directory.paths.media)
        if outcome.attempts:
            write_attempts(run, run.directory.paths.trajectories(position), position, outcome.attempts)
    if outcome.attempts:
        check_scored(outcome.attempts, f"step {outcome.step} of stage {stage.name!r}")


def _is_due(stage: RLStage, step: int) -> bool:
    every = stage.settings.evaluate_every
    return every > 0 and step % every == 0


def _checkpoint(
    run: RunState, position: Position, learner: PolicyLearner, state: Mapping[str, Json], *, kept: int
) -> None:
    learner.publish()
    run.metrics.sync()
    run.directory.sums.cover(position)
    directory = run.directory.paths.checkpoints
    if run.saver is not None:
        run.saver.wait()
    # Before the next is written, so that a large model's are never on disk one time more than are kept.
    prune_checkpoints(directory, position, kept=max(1, kept - 1))
    run.reached = save_checkpoint(directory, position, run.model, learner, extras=state, records=run.records)
    remember_own((tool.spec.name, tool.origin) for way in run.asking.all_ways for tool in way.tools)
    # A run that continues from here begins with an empty engine.
    run.engine.reset()
    prune_checkpoints(directory, position, kept=kept)
    if run.saver is not None:
        run.saver.save()


def _note(outcome: StepOutcome) -> str:
    if metric.PAIR_MARGIN in outcome.metrics and metric.REWARD_MEAN not in outcome.metrics:
        share = outcome.metrics[metric.PAIR_ACCURACY]
        return f"margin {outcome.metrics[metric.PAIR_MARGIN]:.3f}, chosen above rejected in {share:.0%}"
    if metric.REWARD_MEAN not in outcome.metrics and metric.NLL not in outcome.metrics:
        return "skipped: no finite loss"
    if metric.NLL in outcome.metrics:
        return f"loss {outcome.metrics[metric.NLL]:.3f}"
    return f"reward {outcome.metrics[metric.REWARD_MEAN]:.3f}, tool {outcome.metrics[metric.TOOL_RATE]:.0%}"
