"""A whole run: the stages of a plan one after the other, with checkpoints from which a killed run goes on."""

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.config.settings import to_json
from saccade.config.sources import RecipeSource
from saccade.config.tracking import TrackingSettings
from saccade.errors import SaccadeError
from saccade.evaluation.summary import StageSummary
from saccade.media.store import MediaStore
from saccade.rollout.contexts import tell_of_old_thoughts
from saccade.rollout.episodes import shown_inputs
from saccade.runs.checkpoints import position_reached
from saccade.runs.directory import RunDirectory
from saccade.runs.progress import Progress
from saccade.runs.runinfo import RunPaths
from saccade.train.artefacts import Derive
from saccade.train.engine_choice import sampled_episodes
from saccade.train.fitting import check_training_fits
from saccade.train.measure import evaluate_stage
from saccade.train.plan import Evaluate, LearningStage, Plan
from saccade.train.plan_record import stages_as_json, tell_of_own_algorithms
from saccade.train.resume_rules import ResumeRules
from saccade.train.state import Keeping, MeasuringState, RunState, open_run, open_served, repeatable
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.learner.processes import Company
    from saccade.train.fleet import Fleet

logger = logging.getLogger(__name__)


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
    source: RecipeSource | None = None,
    accepted: Collection[str] = (),
    progress: Progress | None = None,
    company: "Company | None" = None,
    keeping: Keeping = Keeping(),
    fleet: "Fleet | None" = None,
    config: str = "",
    held_out: Mapping[str, Json] | None = None,
    tracking: TrackingSettings = TrackingSettings(),
) -> Mapping[str, StageSummary]:
    """Runs every stage and returns the summary of each evaluation by its name.

    With ``resume`` the run in ``out`` continues from its newest checkpoint and ends, on a CPU with the same number of
    threads, with the same bytes as one that was never killed. ``media`` must be the store that the plan's tasks use.
    ``inputs`` names what the plan was made from (data, model), ``source`` is the recipe's own; a run is not resumed
    with others, nor with other settings that change results, unless ``accepted`` names their keys (``ResumeRules``).
    A run that fails before anything was worked out leaves nothing behind. With a ``company`` this is the first of its
    ranks, which runs the plan; the others ``follow_plan``. Evaluations keep each sample at once and go on from those;
    ``keeping`` says which they take. With a ``fleet`` its rollout workers play. ``config`` is the text of the run's
    ``config.yaml``, ``held_out`` what its ``held_out.json`` keeps; the trackers of ``tracking`` follow the run,
    which is copied to its ``save_folder``.
    """
    plan.check()
    if company is not None:
        from saccade.train.leading import check_shards

        check_shards(plan)
    inputs = {**(inputs or {}), **(source.inputs() if source else {}), **shown_inputs(plan.rollouts(), media)}
    if resume and tracking.save_folder:
        from saccade.runs.restoring import restore

        restore(tracking, out)
    settings = _recorded_settings(
        plan, seed=seed, threads=threads, inputs=inputs, spread=_process_settings(company, fleet)
    )
    with ExitStack() as stack:
        stack.enter_context(repeatable(threads=threads, load=plan.load))
        # Before anything is on disk: a machine that lacks what the plan needs is a mistake to mend and try again.
        for resource in plan.resources:
            stack.enter_context(resource)
        judge, said = _judge(plan, out, accepted, source), tuple(command)
        directory = stack.enter_context(
            RunDirectory.create(
                out,
                resume=resume,
                settings=settings,
                command=said,
                title=plan.title,
                config=config,
                held_out=held_out,
                judge=judge,
            )
        )
        try:
            tell_of_own_algorithms(plan)
            if source is not None:
                source.save(directory.paths.recipe)
            run = _run_after_stages(
                plan,
                directory,
                stack,
                media=media,
                seed=seed,
                progress=progress or Progress(),
                company=company,
                keeping=keeping,
                fleet=fleet,
                tracking=tracking,
            )
            if company is not None:
                # The others have nothing more to do.
                company.order(None)
            run.save_copy()
        except BaseException as error:
            _leave(directory, error)
            raise
        directory.finish("finished")
        run.save_copy()
        return run.summaries


def _run_after_stages(
    plan: Plan,
    directory: RunDirectory,
    stack: ExitStack,
    *,
    media: MediaStore,
    seed: int,
    progress: Progress,
    company: "Company | None",
    keeping: Keeping,
    fleet: "Fleet | None",
    tracking: TrackingSettings,
) -> MeasuringState:
    """The run after all stages of its plan: of a model behind a server, which is measured alone, or of one here."""
    if plan.served is not None:
        measured = open_served(
            plan,
            plan.served,
            directory,
            stack,
            media=media,
            seed=seed,
            progress=progress,
            keeping=keeping,
            tracking=tracking,
        )
        _measure_stages(measured)
        return measured
    trained = open_run(
        plan,
        directory,
        stack,
        media=media,
        seed=seed,
        progress=progress,
        company=company,
        keeping=keeping,
        fleet=fleet,
        tracking=tracking,
    )
    _train_stages(trained)
    return trained


def _recorded_settings(
    plan: Plan, *, seed: int, threads: int, inputs: Mapping[str, str], spread: Mapping[str, Json]
) -> dict[str, Json]:
    """What ``settings.json`` keeps: all that results depend on."""
    return {
        "seed": seed,
        "threads": threads,
        "inputs": {**inputs},
        "recipe": to_json(plan.settings),
        "stages": stages_as_json(plan),
        **spread,
    }


def _process_settings(company: "Company | None", fleet: "Fleet | None") -> dict[str, Json]:
    """The settings of the processes that results depend on; none where there is one process."""
    learners: dict[str, Json] = {} if company is None else {"learners": company.count, "wrap": company.sharding.wrap}
    rollouts: dict[str, Json] = (
        {} if fleet is None or not fleet.settings.rollouts else {"rollouts": fleet.settings.rollouts}
    )
    return {"fleet": {**learners, **rollouts}} if learners or rollouts else {}


def _judge(plan: Plan, out: Path, accepted: Collection[str], source: RecipeSource | None) -> ResumeRules:
    stages, paths = tuple(stage.name for stage in plan.stages), RunPaths(root=out)
    return ResumeRules(
        plan=plan,
        accepted=accepted,
        reached=lambda: position_reached(paths.checkpoints, stages),
        source=source,
        sources=paths.recipe,
    )


def _train_stages(run: RunState) -> None:
    check_training_fits(run)
    _check_trained(run)
    tell_of_old_thoughts(sampled_episodes(run.plan), run.model.chat.history)
    for stage in run.plan.stages:
        if isinstance(stage, Evaluate):
            evaluate_stage(run, stage)
            run.note_restarts()
        elif isinstance(stage, Derive):
            from saccade.train.derive import derive_stage

            derive_stage(run, stage)
        else:
            # With the first stage that learns: a run that only measures needs no learner.
            from saccade.train.stage_steps import learn_stage

            learn_stage(run, stage)
    _tell_trackers(run)


def _check_trained(run: RunState) -> None:
    """UserError where a stage yet to come would train weights that the model does not have."""
    for stage in run.plan.stages:
        if isinstance(stage, LearningStage) and (
            stage.settings.optimizer.asks_of_weights or run.plan.load.frozen_weights != "full"
        ):
            # With the first stage that asks for it: a run that only measures needs no learner.
            from saccade.learner.trained_weights import check_trained

            check_trained(run.model, stage.settings.optimizer)


def _measure_stages(run: MeasuringState) -> None:
    for stage in run.plan.stages:
        assert isinstance(stage, Evaluate)
        evaluate_stage(run, stage)
    _tell_trackers(run)


def _tell_trackers(run: MeasuringState) -> None:
    """Tell the run's trackers the accuracy of each evaluation."""
    measured = {f"{name}/accuracy": one.overall.accuracy for name, one in run.summaries.items()}
    if run.trackers is not None:
        run.trackers.summarise({key: value for key, value in measured.items() if value is not None})


def _leave(directory: RunDirectory, error: BaseException) -> None:
    """Write down why the run failed, or clear away what it wrote when it never got to its work."""
    if not directory.is_resumed and not directory.has_records:
        with suppress(SaccadeError):
            directory.discard()
        return
    is_interrupt = isinstance(error, KeyboardInterrupt)
    try:
        directory.finish("failed", error="it was interrupted" if is_interrupt else f"{type(error).__name__}: {error}")
    except SaccadeError as second:
        # On a full disk this fails as well, and must not hide what ended the run.
        logger.warning("run.json could not be written: %s", second)
