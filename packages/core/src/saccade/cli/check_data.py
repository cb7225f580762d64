"""``saccade check-data``: what a file holds, as its questions are asked and graded, or its conversations imitated."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import log_to_stderr
from saccade.cli.options import PATH
from saccade.cli.running import task_context
from saccade.cli.unread_options import refuse_unread

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext
    from saccade.types import AnswerKind, Task

ROWS = 20
CONVERSATIONS = 1
MAX_QUESTION_CHARACTERS = 300


@click.command("check-data")
@click.argument("data", type=PATH)
@options.split
@options.image_root
@options.max_frames
@options.row_options
@options.skip_bad_rows
@click.option("-n", "--rows", type=click.IntRange(min=0), help="Rows to print, by default 20; 1 for sft and dpo.")
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["questions", "sft", "dpo"]),
    default="questions",
    show_default=True,
    help="questions: to be asked. sft: conversations to imitate, shown in tokens. dpo: pairs, of a file or a run.",
)
@click.option(
    "--model", type=PATH, help="With --for sft and dpo: the checkpoint whose tokens and chat template are used."
)
@options.overrides
def check_data(
    data: Path,
    split: str | None,
    image_root: Path | None,
    max_frames: int | None,
    answer_kind: "AnswerKind | None",
    box_frame: str | None,
    min_iou: float | None,
    skip_bad_rows: bool,
    rows: int | None,
    purpose: str,
    model: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Say how the rows of a file are understood, and print the first of them.

    DATA is a file or folder, as --data of the other commands; of a folder every split, or --split. Of questions: kinds
    of answers and golds that no reply can meet; exits with 1 where a gold is not met by itself, or is met by a near
    miss. Of conversations and pairs: how many tokens are learned; lines that begin with > are those that the model
    learns to say, or not to.
    """
    if purpose == "questions":
        refuse_unread("on --for questions", "model", "overrides")
    context = task_context(
        data=data,
        model=model,
        overrides=overrides,
        seed=0,
        skip_bad_rows=skip_bad_rows,
        image_root=image_root,
        max_frames=max_frames,
        answer_kind=answer_kind,
        box_frame=box_frame,
        min_iou=min_iou,
        split=None if purpose == "questions" else split,
    )
    if purpose != "questions":
        log_to_stderr(is_quiet=False)
        check = _check_conversations if purpose == "sft" else _check_pairs
        check(context, CONVERSATIONS if rows is None else rows)
        return
    log_to_stderr(is_quiet=True)
    _check_questions(context, split, ROWS if rows is None else rows)


def _check_conversations(context: "RecipeContext", rows: int) -> None:
    from saccade.config.own_conversations import token_lines
    from saccade.recipes.sft_data import read_requested

    read = read_requested(context)
    for conversation in read.conversations[:rows]:
        click.echo(f"{conversation.task.id}:")
        click.echo("\n".join(token_lines(read.writer.write(conversation).trajectory, read.writer.chat)))


def _check_pairs(context: "RecipeContext", rows: int) -> None:
    from saccade.config.own_conversations import token_lines
    from saccade.recipes.dpo_data import read_requested

    read = read_requested(context)
    click.echo(f"{len(read.learned)} pairs to learn from, {len(read.held_out)} held out")
    for pair in read.learned[:rows]:
        for what, trajectory in (("chosen", pair.chosen), ("rejected", pair.rejected)):
            reward = "" if trajectory.score is None else f", reward {trajectory.score.total:g}"
            click.echo(f"{pair.task.id}, {what}{reward}:")
            click.echo("\n".join(token_lines(trajectory, read.chat)))


def _check_questions(context: "RecipeContext", split: str | None, rows: int) -> None:
    from saccade.tasks.sources import splits_of
    from saccade.tasks.splits import split_list

    assert context.data is not None
    if context.box_frame is not None:
        click.echo(f"Boxes of answers in {context.box_frame} are shown in pixels of the picture as it is stored.")
    splits = splits_of(context.data)
    if splits:
        click.echo(f"{context.data}: {split_list(splits)}")
    has_weak = [_print_split(context, name, rows) for name in ([split] if split or not splits else splits)]
    if any(has_weak):
        click.get_current_context().exit(1)


def _print_split(context: "RecipeContext", split: str | None, rows: int) -> bool:
    """Prints what a split holds; whether a gold of it is weak."""
    from saccade.config.context import read_split, warn_of_bad_rows
    from saccade.config.gold_check import describe_kinds, weak_golds
    from saccade.tasks.rows.unread import unread_words

    assert context.data is not None
    read = read_split(context.data, context, split)
    warn_of_bad_rows(context.data, read.skipped, len(read.tasks))
    for task in read.tasks[:rows]:
        click.echo(_row(task))
    click.echo(f"{split}: {describe_kinds(read.tasks)}" if split else describe_kinds(read.tasks))
    if read.unread:
        click.echo(f"keys that are not read: {unread_words(read.unread)}")
    weak = weak_golds(read.tasks)
    for one in weak:
        click.echo(f"  {one}")
    unmet = sum(not one.is_met for one in weak)
    click.echo(f"{unmet} golds are not met by themselves, {len(weak) - unmet} are met by a near miss")
    return bool(weak)


def _row(task: "Task") -> str:
    """The question as it is asked, its options, the answers that count and their kind."""
    question = task.question if len(task.question) <= MAX_QUESTION_CHARACTERS else f"{task.question[:300]}…"
    options = [f"  {chr(ord('A') + place)}. {text}" for place, text in enumerate(task.choices)]
    golds = " or ".join(dict.fromkeys(task.accepted or (task.answer,)))
    shown = f"{len(task.images)} picture{'s' if len(task.images) != 1 else ''}"
    return "\n".join([f"{task.id} ({shown}): {question}", *options, f"  -> {golds}  [{task.answer_kind}]"])
