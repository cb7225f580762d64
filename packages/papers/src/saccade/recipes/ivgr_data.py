"""The user's own questions in the two streams: those with boxes, those without, and those that are held out."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config import RecipeContext, read_own_tasks, split_held_out, warn_of_bad_rows, without_held_out
from saccade.curation import read_pass_rates
from saccade.curation.ivgr import read_cold_start
from saccade.errors import UserError
from saccade.recipes.ivgr_settings import BOXED, PLAIN, IvgrSettings
from saccade.rewards.mentions import first_image_boxes
from saccade.seeding import seed_for
from saccade.tasks import HARD_OF_FIVE, ByPassRate, Epochs, Shuffled, StreamedSource, TaskSampler
from saccade.train import ExampleSource
from saccade.types import StreamExample, Task

IDS_SHOWN = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnQuestions:
    """The user's questions; no picture of ``held_out`` is shown by the others."""

    boxed: Sequence[Task]
    """With targets on their first image: both streams ask them."""
    general: Sequence[Task]
    """Without targets: the textual stream alone asks them."""
    held_out: Sequence[Task]
    """With targets."""

    def sources(self, settings: IvgrSettings, seed: int) -> Mapping[str, StreamedSource]:
        """The questions with boxes, and those without where there are any. Raises UserError."""
        if settings.rl.tasks_per_step == settings.boxed_per_step and settings.general_data is not None:
            raise UserError(
                f"general_data={settings.general_data} would have no effect: boxed_per_step={settings.boxed_per_step} "
                "leaves no room for questions without boxes; ask more questions in a step with rl.tasks_per_step"
            )
        rates = _rates(self.general, settings.general_pass_rates)

        def boxed(streams: tuple[str, ...]) -> TaskSampler:
            return Shuffled(self.boxed, seed=seed_for(seed, "rl"), streams=streams)

        def plain(streams: tuple[str, ...]) -> TaskSampler:
            shuffled = Shuffled(self.general, seed=seed_for(seed, "rl", "general"), streams=streams)
            return shuffled if rates is None else ByPassRate(shuffled, HARD_OF_FIVE, rates=rates)

        return {BOXED: boxed, PLAIN: plain} if self.general else {BOXED: boxed}


def read_questions(data: Path, settings: IvgrSettings, context: RecipeContext) -> OwnQuestions:
    """The questions of ``--data`` and of ``general_data``; UserError when none of the first has a box."""
    given = read_own_tasks(data, context)
    boxed = [task for task in given if first_image_boxes(task)]
    if not boxed:
        raise UserError(
            f"none of the {len(given)} questions of {data} has a box on its first image, and without boxes there is no "
            "grounded stream; give questions with target_instances or boxes, or train in plain words alone with "
            "saccade train questions"
        )
    training, held_out = split_held_out(
        boxed,
        settings.held_out_share,
        context,
        prepared=lambda read: [task for task in read if first_image_boxes(task)],
    )
    general = [*(task for task in given if not first_image_boxes(task)), *_general(settings.general_data, context)]
    _check_ids([*boxed, *general])
    return OwnQuestions(
        boxed=training,
        general=without_held_out(general, held_out, lambda task: task, what="questions without boxes"),
        held_out=held_out,
    )


def read_trajectories(settings: IvgrSettings, held_out: Sequence[Task], context: RecipeContext) -> ExampleSource | None:
    """The examples of the cold start in random order, then again in another; None where none are to be imitated.

    None of them shows a held-out picture.
    """
    path = settings.sft_data
    if path is None or not settings.sft.steps:
        return None
    read = read_cold_start(path, context.media, skip_bad_rows=context.skip_bad_rows)
    warn_of_bad_rows(path, read.skipped, len(read.examples))
    kept = without_held_out(read.examples, held_out, lambda one: one.example.task, what=f"examples of {path}")
    shown = Epochs(
        [StreamExample(example=one.example, stream=one.stream) for one in kept], seed=seed_for(context.seed, "sft")
    )
    return lambda index, _: shown(index)


def _general(path: Path | None, context: RecipeContext) -> list[Task]:
    if path is None:
        return []
    tasks = read_own_tasks(path, context)
    if boxed := sum(bool(first_image_boxes(task)) for task in tasks):
        logger.info("%d questions of %s have boxes, which are not used there; give them in --data", boxed, path)
    return [replace(task, targets=()) for task in tasks]


def _rates(general: Sequence[Task], path: Path | None) -> dict[str, float] | None:
    if path is None:
        return None
    rates = read_pass_rates(path)
    known = {task.id: rates[task.id] for task in general if task.id in rates}
    if not known:
        raise UserError(
            f"general_pass_rates={path} has the id of none of the {len(general)} questions without boxes; measure "
            "their pass rates with saccade curate ivgr select"
        )
    if len(known) < len(general):
        logger.info("%d questions without boxes have no pass rate yet and are asked", len(general) - len(known))
    return known


def _check_ids(tasks: Sequence[Task]) -> None:
    """UserError where two questions have one id, by which each is remembered."""
    times = Counter(task.id for task in tasks)
    if twice := [key for key, count in times.items() if count > 1]:
        raise UserError(
            f"{len(twice)} ids name a question of --data and another one of general_data "
            f"({', '.join(twice[:IDS_SHOWN])}{', …' if len(twice) > IDS_SHOWN else ''}); give each question its own"
        )
