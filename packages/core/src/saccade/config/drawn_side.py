"""Which of the user's questions are held out where nobody says it: by pictures, as many as wanted."""

import hashlib
from collections.abc import Mapping, Sequence

from saccade.seeding import generator_for
from saccade.types import Task


def drawn_by_count(by_picture: Mapping[str, Sequence[Task]], wanted: int) -> set[str]:
    """Pictures with ``wanted`` questions together, or a few less where no picture has just as many as are lacking."""
    ranks = {
        key: min(hashlib.sha256(task.id.encode("utf-8", "surrogatepass")).digest() for task in tasks)
        for key, tasks in by_picture.items()
    }
    ordered = sorted(by_picture, key=lambda key: (ranks[key], key))
    chosen: set[str] = set()
    left = min(max(wanted, 1), sum(map(len, by_picture.values())) - 1)
    for key in ordered:
        if len(by_picture[key]) <= left:
            chosen.add(key)
            left -= len(by_picture[key])
    return chosen or {min(ordered, key=lambda key: len(by_picture[key]))}


def drawn_by_seed(by_picture: Mapping[str, Sequence[Task]], held_out_share: float, seed: int) -> set[str]:
    """The choice of runs that kept no record: by a number for each picture, so that their count varied."""
    draws = {key: generator_for(seed, "held out", key).random() for key in by_picture}
    # With few pictures chance may put all on one side: then the nearest one changes sides.
    ordered = sorted(draws.values())
    bound = min(max(held_out_share, ordered[0]), ordered[-2])
    return {key for key, draw in draws.items() if draw <= bound}


def picture_key(seen: Sequence[str]) -> str:
    """All that a question shows, as one text."""
    return "+".join(sorted(seen))


def seen_in(task: Task) -> list[str]:
    """Contents that may not be on both sides: the task's documents, else its pictures, else its text.

    Pages of other documents that a retriever has brought do not count: they hold no answer.
    """
    documents = {page.document for page in task.gold_pages or ()} | ({task.document} if task.document else set())
    named = [f"the document {name!r} of {task.corpus!r}" for name in sorted(documents)]
    return named or [image.hash for image in task.images] or [f"the text {task.question!r}"]
