"""The user's own tasks, with a word on the rows that were left out."""

import logging
from pathlib import Path

from saccade.tasks.files import read_tasks
from saccade.train.context import RecipeContext
from saccade.types import Task

REASONS_SHOWN = 5

logger = logging.getLogger(__name__)


def own_tasks(data: Path, context: RecipeContext) -> tuple[Task, ...]:
    """The tasks of ``--data``. Rows that ``--skip-bad-rows`` leaves out are counted in a warning, with reasons."""
    read = read_tasks(data, media=context.media, skip_bad_rows=context.skip_bad_rows)
    if read.skipped:
        reasons = [f"  {row}" for row in read.skipped[:REASONS_SHOWN]]
        if len(read.skipped) > REASONS_SHOWN:
            reasons.append(f"  and {len(read.skipped) - REASONS_SHOWN} more")
        rows = len(read.skipped) + len(read.tasks)
        logger.warning("%s: left out %d of %d rows:\n%s", data, len(read.skipped), rows, "\n".join(reasons))
    return read.tasks
