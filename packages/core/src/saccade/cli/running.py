"""Shared parts of commands that start a run: preparation of the machine, the run itself."""

import dataclasses
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from saccade.cli.config_option import options_given
from saccade.cli.machine import existing, log_to_stderr
from saccade.cli.run_options import RunOptions
from saccade.errors import UserError
from saccade.heartbeat import phase

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext
    from saccade.config.sources import RecipeSource
    from saccade.config.tracking import TrackingSettings
    from saccade.learner.processes import Company
    from saccade.runs.progress import Progress
    from saccade.train.plan import Plan
    from saccade.train.state import Keeping
    from saccade.types import AnswerKind


logger = logging.getLogger(__name__)

_DETERMINISTIC = ("model.deterministic=true", "model.batch_invariant=true")


@contextmanager
def _naming_deterministic(is_asked: bool) -> Iterator[None]:
    """A recipe that makes its own tiny model has no such setting, and needs none."""
    try:
        yield
    except UserError as error:
        if is_asked and "there is no setting 'model.deterministic'" in str(error):
            raise UserError(
                "--deterministic is for checkpoints; this recipe trains a tiny model on the CPU, whose runs repeat to "
                "the bit without it: leave it out"
            ) from error
        raise


def task_context(
    *,
    data: Path | None,
    model: Path | None,
    overrides: tuple[str, ...],
    seed: int,
    skip_bad_rows: bool,
    image_root: Path | None = None,
    max_frames: int | None = None,
    env: str | None = None,
    answer_kind: "AnswerKind | None" = None,
    box_frame: str | None = None,
    min_iou: float | None = None,
    split: str | None = None,
    held_out: Path | None = None,
) -> "RecipeContext":
    """Context of a recipe on tasks of the user's own; UserError for a path that is not there."""
    from saccade.config.context import RecipeContext
    from saccade.media.video import MAX_FRAMES

    # The model first: a wrong one is found in no time, and data may be fetched or large.
    checkpoint = existing("--model", model)
    return RecipeContext(
        data=existing("--data", data),
        model=checkpoint,
        env=env,
        answer_kind=answer_kind,
        box_frame=box_frame,
        min_iou=min_iou,
        split=split,
        held_out=existing("--held-out", held_out),
        overrides=overrides,
        seed=seed,
        skip_bad_rows=skip_bad_rows,
        image_root=existing("--image-root", image_root),
        max_frames=MAX_FRAMES if max_frames is None else max_frames,
    )


def start(
    recipe: "Callable[[RecipeContext], Plan]",
    context: "RecipeContext",
    *,
    source: "Callable[[], RecipeSource] | None" = None,
    measured: Mapping[str, object] | None = None,
    keeping: "Keeping | None" = None,
    target: str | None = None,
    **how: Unpack[RunOptions],
) -> None:
    """Run a recipe into its folder, write its report, and say where it is.

    ``target`` is how the processes of a fleet find the recipe again (``load_recipe``). ``source`` gives the recipe's
    own source; it is asked after the recipe was called, which may import more of it.
    """
    # Of several processes the first one speaks for all.
    out, threads = how["out"], how["threads"]
    log_to_stderr(is_quiet=how["quiet"] or os.environ.get("RANK", "0") != "0")
    from saccade.config.fleet import split_overrides
    from saccade.config.tracking import split_tracking
    from saccade.runs.runinfo import RunPaths
    from saccade.train.engine_choice import plan_of

    if how["deterministic"]:
        # What --set says comes after it.
        context = dataclasses.replace(context, overrides=(*_DETERMINISTIC, *context.overrides))
    fleet, overrides = split_overrides(context.overrides)
    tracking, overrides = split_tracking(overrides)
    if tracking.has_any:
        from saccade.runs.trackers.following import check_trackers

        check_trackers(tracking)
    # Before the imports, which take seconds: most mistakes are found here.
    is_first = os.environ.get("RANK", "0") == "0"
    with (
        _notice(tracking.notify if is_first else "", out),
        _watching(is_quiet=how["quiet"] or not is_first) as progress,
    ):
        if not fleet.has_ray:
            check_started(fleet.learners)
        if how["resume"]:
            from saccade.runs.restoring import restore

            restore(tracking, out, is_first=is_first)
        paths = RunPaths(root=out.absolute())
        kept = paths.held_out if how["resume"] and paths.info.exists() else None
        own = dataclasses.replace(context, overrides=overrides, held_out_file=kept)
        with phase(lambda: "preparing the run"), _naming_deterministic(how["deterministic"]):
            plan = plan_of(recipe, own, logs=out / "engine")
        if own.held_out is not None and not own.held_out_rows.kept:
            raise UserError(
                "--held-out would have no effect: this recipe measures on questions of its own; leave it out"
            )
        config = _config_of(plan, context, threads)
        if fleet.has_ray:
            from saccade.cli.closing_lines import tell
            from saccade.cli.fleet import train_spread

            summaries = train_spread(target, own, plan, fleet, config=config, tracking=tracking, **how)
            tell(summaries, plan, out, tracking)
            return
        run = partial(_run, plan, context, source=source, config=config, tracking=tracking, progress=progress, **how)
        if fleet.learners == 1:
            run(measured=measured, keeping=keeping)
            return
        from saccade.learner.processes import PeerError, join_company
        from saccade.train.following import follow_plan

        with join_company(wrap=fleet.wrap, timeout_s=fleet.timeout_s, device=plan.load.torch_device) as company:
            if company.rank == 0:
                run(measured=measured, company=company)
                return
            try:
                follow_plan(plan, media=context.media, seed=context.seed, threads=threads, company=company)
            except PeerError:
                # The rank that failed has said why.
                sys.exit(1)


def _watching(*, is_quiet: bool) -> "AbstractContextManager[Progress]":
    from saccade.runs.progress import Progress

    return Progress("quiet" if is_quiet else "auto").watching()


def _notice(how: str, out: Path) -> AbstractContextManager[None]:
    if not how:
        return nullcontext()
    from saccade.runs.notices import notice_of_end

    return notice_of_end(how, out)


def _run(
    plan: "Plan",
    context: "RecipeContext",
    *,
    source: "Callable[[], RecipeSource] | None",
    config: str,
    tracking: "TrackingSettings",
    progress: "Progress",
    measured: Mapping[str, object] | None = None,
    company: "Company | None" = None,
    keeping: "Keeping | None" = None,
    **how: Unpack[RunOptions],
) -> None:
    arguments: list[str] = click.get_current_context().obj
    from saccade.config.held_out import held_out_json
    from saccade.config.settings import to_json
    from saccade.config.sources import families_in, inputs_of
    from saccade.train.run import run_plan
    from saccade.train.state import Keeping

    summaries = run_plan(
        plan,
        out=how["out"],
        media=context.media,
        seed=context.seed,
        resume=how["resume"],
        threads=how["threads"],
        command=("saccade", *arguments),
        inputs=inputs_of(context, measured, families_in([to_json(plan.settings), str((measured or {}).get("family"))])),
        source=None if source is None else source(),
        config=config,
        held_out=held_out_json(context),
        tracking=tracking,
        accepted=how["accepted"],
        progress=progress,
        company=company,
        keeping=keeping or Keeping(),
    )
    # Once a run is complete.
    from saccade.cli.closing_lines import tell

    tell(summaries, plan, how["out"], tracking)


def _config_of(plan: "Plan", context: "RecipeContext", threads: int) -> str:
    """The text of the run's ``config.yaml``."""
    from saccade.config.config_file import config_text
    from saccade.config.settings import to_json

    command = click.get_current_context()
    options = {**options_given(command), "seed": context.seed, "threads": threads}
    title = " ".join(plan.title.split())
    again = f"saccade {command.info_name} --config config.yaml --out DIR"
    header = f"# {title}\n# To start it again: {again}\n" if title else f"# To start it again: {again}\n"
    return header + config_text(options, to_json(plan.settings), context.overrides)


def check_started(learners: int) -> None:
    """UserError unless as many processes were started as the settings say."""
    started = int(os.environ.get("WORLD_SIZE") or "1")
    if started == learners:
        return
    if started == 1:
        raise UserError(
            f"fleet.learners={learners}, but this process was started alone; start all of them by `python -m "
            f"torch.distributed.run --nproc-per-node {learners} -m saccade ...`"
        )
    raise UserError(
        f"fleet.learners={learners}, but {started} processes were started; set fleet.learners={started}, or start as "
        "many as the setting says"
    )
