"""``saccade curate``: questions made into examples to imitate, by CodeDance and VISTA-Gym.

Argos', iVGR's and Lang2Act's commands are in ``curate_argos``, ``curate_ivgr`` and ``curate_tools``.
"""

from pathlib import Path
from typing import Unpack

import click

from saccade.cli import options
from saccade.cli.curate_argos import argos
from saccade.cli.curate_ivgr import ivgr
from saccade.cli.curate_options import WHO, CurationOptions, curation_options
from saccade.cli.curate_tools import tools as linguistic_tools
from saccade.cli.curate_tools import tools_diff
from saccade.cli.machine import existing
from saccade.cli.options import PATH
from saccade.errors import UserError

RATES = "; or a file or run with its answers or pass rates"


@click.group()
def curate() -> None:
    """Turn questions into examples for SFT, select questions, and curate linguistic tools."""


curate.add_command(argos)
curate.add_command(ivgr)
curate.add_command(linguistic_tools)
curate.add_command(tools_diff)


@curate.command("vista")
@click.option("--data", type=PATH, help="Your own questions: a file or a folder; or a data set's release.")
@click.option("--data-set", help="Name of the data set whose release --data is, such as chartqa.")
@click.option("--split", default="train", show_default=True, help="Split of the data set.")
@click.option("--drawn", is_flag=True, help="Or: drawn questions of the seven types, with tools of their own.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Number of questions, by default all (70 drawn).")
@click.option("--tools", type=PATH, help="A tools.toml that says which tools there are.")
@click.option("--service", help="Or the address of a tool service.")
@options.skip_bad_rows
@curation_options(
    {
        "teacher": f"Model that plays: {WHO}; or, for drawn questions, the word expert.",
        "densifier": f"Model that rewrites the thoughts at length: {WHO}.",
    },
    first="teacher",
)
def vista(
    data: Path | None,
    data_set: str | None,
    split: str,
    drawn: bool,
    count: int | None,
    tools: Path | None,
    service: str | None,
    skip_bad_rows: bool,
    **curation: Unpack[CurationOptions],
) -> None:
    """Make trajectories of a teacher with real tools; keep those that are right and in good form, with long thoughts.

    Every kept trajectory ends with the right answer by the metric of its data set. The densifier's text is used only
    where calls and answer are unchanged and no thought knows what a later turn finds out.
    """
    if (data is None) == (not drawn):
        raise UserError("give either --data PATH or --drawn, so that there are questions")
    from saccade.curation.vista.run import VistaRequest, curate_vista
    from saccade.miniature.gym_lessons import drawn_gym

    report = curate_vista(
        VistaRequest(
            data=existing("--data", data),
            data_set=data_set,
            split=split,
            drawn=drawn_gym() if drawn else None,
            count=count,
            tools=existing("--tools", tools),
            service=service,
            skip_bad_rows=skip_bad_rows,
            **curation,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {curation['out'] / 'examples.jsonl'}")


@curate.command("codedance")
@click.option("--data", type=PATH, help="Your own questions: a file or a folder.")
@options.family_option("Or: questions of a procedural family.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Number of questions, by default all (64).")
@click.option("--chains", type=PATH, help="Solutions in words to rewrite: JSON lines of id and chain.")
@click.option(
    "--isolation",
    type=click.Choice(["full", "restricted", "none"]),
    default="full",
    show_default=True,
    help="Sandbox isolation of the code that models write.",
)
@options.skip_bad_rows
@curation_options(
    {
        "teacher": f"Model that solves: {WHO}.",
        "weak": f"Model that sorts out easy questions: {WHO}{RATES}.",
        "strong": f"Model that sorts out unsolvable questions: {WHO}{RATES}.",
        "checker": f"Model that checks questions and solutions: {WHO}.",
    },
    first="teacher",
)
def codedance(
    data: Path | None,
    family: str | None,
    count: int | None,
    chains: Path | None,
    isolation: str,
    skip_bad_rows: bool,
    **curation: Unpack[CurationOptions],
) -> None:
    """Make solutions with code that really runs, over several turns, and bare answers to easy questions.

    A weak and a strong model sort the questions by difficulty, the teacher solves them with code in the sandbox or
    rewrites its chain of thought into one with code, and a checker reviews questions and solutions. A kept solution is
    right in its form, its answer and every run.
    """
    if (data is None) == (family is None):
        raise UserError("give either --data PATH or --family NAME, so that there are questions")
    from saccade.curation.codedance.run import CodeDanceRequest, curate_codedance

    report = curate_codedance(
        CodeDanceRequest(
            data=existing("--data", data),
            family=family,
            count=count,
            chains=existing("--chains", chains),
            isolation=isolation,
            skip_bad_rows=skip_bad_rows,
            **curation,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {curation['out'] / 'examples.jsonl'}")
