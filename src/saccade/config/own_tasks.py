"""The user's own tasks, with a word on the rows that were left out."""

import logging
from collections.abc import Sequence
from pathlib import Path

from saccade.config.context import RecipeContext
from saccade.tasks.files import BadRow, read_tasks
from saccade.types import Task

REASONS_SHOWN = 5

logger = logging.getLogger(__name__)


def read_own_tasks(data: Path, context: RecipeContext) -> tuple[Task, ...]:
    """The tasks of ``--data``. Rows that ``--skip-bad-rows`` leaves out are counted in a warning, with reasons."""
    read = read_tasks(data, media=context.media, skip_bad_rows=context.skip_bad_rows, image_root=context.image_root)
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
