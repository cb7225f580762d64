"""``saccade curate ivgr``: the data of iVGR's cold start and its general subset."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from saccade.cli.running import PATH, existing, log_to_stderr, prepare_machine

Command = TypeVar("Command", bound=Callable[..., None])

WHO = "URL of a server (http://host/v1), or a checkpoint directory"


def _options(*, data: str, out: str) -> Callable[[Command], Command]:
    """The options of both commands."""
    options = [
        click.option("--data", type=PATH, required=True, help=data),
        click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Use only the first N."),
        click.option(
            "--api-key-env",
            default="OPENAI_API_KEY",
            show_default=True,
            help="Environment variable with the server's key.",
        ),
        click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows of --data and report how many."),
        click.option("--out", type=PATH, required=True, help=out),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable."),
        click.option("--resume", is_flag=True, help="Continue the curation in --out; nothing is asked twice."),
        click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
    ]

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


@click.group()
def ivgr() -> None:
    """Make iVGR's data: trajectories in plain words, and questions of the right difficulty."""


@ivgr.command("rewrite")
@click.option("--teacher", required=True, help=f"Model that rewrites the trajectories: {WHO}.")
@click.option("--teacher-model", help="The teacher's model name at its server.")
@_options(data="Trajectories with boxes: a file or a folder.", out="Folder of the examples.")
def rewrite(
    teacher: str,
    teacher_model: str | None,
    data: Path,
    count: int | None,
    api_key_env: str,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Rewrite some cold-start trajectories in plain words without boxes.

    A kept rewriting gives the right answer, states no position in numbers, and names every thing that had a box.
    """
    prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from saccade.curation.ivgr.run import IvgrRequest, rewrite_trajectories

    report = rewrite_trajectories(
        IvgrRequest(
            data=existing("--data", data) or data,
            count=count,
            who=teacher,
            model=teacher_model,
            api_key_env=api_key_env,
            skip_bad_rows=skip_bad_rows,
            out=out,
            seed=seed,
            overrides=overrides,
            resume=resume,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {out / 'examples.jsonl'}")


@ivgr.command("select")
@click.option(
    "--solver", required=True, help=f"Model that answers: {WHO}; or a file or run with its answers or pass rates."
)
@click.option("--solver-model", help="The solver's model name at its server.")
@_options(data="Your own questions: a file or a folder.", out="Folder of the questions.")
def select(
    solver: str,
    solver_model: str | None,
    data: Path,
    count: int | None,
    api_key_env: str,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Keep the questions that a model answers right 1 or 2 times out of 5."""
    prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from saccade.curation.ivgr.run import IvgrRequest, select_questions

    report = select_questions(
        IvgrRequest(
            data=existing("--data", data) or data,
            count=count,
            who=solver,
            model=solver_model,
            api_key_env=api_key_env,
            skip_bad_rows=skip_bad_rows,
            out=out,
            seed=seed,
            overrides=overrides,
            resume=resume,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Questions: {out / 'questions.jsonl'}")
