"""Traces that Argos' recipe imitates, read from the user's own file."""

from collections.abc import Sequence
from pathlib import Path

from saccade.config import RecipeContext, without_held_out
from saccade.curation.argos import read_pointed_examples
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import ExampleSource
from saccade.types import StreamExample, Task


def traces_to_imitate(path: Path, held_out: Sequence[Task], context: RecipeContext) -> ExampleSource:
    """Traces of ``path`` in random order, then again in another; those of held-out pictures are left out."""
    read = read_pointed_examples(path, context.media)
    kept = without_held_out(read, held_out, lambda one: one.task, what=f"traces of {path}")
    shown = Epochs([StreamExample(example=one) for one in kept], seed=seed_for(context.seed, "sft"))
    return lambda index, _: shown(index)
