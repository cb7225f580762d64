"""A run as the processes of a fleet are told of it: each finds the same recipe again and does its part."""

import hashlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.atomic import TEMPORARY_PREFIX
from saccade.config.context import HeldOutRows, RecipeContext
from saccade.config.fleet import COLLECTIVE, FleetSettings
from saccade.config.held_out import held_out_json
from saccade.config.settings import to_json
from saccade.config.sources import families_in, inputs_of
from saccade.config.tracking import TrackingSettings
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.evaluation.summary import StageSummary
from saccade.learner.processes import Company, LostRanksError, join_company
from saccade.learner.ranks import error_words
from saccade.media.store import MediaStore
from saccade.runs.directory import wait_for_lock
from saccade.runs.progress import Progress
from saccade.train.engine_choice import plan_of
from saccade.train.fleet import Fleet, Worker
from saccade.train.following import follow_plan
from saccade.train.plan import Plan
from saccade.train.recipe_loading import load_recipe
from saccade.train.rollout_worker import RolloutWorker
from saccade.train.run import run_plan

_MEMORY = Path("/dev/shm")
LOCK_S = 60.0
"""How long a process that was lost may still hold the run's directory."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything that a process needs to take part, wherever it runs."""

    recipe: str
    """As ``load_recipe`` finds it."""
    context: RecipeContext
    """Its store of pictures is not sent: each process reads the data itself."""
    fleet: FleetSettings
    out: Path
    folder: Path
    """Where the command was given: relative paths begin there."""
    resume: bool
    threads: int
    accepted: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    config: str = ""
    """Text of the run's ``config.yaml``."""
    tracking: TrackingSettings = TrackingSettings()
    is_quiet: bool = False
    weights: Path
    """Folder for the weights that rollout workers read."""

    def open_plan(self) -> tuple[Plan, RecipeContext]:
        """The plan, made in this process, and the context whose store has its pictures."""
        os.chdir(self.folder)
        context = replace(self.context, media=MediaStore(), held_out_rows=HeldOutRows())
        return plan_of(load_recipe(self.recipe).function, context), context

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "context": replace(self.context, media=MediaStore(), held_out_rows=HeldOutRows())}


@dataclass(frozen=True, kw_only=True)
class GroupPlace:
    """A learner's place in its group."""

    rank: int
    host: str
    """Of the first rank, where the group meets."""
    port: int

    def enter(self, count: int) -> None:
        """Sets what torch reads about the group from the environment."""
        os.environ |= {
            "RANK": str(self.rank),
            "LOCAL_RANK": "0",  # Ray shows each process its own GPUs alone.
            "WORLD_SIZE": str(count),
            "MASTER_ADDR": self.host,
            "MASTER_PORT": str(self.port),
        }


def weights_folder(fleet: FleetSettings, out: Path) -> Path:
    """Where weights for rollout workers go: a folder of this run's own, the same when it is resumed."""
    name = f"saccade-weights-{hashlib.sha256(bytes(out)).hexdigest()[:16]}"
    if fleet.weights and fleet.weights != COLLECTIVE:
        return Path(fleet.weights).absolute() / name
    return (_MEMORY if fleet.is_local and _MEMORY.is_dir() else out) / f"{TEMPORARY_PREFIX}{name}"


def learn(
    job: Job, place: GroupPlace, start_worker: Callable[[int], Worker], restarted: tuple[str, ...]
) -> Mapping[str, StageSummary]:
    """A learner's part of the run: the first one runs it, with its rollout workers; the others follow and give {}.

    ``restarted`` are the restarts of the group so far; with any the run goes on from its newest checkpoint.
    """
    plan, context = job.open_plan()
    fleet = Fleet(
        settings=job.fleet, start_worker=start_worker, weights=job.weights, host=place.host, restarted=restarted
    )
    if job.fleet.learners == 1:
        return _lead(job, plan, context, fleet, None)
    place.enter(job.fleet.learners)
    settings = job.fleet
    with join_company(wrap=settings.wrap, timeout_s=settings.timeout_s, device=plan.load.torch_device) as company:
        if company.rank == 0:
            return _lead(job, plan, context, fleet, company)
        follow_plan(plan, media=context.media, seed=context.seed, threads=job.threads, company=company)
        return {}


def _lead(
    job: Job, plan: Plan, context: RecipeContext, fleet: Fleet, company: Company | None
) -> Mapping[str, StageSummary]:
    wait_for_lock(job.out, LOCK_S)
    with Progress("quiet" if job.is_quiet else "auto").watching() as progress:
        return run_plan(
            plan,
            out=job.out,
            media=context.media,
            seed=context.seed,
            resume=job.resume or bool(fleet.restarted),
            threads=job.threads,
            command=job.command,
            config=job.config,
            held_out=held_out_json(context),
            tracking=job.tracking,
            inputs=inputs_of(context, families=families_in([to_json(plan.settings)])),
            source=load_recipe(job.recipe).source(),
            accepted=job.accepted,
            progress=progress,
            company=company,
            fleet=fleet,
        )


def rollout_worker(job: Job) -> RolloutWorker:
    """A rollout worker's part of the run."""
    if job.fleet.learner_gpus and not job.fleet.rollout_gpus:
        # It would take memory of a learner's.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    plan, context = job.open_plan()
    return RolloutWorker(plan, media=context.media, seed=context.seed, threads=job.threads, run=job.out)


logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FailedPart:
    """How an actor's part ended without a result: as a value, since an error that crosses loses its kind."""

    error: SaccadeError


def sendable_error(error: Exception) -> SaccadeError:
    """An error that can be sent: one of ours as its kind, others in words."""
    for kind in (UserError, LostRanksError, MachineError):
        if isinstance(error, kind):
            return kind(str(error))
    logger.exception("this process failed")
    return SaccadeError(error_words(error))


def log_here(*, is_quiet: bool) -> None:
    """Lets this process's log be seen: Ray brings it to the command."""
    ours = logging.getLogger("saccade")
    ours.setLevel(logging.INFO)
    if not ours.handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING if is_quiet else logging.INFO)
        handler.setFormatter(logging.Formatter("%(message)s"))
        ours.addHandler(handler)
