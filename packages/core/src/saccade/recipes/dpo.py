"""Preferences: DPO (or IPO, SLiC, SimPO) on pairs of a file, or of the trajectories of a run, better against worse.

Held-out pairs are measured while it learns; a run's held-out questions are asked before and after, as the run asked.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from saccade.config import RecipeContext
from saccade.models import load_model
from saccade.recipes.dpo_data import RequestedPairs, read_requested
from saccade.recipes.dpo_settings import PairsSettings
from saccade.recipes.evaluation import evaluation
from saccade.recipes.evaluation_stages import TaskSet
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import Evaluate, Plan, PreferenceStage
from saccade.types import TrajectoryPair


def method(
    settings: PairsSettings,
    pairs: Sequence[TrajectoryPair],
    held_out: Sequence[TrajectoryPair] = (),
    *,
    seed: int,
    content: str = "",
) -> PreferenceStage:
    """Each pair as often as there are epochs, in an order that each epoch draws anew."""
    steps = settings.dpo.steps or math.ceil(settings.epochs * len(pairs) / settings.dpo.batch_size)
    return PreferenceStage(
        name="dpo",
        source=Epochs(pairs, seed=seed_for(seed, "dpo")),
        settings=replace(settings.dpo, steps=steps),
        held_out=tuple(held_out),
        content=content,
    )


def dpo(context: RecipeContext) -> Plan:
    """DPO on pairs: needs ``--data``, a file of prompt, chosen and rejected, or the folder of a run."""
    read = read_requested(context)
    asked = _asked(context, read)
    learning = method(read.settings, read.learned, read.held_out, seed=context.seed, content=read.content)
    return Plan(
        title=f"{read.model.name} prefers by {read.data.name}",
        settings=read.settings,
        build_model=partial(load_model, read.model, context.media, read.settings.model),
        load=read.settings.model,
        stages=(*_named(asked, "before"), learning, *_named(asked, "after_dpo")),
        remarks=() if asked is None else asked.remarks,
        resources=() if asked is None else asked.resources,
    )


def _asked(context: RecipeContext, read: RequestedPairs) -> Plan | None:
    """The held-out questions, asked as the run did, else as the checkpoint's record says; None where there are none."""
    if not read.questions:
        return None
    alone = replace(context, data=None, held_out=None, model=read.model, overrides=())
    return evaluation(alone, sets=[TaskSet(tasks=read.questions)], asking=read.asking)


def _named(asked: Plan | None, when: str) -> list[Evaluate]:
    stages = [] if asked is None else [stage for stage in asked.stages if isinstance(stage, Evaluate)]
    return [replace(one, name=when if len(stages) == 1 else f"{when}_{one.name}") for one in stages]
