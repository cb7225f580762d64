"""Starting a run whose processes Ray starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

import click

from saccade.cli.run_options import RunOptions
from saccade.config.context import RecipeContext
from saccade.config.fleet import FleetSettings
from saccade.config.tracking import TrackingSettings
from saccade.errors import UserError
from saccade.evaluation.summary import StageSummary
from saccade.train.plan import Plan


def train_spread(
    target: str | None,
    context: RecipeContext,
    plan: Plan,
    fleet: FleetSettings,
    *,
    config: str,
    tracking: TrackingSettings,
    **how: Unpack[RunOptions],
) -> Mapping[str, StageSummary]:
    """Runs the recipe that ``target`` names on a cluster, watched over by this process; the summaries of the run.

    ``plan`` is the recipe's, made here so that mistakes are found before anything is started.
    """
    if target is None:
        raise UserError("fleet.rollouts and fleet.address need a recipe by its name; use `saccade train RECIPE`")
    plan.check()
    from saccade.train.fleet_ray import train_on_ray
    from saccade.train.job import Job, weights_folder
    from saccade.train.leading import check_shards

    if fleet.learners > 1:
        check_shards(plan)
    out = how["out"].absolute()
    arguments: list[str] = click.get_current_context().obj
    job = Job(
        recipe=target,
        context=context,
        fleet=fleet,
        out=out,
        folder=Path.cwd(),
        resume=how["resume"],
        threads=how["threads"],
        accepted=how["accepted"],
        command=("saccade", *arguments),
        is_quiet=how["quiet"],
        config=config,
        tracking=tracking,
        weights=weights_folder(fleet, out),
    )
    return train_on_ray(job)
