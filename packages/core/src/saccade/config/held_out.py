"""Questions that a run measures and never trains on: chosen once, and kept in the run's folder by their rows.

``held_out.json`` names each held-out row by its identity (its id, else a hash of the row as it is written), with the
pictures that it showed when the run began. A resumed run holds out the same rows, wherever they stand now and however
their pictures were saved since.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.config.context import RecipeContext, read_own_tasks, read_split
from saccade.errors import UserError
from saccade.plain_files import plain_text
from saccade.seeding import generator_for
from saccade.tasks.sources import measured_part, splits_of
from saccade.tasks.splits import held_out_split, training_split
from saccade.types import Json, Task

_VERSION = 1
_GIVEN = "held_out/"
"""Begins the identities of rows that do not lie among those to train on."""

logger = logging.getLogger(__name__)

Item = TypeVar("Item")


def split_held_out(
    tasks: Sequence[Task],
    held_out_share: float,
    context: RecipeContext,
    *,
    prepared: Callable[[Sequence[Task]], Sequence[Task]] = tuple,
) -> tuple[list[Task], list[Task]]:
    """Training and held-out tasks, neither empty.

    Held out are the questions of ``context.held_out``, ``prepared`` as the recipe has ``tasks``; else the validation
    or test split beside what was read; else as many of ``tasks`` as the share says, the same for every seed: those
    whose ids have the least hashes, all questions on one picture together. Of a question about pages their documents
    stand for its pictures, of one without either its text. A resumed run holds out the rows that it held out before;
    rows that are new since are trained on, unless they show what is held out. Raises UserError when there is nothing
    to hold out or to train on.
    """
    kept = None if context.held_out_file is None else read_held_out(context.held_out_file)
    was_drawn = context.is_of_earlier_version or (kept and not any(one.startswith(_GIVEN) for one in kept))
    given = None if was_drawn else given_held_out(context)
    if given is not None:
        if any(one.partition("=")[0].strip() == "held_out_share" for one in context.overrides):
            logger.warning("set without effect: held_out_share (the held-out questions are given)")
        training, held_out = _apart_from_given(tasks, prepared(given), context)
    elif kept:
        training, held_out = _apart_from_kept(tasks, kept, context)
    else:
        training, held_out = _apart_from_drawn(tasks, held_out_share, context)
    if kept:
        held_out = _those_kept(held_out, kept, context)
    context.held_out_rows.kept = kept or {_identity(task, context): seen_in(task) for task in held_out}
    return training, held_out


def without_held_out(
    items: Sequence[Item], held_out: Sequence[Task], task_of: Callable[[Item], Task], *, what: str
) -> list[Item]:
    """The items whose task shows no picture of ``held_out``, nor is the same text; ``what`` names them in the log.

    UserError when there were some and none is left.
    """
    measured = {key for task in held_out for key in seen_in(task)}
    shown = [one for one in items if measured.isdisjoint(seen_in(task_of(one)))]
    if items and not shown:
        raise UserError(f"all {len(items)} {what} show held-out pictures; give others")
    if len(shown) < len(items):
        logger.info("%d %s show held-out pictures and are left out", len(items) - len(shown), what)
    return shown


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


def given_held_out(context: RecipeContext) -> Sequence[Task] | None:
    """The questions of ``--held-out``, else of the split of ``--data`` that is there for it; None where there is none.

    A split whose rows have no answers, as published tests do, is no such split; the log says so.
    """
    if context.held_out is not None:
        return read_own_tasks(context.held_out, replace(context, split=None), split=measured_part(context.held_out))
    splits = {} if context.data is None or context.split is not None else splits_of(context.data)
    if context.data is None or not splits:
        return None
    split = held_out_split(splits, context.data)
    if split is None or split == training_split(splits, context.data):
        return None
    try:
        return read_own_tasks(context.data, context, split=split, purpose="held out")
    except UserError as error:
        if not context.skip_bad_rows and _has_good_rows(context.data, context, split):
            raise
        logger.warning(
            "%s: nothing of its split %s can be measured on; a share of the others is held out instead. %s",
            *(context.data, split, " ".join(str(error).split("\n")[:2])),
        )
        return None


def _has_good_rows(data: Path, context: RecipeContext, split: str) -> bool:
    try:
        return bool(read_split(data, replace(context, skip_bad_rows=True), split).tasks)
    except UserError:
        return False


def _apart_from_given(
    tasks: Sequence[Task], given: Sequence[Task], context: RecipeContext
) -> tuple[list[Task], list[Task]]:
    """The tasks that are none of the given ones, and the given ones, with ids that no other task has."""
    if not given:
        raise UserError(f"{context.held_out or context.data}: no question is left to measure on; give others")
    asked, seen = {_question_key(task) for task in given}, {key for task in given for key in seen_in(task)}
    training = [task for task in tasks if _question_key(task) not in asked]
    if not training:
        raise UserError(f"all {len(tasks)} questions to train on are held out too; give others")
    on_seen = sum(not seen.isdisjoint(seen_in(task)) for task in training)
    if len(training) < len(tasks) or on_seen:
        logger.warning(
            "%d of %d questions to train on are held out too, the same on the same pictures, and are left out of "
            "training; %d more show a held-out picture",
            *(len(tasks) - len(training), len(tasks), on_seen),
        )
    taken, held_out = {task.id for task in training}, []
    for task in given:
        identity = f"{_GIVEN}{_identity(task, context)}"
        held_out.append(replace(task, id=f"held_out-{task.id}") if task.id in taken else task)
        context.held_out_rows.identities[held_out[-1].id] = identity
    return training, held_out


def _apart_from_kept(
    tasks: Sequence[Task], kept: Mapping[str, Sequence[str]], context: RecipeContext
) -> tuple[list[Task], list[Task]]:
    held_out = [task for task in tasks if _identity(task, context) in kept]
    seen = {picture_key(keys) for keys in kept.values()} | {picture_key(seen_in(task)) for task in held_out}
    others = [task for task in tasks if _identity(task, context) not in kept]
    training = [task for task in others if picture_key(seen_in(task)) not in seen]
    if len(training) < len(others):
        logger.warning("%d questions show held-out pictures and are left out", len(others) - len(training))
    return training, held_out


def _apart_from_drawn(tasks: Sequence[Task], share: float, context: RecipeContext) -> tuple[list[Task], list[Task]]:
    by_picture: dict[str, list[Task]] = {}
    for task in tasks:
        by_picture.setdefault(picture_key(seen_in(task)), []).append(task)
    if len(by_picture) < 2:
        raise UserError(
            f"{len(tasks)} questions on {len(by_picture)} picture cannot be split into training and held-out ones, "
            "since questions on one picture stay together; give questions on at least 2 pictures"
        )
    if context.is_of_earlier_version:
        chosen = drawn_by_seed(by_picture, share, context.seed)
    else:
        chosen = drawn_by_count(by_picture, round(share * len(tasks)))
    are_held_out = [picture_key(seen_in(task)) in chosen for task in tasks]
    return (
        [task for task, is_held_out in zip(tasks, are_held_out) if not is_held_out],
        [task for task, is_held_out in zip(tasks, are_held_out) if is_held_out],
    )


def _those_kept(held_out: Sequence[Task], kept: Mapping[str, Sequence[str]], context: RecipeContext) -> list[Task]:
    """Those that the run has held out from its start; the log says how they differ from what they were."""
    found = [task for task in held_out if _identity(task, context) in kept]
    if not found:
        raise UserError(
            f"none of the {len(kept)} questions of {context.held_out_file} is among those given now; resume the run "
            "with its own questions, or choose another --out"
        )
    lost = len(kept.keys() - {_identity(task, context) for task in found})
    changed = sum(list(kept[_identity(task, context)]) != seen_in(task) for task in found)
    for count, what in (
        (lost, "are no longer there"),
        (len(held_out) - len(found), "are new since the run began, and not measured"),
        (changed, "show other pictures than when the run began"),
    ):
        if count:
            logger.warning("%d of %d held-out questions %s", count, len(kept), what)
    return found


def _identity(task: Task, context: RecipeContext) -> str:
    return context.held_out_rows.identities.get(task.id, task.id)


def _question_key(task: Task) -> tuple[str, str]:
    return " ".join(task.question.split()).casefold(), picture_key(seen_in(task))


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
