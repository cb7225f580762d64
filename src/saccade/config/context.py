"""The command line's part of a run, the user's own questions, and those that are held out."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from saccade.config.gold_check import report_golds
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.media.video import MAX_FRAMES
from saccade.seeding import generator_for
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.tasks import BadRow
from saccade.types import AnswerKind, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeContext:
    """The user's request; a recipe is a function ``recipe(context) -> Plan``."""

    data: Path | None = None
    """File or folder of the user's own tasks, or ``hf:name[:split]``; None when the recipe brings its own."""
    model: Path | None = None
    """Checkpoint directory to start from; None for the recipe's default."""
    env: str | None = None
    """An environment to train in, as ``--env`` names it; None when the recipe brings its own tasks."""
    overrides: tuple[str, ...] = ()
    """``key=value`` texts for ``apply_overrides`` on the recipe's own settings."""
    seed: int = 0
    skip_bad_rows: bool = False
    """Leave bad rows of ``data`` out instead of stopping before work starts."""
    answer_kind: AnswerKind | None = None
    """Kind of the answers of rows of ``data`` that name none; None to infer each from its answer."""
    image_root: Path | None = None
    """Folder in which relative paths of images in ``data`` begin; None for the folder of each file."""
    max_frames: int = MAX_FRAMES
    """Of a video in ``data`` at most so many frames are shown, evenly spaced."""
    media: MediaStore = field(default_factory=MediaStore)
    """Where the run's images live; the plan's tasks must put theirs there."""


REASONS_SHOWN = 5

logger = logging.getLogger(__name__)


def read_own_tasks(data: Path, context: RecipeContext) -> tuple[Task, ...]:
    """The tasks of ``--data``. The log says which kinds of answers they have, and which golds no reply can meet.

    Rows that ``--skip-bad-rows`` leaves out are counted in a warning, with reasons."""
    read = read_tasks(
        data,
        media=context.media,
        skip_bad_rows=context.skip_bad_rows,
        image_root=context.image_root,
        max_frames=context.max_frames,
        answer_kind=context.answer_kind,
    )
    report_golds(data, read.tasks)
    warn_of_bad_rows(data, read.skipped, len(read.tasks))
    return read.tasks


def warn_of_bad_rows(data: Path, skipped: Sequence[BadRow], good: int) -> None:
    """A warning that counts the rows that were left out, with reasons; nothing where there are none."""
    if not skipped:
        return
    reasons = [f"  {row}" for row in skipped[:REASONS_SHOWN]]
    if len(skipped) > REASONS_SHOWN:
        reasons.append(f"  and {len(skipped) - REASONS_SHOWN} more")
    logger.warning("%s: left out %d of %d rows:\n%s", data, len(skipped), len(skipped) + good, "\n".join(reasons))


Item = TypeVar("Item")


def without_held_out(
    items: Sequence[Item], held_out: Sequence[Task], task_of: Callable[[Item], Task], *, what: str
) -> list[Item]:
    """The items whose task shows no picture of ``held_out``, nor is the same text; ``what`` names them in the log.

    UserError when there were some and none is left.
    """
    measured = {key for task in held_out for key in _seen_in(task)}
    shown = [one for one in items if measured.isdisjoint(_seen_in(task_of(one)))]
    if items and not shown:
        raise UserError(f"all {len(items)} {what} show held-out pictures; give others")
    if len(shown) < len(items):
        logger.info("%d %s show held-out pictures and are left out", len(items) - len(shown), what)
    return shown


def split_held_out(tasks: Sequence[Task], held_out_share: float, *, seed: int) -> tuple[list[Task], list[Task]]:
    """Training and held-out tasks, neither empty; all questions on one picture fall on the same side.

    A picture's side depends on its pixels, the share and the seed, so that new questions leave the old ones where they
    are. Of a question about pages their documents stand for its pictures, of one without either its text. Raises
    UserError when there is only one picture.
    """
    draws = {key: generator_for(seed, "held out", key).random() for key in map(_picture_of, tasks)}
    if len(draws) < 2:
        raise UserError(
            f"{len(tasks)} questions on {len(draws)} picture cannot be split into training and held-out ones, since "
            "questions on one picture stay together; give questions on at least 2 pictures"
        )
    # With few pictures chance may put all on one side: then the nearest one changes sides.
    ordered = sorted(draws.values())
    bound = min(max(held_out_share, ordered[0]), ordered[-2])
    held_out = [task for task in tasks if draws[_picture_of(task)] <= bound]
    training = [task for task in tasks if draws[_picture_of(task)] > bound]
    return training, held_out


def _picture_of(task: Task) -> str:
    return "+".join(sorted(_seen_in(task)))


def _seen_in(task: Task) -> list[str]:
    """Contents that may not be on both sides: the task's documents, else its pictures, else its text.

    Pages of other documents that a retriever has brought do not count: they hold no answer.
    """
    documents = {page.document for page in task.gold_pages or ()} | ({task.document} if task.document else set())
    named = [f"the document {name!r} of {task.corpus!r}" for name in sorted(documents)]
    return named or [image.hash for image in task.images] or [f"the text {task.question!r}"]
