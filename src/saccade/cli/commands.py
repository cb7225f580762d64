"""The commands, but for those that measure Saccade itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade import __version__
from saccade.cli.audit_family import audit_family
from saccade.cli.bench import bench
from saccade.cli.benchmarks import benchmarks, reread
from saccade.cli.chat import chat
from saccade.cli.contamination import contamination
from saccade.cli.curate import curate
from saccade.cli.engine import engine
from saccade.cli.evaluate import evaluate
from saccade.cli.exports import export, import_
from saccade.cli.families import families
from saccade.cli.index import index, search
from saccade.cli.init import init
from saccade.cli.judge_agreement import judge_agreement
from saccade.cli.measured import compare, figures
from saccade.cli.plan_fleet import plan_fleet
from saccade.cli.plan_memory import plan_memory
from saccade.cli.push import push
from saccade.cli.recipes import recipes, settings
from saccade.cli.retrieve import retrieve
from saccade.cli.running import PATH, prepare_machine, run_options, start, task_context
from saccade.cli.serve import mcp, openenv, serve
from saccade.cli.serve_agent import serve_agent
from saccade.cli.show import explain_pages, judge_run, show, star_run
from saccade.cli.tools import tools
from saccade.cli.verifier import verifier
from saccade.cli.view import view
from saccade.errors import UserError

if TYPE_CHECKING:
    from typing import Literal


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="saccade")
def saccade() -> None:
    """Post-train vision-language models to think with images."""


saccade.add_command(bench)
saccade.add_command(benchmarks)
saccade.add_command(reread)
saccade.add_command(curate)
saccade.add_command(engine)
saccade.add_command(families)
saccade.add_command(init)
saccade.add_command(index)
saccade.add_command(search)
saccade.add_command(retrieve)
saccade.add_command(plan_fleet)
saccade.add_command(plan_memory)
saccade.add_command(push)
saccade.add_command(recipes)
saccade.add_command(settings)
saccade.add_command(show)
saccade.add_command(evaluate)
saccade.add_command(compare)
saccade.add_command(figures)
saccade.add_command(contamination)
saccade.add_command(audit_family)
saccade.add_command(judge_agreement)
saccade.add_command(tools)
saccade.add_command(serve)
saccade.add_command(serve_agent)
saccade.add_command(export)
saccade.add_command(import_)
saccade.add_command(mcp)
saccade.add_command(openenv)
saccade.add_command(verifier)
saccade.add_command(view)
saccade.add_command(chat)


@saccade.command()
@run_options(default_out=Path("runs/demo"))
def demo(
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    accepted: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> None:
    """Train a small model from nothing until it looks closer by itself: minutes on a CPU."""
    threads = prepare_machine(threads)
    from saccade.config.context import RecipeContext
    from saccade.train.recipe_loading import load_recipe

    context = RecipeContext(overrides=overrides, seed=seed)
    recipe = load_recipe("demo")
    start(
        recipe.function,
        context,
        target="demo",
        source=recipe.source,
        out=out,
        resume=resume,
        accepted=accepted,
        threads=threads,
        quiet=quiet,
    )


@saccade.command()
@click.argument("recipe", metavar="FILE.py:FUNCTION|NAME")
@click.option("--data", type=PATH, help="Your own tasks: a file or a folder.")
@click.option("--model", type=PATH, help="Checkpoint directory to start from.")
@click.option(
    "--env",
    metavar="gymnasium:ID|...",
    help="An environment to train in: gymnasium:ID, verifiers:NAME, openenv:URL, FILE.py:NAME.",
)
@click.option("--image-root", type=PATH, help="Folder in which relative image paths of --data begin.")
@click.option("--max-frames", type=click.IntRange(min=1), help="Frames shown of a video in --data, by default 32.")
@click.option("--skip-bad-rows", is_flag=True, help="Leave bad rows of --data out and say how many.")
@run_options(default_out=None)
def train(
    recipe: str,
    data: Path | None,
    model: Path | None,
    env: str | None,
    image_root: Path | None,
    max_frames: int | None,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    accepted: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> None:
    """Run a recipe: a function of yours in FILE.py, or one that ships with Saccade by NAME."""
    threads = prepare_machine(threads)
    from saccade.train.recipe_loading import load_recipe

    context = task_context(
        data=data,
        model=model,
        overrides=overrides,
        seed=seed,
        skip_bad_rows=skip_bad_rows,
        image_root=image_root,
        max_frames=max_frames,
        env=env,
    )
    loaded = load_recipe(recipe)
    start(
        loaded.function,
        context,
        target=recipe,
        source=loaded.source,
        out=out,
        resume=resume,
        accepted=accepted,
        threads=threads,
        quiet=quiet,
    )


@saccade.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option(
    "--judge",
    metavar="URL|CHECKPOINT",
    help="Ask this model about wrong answers with tools: did calls ask for the wrong thing (E4), or was a right result "
    "misread (E6)? Its verdicts stay with the run.",
)
@click.option("--judge-model", metavar="NAME", help="Name of the judge's model, where --judge is a server.")
@click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Variable with the server's key.")
@click.option(
    "--stars",
    type=click.Choice(["text", "pages"]),
    help="Ask the judge instead for 1 to 5 stars of every evaluated response: coherence, faithfulness, agreement. With "
    "pages it is shown the question's images too.",
)
@click.option(
    "--why",
    metavar="ENCODER|run",
    help="Draw over the pages why they were found: by this encoder of pages (a directory or a server's URL), or by the "
    "one that the run's settings name (run). What it says stays with the run.",
)
def report(
    run_directory: Path,
    judge: str | None,
    judge_model: str | None,
    api_key_env: str,
    stars: str | None,
    why: str | None,
) -> None:
    """Write report.html and report.json of a run again, also of one that still runs."""
    if judge_model is not None and judge is None:
        raise UserError(f"--judge-model {judge_model} has no effect without --judge; give the server's address there")
    if stars is not None and judge is None:
        raise UserError(f"--stars {stars} needs a judge to give them; name it with --judge SERVER_OR_CHECKPOINT")
    if judge is not None and stars is not None:
        prepare_machine(None)
        count = star_run(run_directory, judge, judge_model, sees_pages=stars == "pages", api_key_env=api_key_env)
        click.echo(f"Judged: {count} responses have stars")
    elif judge is not None:
        prepare_machine(None)
        count = judge_run(run_directory, judge, judge_model, api_key_env=api_key_env)
        click.echo(f"Judged: {count} wrong trajectories")
    if why is not None:
        prepare_machine(None)
        click.echo(f"Explained: the pages of {explain_pages(run_directory, why)} questions")
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.report import write_report

    write_report(RunPaths(root=run_directory))
    click.echo(f"Report: {run_directory / 'report.html'}")


@saccade.command()
@click.argument("adapter", type=PATH, metavar="ADAPTER_DIR")
@click.argument("out", type=PATH, metavar="OUT_DIR")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True)
def merge(adapter: Path, out: Path, dtype: "Literal['float32', 'bfloat16']") -> None:
    """Write a LoRA checkpoint and its base as one plain checkpoint."""
    prepare_machine(None)
    from saccade.models.loading import write_merged

    write_merged(adapter, out, dtype=dtype)
    click.echo(f"Model: {out}")
