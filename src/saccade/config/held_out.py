"""Held-out questions: no picture, and no question without one, that is measured on is trained on."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from saccade.errors import UserError
from saccade.seeding import generator_for
from saccade.types import Task

Item = TypeVar("Item")

logger = logging.getLogger(__name__)


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
    are. The text of a question without a picture stands for one. Raises UserError when there is only one picture.
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
    """What may not be on both sides: the task's pictures, or its text where it has none."""
    return [image.hash for image in task.images] or [f"the text {task.question!r}"]
