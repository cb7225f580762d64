"""``saccade report`` writes the report of a run again, with what a judge or an encoder of pages says of it."""

from pathlib import Path

import click

from saccade.cli import options
from saccade.cli.machine import prepare_machine, telling_of_waits
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.entry_points import part
from saccade.errors import UserError


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option(
    "--judge",
    metavar="URL|CHECKPOINT",
    help="Ask this model about wrong answers with tools: did calls ask for the wrong thing (E4), or was a right result "
    "misread (E6)? Its verdicts stay with the run.",
)
@options.judge_model
@options.api_key_env
@click.option(
    "--stars",
    type=click.Choice(["text", "pages"]),
    help="Ask the judge instead for 1 to 5 stars of every evaluated response: coherence, faithfulness, agreement. With "
    "pages it is shown the question's images too.",
)
@click.option(
    "--evidence",
    is_flag=True,
    help="Ask the judge instead of each picture that a call returned whether it shows what the question needs.",
)
@click.option(
    "--why",
    metavar="ENCODER|run",
    help="Show on the pages why they were retrieved, by this page encoder (a directory or a server's URL) or by the "
    "one in the run's settings (run). The result stays with the run.",
)
def report(
    run_directory: Path,
    judge: str | None,
    judge_model: str | None,
    api_key_env: str,
    stars: str | None,
    evidence: bool,
    why: str | None,
) -> None:
    """Write report.html and report.json of a run again, even while it is running."""
    if judge is None:
        refuse_unread("without --judge", "judge_model", "api_key_env")
    if stars is not None and judge is None:
        raise UserError(f"--stars {stars} needs a judge to give them; name it with --judge SERVER_OR_CHECKPOINT")
    if evidence and (judge is None or stars is not None):
        raise UserError(
            "--evidence needs a judge that looks, and no --stars; name it with --judge SERVER_OR_CHECKPOINT"
        )
    if judge is not None and evidence:
        prepare_machine(None)
        with telling_of_waits("asking the judge"):
            count = part("--evidence")(run_directory, judge, judge_model, api_key_env=api_key_env)
        click.echo(f"Judged: {count} calls that gave a picture")
    elif judge is not None and stars is not None:
        prepare_machine(None)
        sees_pages = stars == "pages"
        with telling_of_waits("asking the judge"):
            count = part("--stars")(run_directory, judge, judge_model, sees_pages=sees_pages, api_key_env=api_key_env)
        click.echo(f"Judged: {count} responses have stars")
    elif judge is not None:
        prepare_machine(None)
        with telling_of_waits("asking the judge"):
            count = part("--judge")(run_directory, judge, judge_model, api_key_env=api_key_env)
        click.echo(f"Judged: {count} wrong trajectories")
    if why is not None:
        prepare_machine(None)
        with telling_of_waits("reading pages"):
            count = part("--why")(run_directory, why)
        click.echo(f"Explained: the pages of {count} questions")
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.report import write_report

    write_report(RunPaths(root=run_directory))
    click.echo(f"Report: {run_directory / 'report.html'}")
