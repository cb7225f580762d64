"""What is trained on shows no picture that is measured on."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from saccade.errors import UserError
from saccade.types import Task

Item = TypeVar("Item")

logger = logging.getLogger(__name__)


def without_held_out(
    items: Sequence[Item], held_out: Sequence[Task], task_of: Callable[[Item], Task], *, what: str
) -> list[Item]:
    """The items whose task shows no picture of ``held_out``; ``what`` names them in the log.

    UserError when there were some and none is left.
    """
    measured = {image.hash for task in held_out for image in task.images}
    shown = [one for one in items if measured.isdisjoint(image.hash for image in task_of(one).images)]
    if items and not shown:
        raise UserError(f"all {len(items)} {what} show held-out pictures; give others")
    if len(shown) < len(items):
        logger.info("%d %s show held-out pictures and are left out", len(items) - len(shown), what)
    return shown
