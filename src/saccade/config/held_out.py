"""Questions that a run measures and never trains on: chosen once, and kept in the run's folder by their rows.

``held_out.json`` names each held-out row by its identity (its id, else a hash of the row as it is written), with the
pictures that it showed when the run began. A resumed run holds out the same rows, wherever they stand now and however
their pictures were saved since.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.plain_files import plain_text
from saccade.seeding import generator_for
from saccade.types import Json, Task

_VERSION = 1

logger = logging.getLogger(__name__)

Item = TypeVar("Item")


def split_held_out(
    tasks: Sequence[Task], held_out_share: float, context: RecipeContext
) -> tuple[list[Task], list[Task]]:
    """Training and held-out tasks, neither empty; all questions on one picture fall on the same side.

    A new run holds out as many tasks as the share says, the same for every seed: those whose ids have the least
    hashes, by pictures. Of a question about pages their documents stand for its pictures, of one without either its
    text. A resumed run holds out the rows that it held out before; rows that are new since are trained on, unless they
    show what is held out. Raises UserError when there is only one picture, or none of the held-out rows is left.
    """
    rows = context.held_out_rows
    kept = None if context.held_out_file is None else read_held_out(context.held_out_file)
    if kept is not None:
        training, held_out = _sides_kept(tasks, kept, context)
        rows.kept = kept
        return training, held_out
    by_picture: dict[str, list[Task]] = {}
    for task in tasks:
        by_picture.setdefault(_picture_of(task), []).append(task)
    if len(by_picture) < 2:
        raise UserError(
            f"{len(tasks)} questions on {len(by_picture)} picture cannot be split into training and held-out ones, "
            "since questions on one picture stay together; give questions on at least 2 pictures"
        )
    if context.held_out_file is None:
        chosen = _drawn(by_picture, round(held_out_share * len(tasks)))
    else:
        chosen = _drawn_by_seed(by_picture, held_out_share, context.seed)
    held_out = [task for task in tasks if _picture_of(task) in chosen]
    rows.kept = {_identity(task, context): _seen_in(task) for task in held_out}
    return [task for task in tasks if _picture_of(task) not in chosen], held_out


def without_held_out(
    items: Sequence[Item], held_out: Sequence[Task], task_of: Callable[[Item], Task], *, what: str
) -> list[Item]:
    """The items whose task shows no picture of ``held_out``, nor is the same text; ``what`` names them in the log.

    UserError when there were some and none is left.
    """
    return _without(items, {key for task in held_out for key in _seen_in(task)}, task_of, what)


def read_held_out(path: Path) -> dict[str, list[str]] | None:
    """What each held-out row of a run showed, by the row's identity; None for a run that keeps none.

    UserError for a broken record.
    """
    if not path.exists():
        return None
    try:
        fields = Fields(json.loads(plain_text(path)), "the record")
        if fields.whole("version") != _VERSION:
            raise fields.wrong("version", str(_VERSION))
        rows = fields.mapping("rows")
        return {identity: [str(key) for key in Fields(rows, "rows").items(identity)] for identity in rows}
    except (OSError, ValueError, BrokenRecordError, RecursionError) as error:
        raise UserError(f"{path}, which says what the run holds out, cannot be read: {error}") from error


def held_out_json(context: RecipeContext) -> dict[str, Json] | None:
    """The content of ``held_out.json`` after the recipe was called; None where it held nothing out."""
    rows = context.held_out_rows.kept
    return None if rows is None else {"version": _VERSION, "rows": {name: list(seen) for name, seen in rows.items()}}


def _sides_kept(
    tasks: Sequence[Task], kept: dict[str, list[str]], context: RecipeContext
) -> tuple[list[Task], list[Task]]:
    held_out = [task for task in tasks if _identity(task, context) in kept]
    if not held_out:
        raise UserError(
            f"none of the {len(kept)} questions of {context.held_out_file} is among the {len(tasks)} given now; "
            "resume it with its own questions, or choose another --out"
        )
    if len(held_out) < len(kept):
        logger.warning("%d of %d held-out questions are no longer there", len(kept) - len(held_out), len(kept))
    changed = sum(kept[_identity(task, context)] != _seen_in(task) for task in held_out)
    if changed:
        logger.warning(
            "%d of %d held-out questions show other pictures than when the run began", changed, len(held_out)
        )
    seen = {key for keys in kept.values() for key in keys} | {key for task in held_out for key in _seen_in(task)}
    others = [task for task in tasks if _identity(task, context) not in kept]
    return _without(others, seen, lambda task: task, "questions"), held_out


def _without(items: Sequence[Item], seen: set[str], task_of: Callable[[Item], Task], what: str) -> list[Item]:
    shown = [one for one in items if seen.isdisjoint(_seen_in(task_of(one)))]
    if items and not shown:
        raise UserError(f"all {len(items)} {what} show held-out pictures; give others")
    if len(shown) < len(items):
        logger.info("%d %s show held-out pictures and are left out", len(items) - len(shown), what)
    return shown


def _drawn(by_picture: dict[str, list[Task]], wanted: int) -> set[str]:
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


def _drawn_by_seed(by_picture: dict[str, list[Task]], held_out_share: float, seed: int) -> set[str]:
    """The choice of runs that kept no record: by a number for each picture, so that their count varied."""
    draws = {key: generator_for(seed, "held out", key).random() for key in by_picture}
    # With few pictures chance may put all on one side: then the nearest one changes sides.
    ordered = sorted(draws.values())
    bound = min(max(held_out_share, ordered[0]), ordered[-2])
    return {key for key, draw in draws.items() if draw <= bound}


def _identity(task: Task, context: RecipeContext) -> str:
    return context.held_out_rows.identities.get(task.id, task.id)


def _picture_of(task: Task) -> str:
    return "+".join(sorted(_seen_in(task)))


def _seen_in(task: Task) -> list[str]:
    """Contents that may not be on both sides: the task's documents, else its pictures, else its text.

    Pages of other documents that a retriever has brought do not count: they hold no answer.
    """
    documents = {page.document for page in task.gold_pages or ()} | ({task.document} if task.document else set())
    named = [f"the document {name!r} of {task.corpus!r}" for name in sorted(documents)]
    return named or [image.hash for image in task.images] or [f"the text {task.question!r}"]
