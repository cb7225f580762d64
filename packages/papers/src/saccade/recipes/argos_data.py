"""Traces that Argos' recipe imitates, read from the user's own file."""

import logging
from collections.abc import Sequence
from pathlib import Path

from saccade.config import RecipeContext, without_held_out
from saccade.curation.argos import read_pointed_examples
from saccade.errors import UserError
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import ExampleSource
from saccade.types import Example, StreamExample, Task

logger = logging.getLogger(__name__)


def traces_to_imitate(path: Path, held_out: Sequence[Task], context: RecipeContext) -> list[Example]:
    """Traces of ``path``; those of held-out pictures are left out."""
    read = read_pointed_examples(path, context.media)
    return without_held_out(read, held_out, lambda one: one.task, what=f"traces of {path}")


def in_random_order(traces: Sequence[Example], context: RecipeContext) -> ExampleSource:
    """The traces in random order, then again in another."""
    shown = Epochs([StreamExample(example=one) for one in traces], seed=seed_for(context.seed, "sft"))
    return lambda index, _: shown(index)


def apart_from(traces: Sequence[Example], questions: Sequence[Task]) -> list[Task]:
    """The questions on none of the traces' pictures; UserError where none is left."""
    imitated = {image.hash for one in traces for image in one.task.images} | {one.task.id for one in traces}
    apart = [one for one in questions if imitated.isdisjoint({one.id, *(image.hash for image in one.images)})]
    if not apart:
        raise UserError(
            f"all {len(questions)} questions are imitated already, and the paper's imitation and reinforcement share "
            "none; give traces of some of the questions alone, or set shares_data=true"
        )
    if len(apart) < len(questions):
        logger.info("%d of %d questions are imitated, and not reinforced", len(questions) - len(apart), len(questions))
    return apart
