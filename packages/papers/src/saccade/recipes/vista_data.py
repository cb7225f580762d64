"""Data of a VISTA-R1 run: questions from folders of data sets or one file of your own, and trajectories to imitate."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config import RecipeContext, read_own_tasks, split_held_out, warn_of_bad_rows, without_held_out
from saccade.curation.vista import read_tool_examples
from saccade.errors import UserError
from saccade.recipes.vista_settings import VistaSettings, check_known
from saccade.seeding import seed_for
from saccade.tasks import DATA_SETS, Epochs, drop_duplicates, read_data_set
from saccade.train import ExampleSource
from saccade.types import Example, StreamExample, Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSplit:
    """The tasks to train on and those to measure on, without a picture or a long question in common."""

    training: Sequence[Task]
    held_out: Sequence[Task]


def read_questions(data: Path, settings: VistaSettings, context: RecipeContext) -> TrainingSplit:
    """All questions of ``--data``; UserError when there is nothing to train on or to measure on."""
    names = _data_sets(data, settings)
    if not names:
        training, held_out = split_held_out(read_own_tasks(data, context), settings.held_out_share, context)
        return TrainingSplit(training=training, held_out=held_out)
    held_out = [task for name in names for task in _test_tasks(name, data / name, settings, context)]
    drawn = [
        task for name in names if DATA_SETS[name].train_size for task in _training_tasks(name, data, settings, context)
    ]
    kept = drop_duplicates(drawn, held_out)
    logger.info("%s", kept.describe())
    if not kept.train or not held_out:
        missing = "to train on" if held_out else "to measure on"
        raise UserError(f"{data}: the data sets {', '.join(names)} hold no question {missing}")
    return TrainingSplit(training=kept.train, held_out=held_out)


def read_trajectories(
    settings: VistaSettings, held_out: Sequence[Task], context: RecipeContext
) -> ExampleSource | None:
    """All trajectories of ``sft_data`` in random order, then again in another; None where none are to be imitated."""
    read = [one for data in settings.sft_data for one in read_tool_examples(data, context.media)]
    examples = without_held_out(read, held_out, lambda one: one.task, what="trajectories to imitate")
    if not settings.with_tools:
        examples = [replace(one, turns=one.turns[-1:]) for one in examples]
    if not settings.reasoning:
        examples = [without_thoughts(one) for one in examples]
    if not (settings.sft.steps and examples):
        return None
    shown = Epochs([StreamExample(example=one) for one in examples], seed=seed_for(context.seed, "sft"))
    return lambda index, _: shown(index)


def without_thoughts(example: Example) -> Example:
    """The same calls and answer, and nothing thought."""
    return replace(example, turns=tuple(replace(turn, thought="") for turn in example.turns))


def _data_sets(data: Path, settings: VistaSettings) -> Sequence[str]:
    """Those that are named, or all whose folder is there; none for a file of one's own questions."""
    check_known(settings.data_sets, tuple(DATA_SETS), "data_sets")
    there = [name for name in DATA_SETS if (data / name).is_dir()]
    if missing := [name for name in settings.data_sets if name not in there]:
        raise UserError(f"data_sets: {data} has no folder {missing[0]!r}; put the release of the data set there")
    return settings.data_sets or there


def _training_tasks(name: str, data: Path, settings: VistaSettings, context: RecipeContext) -> Sequence[Task]:
    take = DATA_SETS[name].train_size if settings.take else None
    return _read(name, data / name, "train", take, settings, context)


def _test_tasks(name: str, folder: Path, settings: VistaSettings, context: RecipeContext) -> Sequence[Task]:
    """Tasks of the test, or of validation where there is no test with answers; none where there is neither."""
    for part in ("test", "validation"):
        try:
            return _read(name, folder, part, settings.evaluation_tasks, settings, context)
        except UserError as error:
            logger.info("%s: no %s questions (%s)", name, part, error)
    return ()


def _read(
    name: str, folder: Path, part: str, take: int | None, settings: VistaSettings, context: RecipeContext
) -> Sequence[Task]:
    read = read_data_set(
        name,
        folder,
        split=part,
        media=context.media,
        take=take,
        seed=context.seed,
        skip_bad_rows=context.skip_bad_rows,
        published_rules=settings.published_rules,
    )
    warn_of_bad_rows(folder, read.skipped, len(read.tasks))
    return read.tasks
