"""Where an environment draws its tasks from."""

from collections.abc import Callable, Sequence

import numpy as np

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.procedural import Family, generate
from saccade.types import Task

TaskSource = Callable[[np.random.Generator], Task]

INDEX_BOUND = 1 << 31
"""Indices of endless sources are drawn below this."""


def task_source(
    *,
    tasks: Sequence[Task] | Callable[[int], Task] | None,
    family: Family | None,
    split: str,
    seed: int,
    difficulty: float,
    media: MediaStore,
) -> TaskSource | None:
    """Draws from a sequence, a function of an index, or a procedural family; None when neither is given."""
    if tasks is not None and family is not None:
        raise UserError(f"both tasks and family={family!r} are given; pass one of them")
    if family is not None:
        # Here, not at the first reset, so that a wrong name, split or difficulty stops before work starts.
        generate(family, split=split, index=0, seed=seed, media=MediaStore(), difficulty=difficulty)

        def from_family(rng: np.random.Generator) -> Task:
            index = int(rng.integers(INDEX_BOUND))
            return generate(family, split=split, index=index, seed=seed, media=media, difficulty=difficulty).task

        return from_family
    if tasks is None:
        return None
    return _from_function(tasks) if callable(tasks) else _from_sequence(tasks)


def check_stored(task: Task, media: MediaStore) -> None:
    """``UserError`` for a task whose images are not in the store."""
    for image in task.images:
        if image.hash not in media:
            raise UserError(
                f"image {image.hash[:12]} of task {task.id} is not in the environment's media store; pass the "
                "store that the task was made with as media="
            )


def _from_function(tasks: Callable[[int], Task]) -> TaskSource:
    return lambda rng: tasks(int(rng.integers(INDEX_BOUND)))


def _from_sequence(tasks: Sequence[Task]) -> TaskSource:
    if not tasks:
        raise UserError("tasks is empty; pass at least one task")
    return lambda rng: tasks[int(rng.integers(len(tasks)))]
