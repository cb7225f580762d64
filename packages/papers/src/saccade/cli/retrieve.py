"""``saccade retrieve`` brings pages to questions about documents: it writes a file that every other command reads."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.index import ENCODER_HELP, page_encoder
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.media.store import MediaStore
    from saccade.types import Task

KS = (1, 3, 5)
"""Ranks at which recall is said, as far as there are so many pages."""


@click.command()
@click.argument("questions", type=PATH)
@click.argument("index_directory", type=PATH, metavar="INDEX")
@options.out_option("Directory for the file of questions and the pages.")
@click.option("-k", "count", type=click.IntRange(min=1), default=3, show_default=True, help="Pages per question.")
@click.option("--whole-corpus", is_flag=True, help="Search all documents, even if a question names one.")
@click.option("--gold", is_flag=True, help="Use the gold pages and --distractors instead of retrieved pages.")
@click.option(
    "--distractors", type=click.IntRange(min=0), default=0, show_default=True, help="Other pages beside the gold ones."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the distractors and the order.")
@click.option("--data-set", metavar="NAME", help="QUESTIONS is a release of this published data set.")
@click.option("--split", default="test", show_default=True, help="Split of the data set.")
@click.option(
    "--skip-bad-rows",
    is_flag=True,
    help="Leave out rows that cannot be used, and questions about documents that are not indexed.",
)
@click.option(
    "--encoder", "where", metavar="CHECKPOINT", help=f"By default the one that made the index. {ENCODER_HELP}"
)
@options.first_stage
@options.thread_count
@options.tells_of_waits
def retrieve(
    questions: Path,
    index_directory: Path,
    out: Path,
    count: int,
    whole_corpus: bool,
    gold: bool,
    distractors: int,
    seed: int,
    data_set: str | None,
    split: str,
    skip_bad_rows: bool,
    where: str | None,
    first_stage: str | None,
    threads: int,
) -> None:
    """Retrieve pages of INDEX for QUESTIONS: writes a file of questions on pictures, for train, eval and curate.

    The file is named after the data set or QUESTIONS, so that answers count as before. The output says how often the
    gold pages were found, if they are known.
    """
    from saccade.media.store import MediaStore
    from saccade.retrieval.first_stage import FirstStage
    from saccade.retrieval.store import open_index
    from saccade.retrieval.task_pages import Scope, oracle_pages, retrieved_pages
    from saccade.retrieval.two_stage import TwoStageIndex
    from saccade.tasks.datasets.reading import read_data_set
    from saccade.tasks.files import read_tasks

    if gold:
        refuse_unread("with --gold, which searches nothing", "count", "where", "first_stage")
    else:
        refuse_unread("without --gold", "distractors", "seed")
    if data_set is None:
        refuse_unread("without --data-set", "split")
    media = MediaStore()
    scope: Scope = "corpus" if whole_corpus else "document"
    pages = open_index(index_directory, threads=threads)
    asked: Sequence[Task]
    if data_set:
        asked = read_data_set(data_set, questions, split=split, media=media, skip_bad_rows=skip_bad_rows).tasks
    else:
        asked = read_tasks(questions, media=media, skip_bad_rows=skip_bad_rows, images_follow=True).tasks
    if skip_bad_rows and not whole_corpus:
        asked = _indexed_tasks(asked, set(pages.documents))
    if gold:
        shown = oracle_pages(asked, pages, media=media, distractors=distractors, seed=seed, scope=scope)
    else:
        searched = TwoStageIndex(pages, FirstStage.read(first_stage)) if first_stage else pages
        shown = retrieved_pages(asked, searched, page_encoder(where, pages), count, media=media, scope=scope)
    file = out / f"{data_set or questions.stem}.jsonl"
    _write(shown, file, media)
    click.echo("\n".join([f"{file}: {len(shown)} questions", *([] if gold else _recall_lines(shown, count))]))


def _indexed_tasks(tasks: "Sequence[Task]", documents: Set[str]) -> "Sequence[Task]":
    """The tasks whose documents are there; how many are not is said."""
    there = [task for task in tasks if task.document is None or task.document in documents]
    if len(there) < len(tasks):
        count = len(tasks) - len(there)
        click.echo(f"{count} questions are left out: the index does not have their documents", err=True)
    return there


def _write(tasks: "Sequence[Task]", file: Path, media: "MediaStore") -> None:
    from saccade.atomic import write_text_atomic
    from saccade.curation.rows import IMAGES, question_row

    lines = []
    for task in tasks:
        exported = [media.export_source(image, file.parent / IMAGES) for image in task.images]
        row = question_row(task, [f"{IMAGES}/{path.name}" for path in exported])
        further = {"answer": list(task.accepted), "buckets": list(task.buckets)}
        row |= {key: texts for key, texts in further.items() if texts}
        lines.append(strict_json(row, ensure_ascii=False) + "\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(file, "".join(lines))


def _recall_lines(tasks: "Sequence[Task]", count: int) -> list[str]:
    """Recall of the gold pages at some ranks; nothing where none are known."""
    from saccade.retrieval.metrics import mrr_at, recall_at

    gold = [(task.shown_pages, task.gold_pages) for task in tasks if task.gold_pages]
    if not gold:
        return []
    recalls = {k: [recall_at(ranked, wanted, k) or 0.0 for ranked, wanted in gold] for k in KS if k <= count}
    said = [f"R@{k} {sum(values) / len(gold):.1%}" for k, values in recalls.items()]
    ranks = [mrr_at(ranked, wanted, count) or 0.0 for ranked, wanted in gold]
    return [", ".join([*said, f"MRR@{count} {sum(ranks) / len(gold):.1%}"]) + f" of {len(gold)} with known pages"]
