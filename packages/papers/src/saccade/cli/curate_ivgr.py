"""``saccade curate ivgr``: the data of iVGR's cold start and its general subset."""

from pathlib import Path
from typing import Unpack

import click

from saccade.cli import options
from saccade.cli.curate_options import WHO, CurationOptions, curation_options
from saccade.cli.machine import existing
from saccade.cli.options import PATH


@click.group()
def ivgr() -> None:
    """Make iVGR's data: trajectories in plain words, and questions of the right difficulty."""


first_rows = click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Use only the first N.")


@ivgr.command("rewrite")
@click.option("--data", type=PATH, required=True, help="Trajectories with boxes: a file or a folder.")
@first_rows
@options.skip_bad_rows
@curation_options({"teacher": f"Model that rewrites the trajectories: {WHO}."}, first="teacher")
def rewrite(data: Path, count: int | None, skip_bad_rows: bool, **curation: Unpack[CurationOptions]) -> None:
    """Rewrite some cold-start trajectories in plain words without boxes.

    A kept rewriting gives the right answer, states no position in numbers, and names every thing that had a box.
    """
    from saccade.curation.ivgr.run import IvgrRequest, rewrite_trajectories

    found = existing("--data", data) or data
    report = rewrite_trajectories(IvgrRequest(data=found, count=count, skip_bad_rows=skip_bad_rows, **curation))
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {curation['out'] / 'examples.jsonl'}")


@ivgr.command("select")
@click.option("--data", type=PATH, required=True, help="Your own questions: a file or a folder.")
@first_rows
@options.skip_bad_rows
@curation_options(
    {"solver": f"Model that answers: {WHO}; or a file or run with its answers or pass rates."},
    first="solver",
    out="Folder of the questions.",
)
def select(data: Path, count: int | None, skip_bad_rows: bool, **curation: Unpack[CurationOptions]) -> None:
    """Keep the questions that a model answers right 1 or 2 times out of 5."""
    from saccade.curation.ivgr.run import IvgrRequest, select_questions

    found = existing("--data", data) or data
    report = select_questions(IvgrRequest(data=found, count=count, skip_bad_rows=skip_bad_rows, **curation))
    click.echo(report.describe(), nl=False)
    click.echo(f"Questions: {curation['out'] / 'questions.jsonl'}")
