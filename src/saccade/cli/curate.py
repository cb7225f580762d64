"""``saccade curate``: questions made into examples to imitate, by CodeDance and VISTA-Gym.

Argos', iVGR's and Lang2Act's commands are in ``curate_argos``, ``curate_ivgr`` and ``curate_tools``.
"""

from pathlib import Path

import click

from saccade.cli.curate_argos import argos
from saccade.cli.curate_ivgr import ivgr
from saccade.cli.curate_tools import tools as linguistic_tools
from saccade.cli.curate_tools import tools_diff
from saccade.cli.running import PATH, existing, log_to_stderr, prepare_machine
from saccade.errors import UserError

WHO = "URL of a server (http://host/v1), or a checkpoint directory"


@click.command("vista")
@click.option("--data", type=PATH, help="Your own questions: a file or a folder; or a data set's release.")
@click.option("--data-set", help="Name of the data set whose release --data is, such as chartqa.")
@click.option("--split", default="train", show_default=True, help="Split of the data set.")
@click.option("--drawn", is_flag=True, help="Or: drawn questions of the seven types, with tools of their own.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Number of questions, by default all (70 drawn).")
@click.option("--teacher", required=True, help=f"Model that plays: {WHO}; or, for drawn questions, the word expert.")
@click.option("--teacher-model", help="The teacher's model name at its server.")
@click.option("--densifier", help=f"Model that rewrites the thoughts at length: {WHO}.")
@click.option("--densifier-model", help="The densifier's model name at its server.")
@click.option("--tools", type=PATH, help="A tools.toml that says which tools there are.")
@click.option("--service", help="Or the address of a tool service.")
@click.option(
    "--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Environment variable with the servers' key."
)
@click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows of --data and report how many.")
@click.option("--out", type=PATH, required=True, help="Folder of the examples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable.")
@click.option("--resume", is_flag=True, help="Continue the curation in --out; nothing is asked twice.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def vista(
    data: Path | None,
    data_set: str | None,
    split: str,
    drawn: bool,
    count: int | None,
    teacher: str,
    teacher_model: str | None,
    densifier: str | None,
    densifier_model: str | None,
    tools: Path | None,
    service: str | None,
    api_key_env: str,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Make trajectories of a teacher with real tools; keep those that are right and in good form, with long thoughts.

    Every kept trajectory ends with the right answer by the metric of its data set. The densifier's text is used only
    where calls and answer are unchanged and no thought knows what a later turn finds out.
    """
    if (data is None) == (not drawn):
        raise UserError("give either --data PATH or --drawn, so that there are questions")
    prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from saccade.curation.vista.run import VistaRequest, curate_vista
    from saccade.miniature.gym_lessons import drawn_gym

    report = curate_vista(
        VistaRequest(
            data=existing("--data", data),
            data_set=data_set,
            split=split,
            drawn=drawn_gym() if drawn else None,
            count=count,
            teacher=teacher,
            teacher_model=teacher_model,
            densifier=densifier,
            densifier_model=densifier_model,
            tools=existing("--tools", tools),
            service=service,
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


RATES = "; or a file or run with its answers or pass rates"


@click.group()
def curate() -> None:
    """Turn questions into examples for SFT, select questions, and curate linguistic tools."""


curate.add_command(argos)
curate.add_command(ivgr)
curate.add_command(linguistic_tools)
curate.add_command(tools_diff)
curate.add_command(vista)


@curate.command("codedance")
@click.option("--data", type=PATH, help="Your own questions: a file or a folder.")
@click.option("--family", metavar="NAME|FILE.py:NAME", help="Or: questions of a procedural family.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Number of questions, by default all (64).")
@click.option("--teacher", required=True, help=f"Model that solves: {WHO}.")
@click.option("--teacher-model", help="The teacher's model name at its server.")
@click.option("--weak", help=f"Model that sorts out easy questions: {WHO}{RATES}.")
@click.option("--weak-model", help="The weak model's name at its server.")
@click.option("--strong", help=f"Model that sorts out unsolvable questions: {WHO}{RATES}.")
@click.option("--strong-model", help="The strong model's name at its server.")
@click.option("--checker", help=f"Model that checks questions and solutions: {WHO}.")
@click.option("--checker-model", help="The checker's model name at its server.")
@click.option("--chains", type=PATH, help="Solutions in words to rewrite: JSON lines of id and chain.")
@click.option(
    "--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Environment variable with the servers' key."
)
@click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows of --data and report how many.")
@click.option(
    "--isolation",
    type=click.Choice(["full", "restricted", "none"]),
    default="full",
    show_default=True,
    help="Sandbox isolation of the code that models write.",
)
@click.option("--out", type=PATH, required=True, help="Folder of the examples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable.")
@click.option("--resume", is_flag=True, help="Continue the curation in --out; nothing is asked twice.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def codedance(
    data: Path | None,
    family: str | None,
    count: int | None,
    teacher: str,
    teacher_model: str | None,
    weak: str | None,
    weak_model: str | None,
    strong: str | None,
    strong_model: str | None,
    checker: str | None,
    checker_model: str | None,
    chains: Path | None,
    api_key_env: str,
    skip_bad_rows: bool,
    isolation: str,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Make solutions with code that really runs, over several turns, and bare answers to easy questions.

    A weak and a strong model sort the questions by difficulty, the teacher solves them with code in the sandbox or
    rewrites its chain of thought into one with code, and a checker reviews questions and solutions. A kept solution is
    right in its form, its answer and every run.
    """
    if (data is None) == (family is None):
        raise UserError("give either --data PATH or --family NAME, so that there are questions")
    prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from saccade.curation.codedance.run import CodeDanceRequest, curate_codedance

    report = curate_codedance(
        CodeDanceRequest(
            data=existing("--data", data),
            family=family,
            count=count,
            who={"teacher": teacher, "weak": weak, "strong": strong, "checker": checker},
            models={
                "teacher": teacher_model,
                "weak": weak_model,
                "strong": strong_model,
                "checker": checker_model,
            },
            chains=existing("--chains", chains),
            api_key_env=api_key_env,
            skip_bad_rows=skip_bad_rows,
            isolation=isolation,
            out=out,
            seed=seed,
            overrides=overrides,
            resume=resume,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {out / 'examples.jsonl'}")
