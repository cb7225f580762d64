"""The command line. It reads arguments, calls one function, and turns errors into messages.

Everything heavy is imported inside the commands, so that ``saccade --help`` is instant.
"""

import logging
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

from saccade import __version__
from saccade.errors import SaccadeError, UserError

if TYPE_CHECKING:
    from typing import Literal

    from saccade.bench.checkpoint import SizeName
    from saccade.bench.contract import DeviceName, DtypeName, FrameworkName
    from saccade.bench.workload import WorkloadName
    from saccade.train.context import RecipeContext
    from saccade.train.plan import Plan

USER_ERROR, MACHINE_ERROR, INTERRUPTED = 2, 3, 130
DEFAULT_THREADS = 1
"""Small models gain nothing from more: the demo ran no faster with two threads on two idle cores."""

Command = TypeVar("Command", bound=Callable[..., None])

_PATH = click.Path(path_type=Path)


def main() -> NoReturn:
    """Run the command of ``sys.argv`` and exit with its status."""
    # Ended by a scheduler, a run closes its files and says how to continue, as after Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(run_command(sys.argv[1:]))


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def run_command(arguments: list[str]) -> int:
    """Run one command; the exit status. Messages go to stderr, tracebacks only with ``SACCADE_TRACEBACK=1``."""
    try:
        status = saccade.main(args=arguments, prog_name="saccade", standalone_mode=False, obj=arguments)
    except click.ClickException as error:
        error.show()
        return USER_ERROR
    except UserError as error:
        return _failed(str(error), USER_ERROR)
    except SaccadeError as error:
        return _failed(str(error), MACHINE_ERROR)
    except (KeyboardInterrupt, click.Abort):
        return _failed(_interrupted(arguments), INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status if isinstance(status, int) else 0


def run_options(*, default_out: Path | None) -> Callable[[Command], Command]:
    """The options of every command that starts a run."""
    if default_out is None:
        out = click.option("--out", type=_PATH, required=True, help="Directory of the run.")
    else:
        out = click.option("--out", type=_PATH, default=default_out, show_default=True, help="Directory of the run.")
    options = [
        out,
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same bytes."),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable."),
        click.option("--resume", is_flag=True, help="Continue the run in --out from its last checkpoint."),
        click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1."),
        click.option("--quiet", is_flag=True, help="No progress."),
    ]

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="saccade")
def saccade() -> None:
    """Post-train vision-language models to think with images."""


@saccade.command()
@run_options(default_out=Path("runs/demo"))
def demo(out: Path, seed: int, overrides: tuple[str, ...], resume: bool, threads: int | None, quiet: bool) -> None:
    """Train a small model from nothing until it looks closer by itself: minutes on a CPU."""
    threads = prepare_machine(threads)
    from saccade.recipes.demo import demo as recipe
    from saccade.train.context import RecipeContext

    context = RecipeContext(overrides=overrides, seed=seed)
    start(recipe, context, out=out, resume=resume, threads=threads, quiet=quiet)


@saccade.command()
@click.argument("recipe", metavar="FILE.py:FUNCTION|NAME")
@click.option("--data", type=_PATH, help="Your own tasks: a file or a folder.")
@click.option("--model", type=_PATH, help="Checkpoint directory to start from.")
@click.option("--skip-bad-rows", is_flag=True, help="Leave bad rows of --data out and say how many.")
@run_options(default_out=None)
def train(
    recipe: str,
    data: Path | None,
    model: Path | None,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Run a recipe: a function of yours in FILE.py, or one that ships with Saccade by NAME."""
    threads = prepare_machine(threads)
    from saccade.train.context import RecipeContext
    from saccade.train.recipe_loading import load_recipe

    context = RecipeContext(
        data=existing("--data", data),
        model=existing("--model", model),
        overrides=overrides,
        seed=seed,
        skip_bad_rows=skip_bad_rows,
    )
    start(load_recipe(recipe), context, out=out, resume=resume, threads=threads, quiet=quiet)


@saccade.command("eval")
@click.option("--model", type=_PATH, required=True, help="Checkpoint directory to measure.")
@click.option("--data", type=_PATH, help="Your own tasks: a file or a folder.")
@click.option("--family", help="Or: held-out tasks of a procedural family.")
@click.option(
    "-n", "--n", "count", type=click.IntRange(min=1), help="Number of tasks, by default all (256 of --family)."
)
@click.option("--greedy", is_flag=True, help="Always the likeliest token; this is the default.")
@click.option("--temperature", type=click.FloatRange(min=0), help="Sample at this temperature instead.")
@click.option("--skip-bad-rows", is_flag=True, help="Leave bad rows of --data out and say how many.")
@run_options(default_out=None)
def evaluate(
    model: Path,
    data: Path | None,
    family: str | None,
    count: int | None,
    greedy: bool,
    temperature: float | None,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Measure a checkpoint on your own tasks or on held-out procedural ones."""
    if (data is None) == (family is None):
        raise UserError("give either --data PATH or --family NAME, so that there is something to measure on")
    if greedy and temperature:
        raise UserError(f"--greedy and --temperature {temperature} exclude each other; give one of them")
    threads = prepare_machine(threads)
    from saccade.recipes.evaluation import evaluation
    from saccade.train.context import RecipeContext

    context = RecipeContext(
        data=existing("--data", data),
        model=existing("--model", model),
        overrides=overrides,
        seed=seed,
        skip_bad_rows=skip_bad_rows,
    )

    def recipe(context: "RecipeContext") -> "Plan":
        return evaluation(context, family=family, count=count, temperature=temperature or 0.0)

    measured = {"family": family, "n": count, "temperature": temperature}
    start(recipe, context, out=out, resume=resume, threads=threads, quiet=quiet, measured=measured)


@saccade.command()
@click.argument("run_directory", type=_PATH, metavar="RUN_DIR")
def report(run_directory: Path) -> None:
    """Write report.html and report.json of a run again, also of one that still runs."""
    from saccade.train.runinfo import RunPaths
    from saccade.viewer.report import write_report

    write_report(RunPaths(root=run_directory))
    click.echo(f"Report: {run_directory / 'report.html'}")


@saccade.command()
@click.argument("adapter", type=_PATH, metavar="ADAPTER_DIR")
@click.argument("out", type=_PATH, metavar="OUT_DIR")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True)
def merge(adapter: Path, out: Path, dtype: "Literal['float32', 'bfloat16']") -> None:
    """Write a LoRA checkpoint and its base as one plain checkpoint."""
    prepare_machine(None)
    from saccade.models.merging import write_merged

    write_merged(adapter, out, dtype=dtype)
    click.echo(f"Model: {out}")


@saccade.group()
def bench() -> None:
    """Measure Saccade, also beside its peers."""


@bench.command("rl")
@click.option("--workload", type=click.Choice(["single", "multi"]), default="single", show_default=True)
@click.option(
    "--framework", type=click.Choice(["saccade", "trl", "both"]), default="both", show_default=True, help="What runs."
)
@click.option("--steps", type=click.IntRange(min=1), default=5, show_default=True, help="Timed steps of each.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), help="By default bfloat16 on a GPU.")
@click.option("--size", type=click.Choice(["tiny", "3b"]), default="tiny", show_default=True, help="Of the model.")
@click.option("--image-px", type=click.IntRange(min=56), help="Side of the image; prompts grow with it.")
@click.option("--json", "json_file", type=_PATH, help="Write all figures to this file.")
@click.option("--quiet", is_flag=True, help="No progress.")
def bench_rl(
    workload: "WorkloadName",
    framework: "FrameworkName | Literal['both']",
    steps: int,
    threads: int | None,
    device: "DeviceName",
    dtype: "DtypeName | None",
    size: "SizeName",
    image_px: int | None,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Time one reinforcement step, by default beside TRL's GRPOTrainer on the same tokens."""
    threads = prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from rich.console import Console

    from saccade.bench.checkpoint import SIZES
    from saccade.bench.race import race
    from saccade.bench.results import write_figures
    from saccade.bench.workload import WORKLOADS, with_image

    chosen = WORKLOADS[workload] if image_px is None else with_image(WORKLOADS[workload], image_px)
    result = race(
        chosen,
        ("saccade", "trl") if framework == "both" else (framework,),
        size=SIZES[size],
        steps=steps,
        threads=threads,
        device=device,
        dtype=dtype,
        command=shlex.join(("saccade", *click.get_current_context().obj)),
    )
    Console().print(result.table())
    if json_file is not None:
        write_figures(result.as_json(), json_file)


def start(
    recipe: "Callable[[RecipeContext], Plan]",
    context: "RecipeContext",
    *,
    out: Path,
    resume: bool,
    threads: int,
    quiet: bool,
    measured: Mapping[str, object] | None = None,
) -> None:
    """Run a recipe into ``out``, write its report, and say where it is."""
    log_to_stderr(is_quiet=quiet)
    arguments: list[str] = click.get_current_context().obj
    # Before the imports, which take seconds: most mistakes are found here.
    plan = recipe(context)
    from saccade.train.checkpoints import latest_checkpoint
    from saccade.train.inputs import inputs_of
    from saccade.train.progress import Progress
    from saccade.train.run import run_plan
    from saccade.train.runinfo import RunPaths
    from saccade.viewer.report import write_report

    summaries = run_plan(
        plan,
        out=out,
        media=context.media,
        seed=context.seed,
        resume=resume,
        threads=threads,
        command=("saccade", *arguments),
        inputs=inputs_of(context, measured),
        progress=Progress("quiet" if quiet else "auto"),
    )
    write_report(RunPaths(root=out))
    for summary in summaries.values():
        click.echo(summary.describe())
    trained = latest_checkpoint(RunPaths(root=out).checkpoints, tuple(stage.name for stage in plan.stages))
    if trained is not None:
        click.echo(f"Model: {trained.path}")
    click.echo(f"Report: {out / 'report.html'}")


def prepare_machine(threads: int | None) -> int:
    """Threads to use, set where torch's thread pool reads it when torch is first imported.

    Without ``threads`` it is ``OMP_NUM_THREADS`` or else 1: the same on all machines.
    """
    # Waiting threads that spin starve whatever else runs on the machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    set_before = os.environ.get("OMP_NUM_THREADS", "")
    default = int(set_before) if set_before.isdecimal() and int(set_before) else DEFAULT_THREADS
    count = threads or default
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    return count


def existing(option: str, path: Path | None) -> Path | None:
    """The path itself; UserError when it is given and not there."""
    is_data_set_name = option == "--data" and str(path).startswith("hf:")
    if path is not None and not is_data_set_name and not path.exists():
        raise UserError(f"{option} {path}: there is no such file or folder (looked for from {Path.cwd()})")
    return path


def log_to_stderr(*, is_quiet: bool) -> None:
    """Let what Saccade's loggers say be seen."""
    logger = logging.getLogger("saccade")
    logger.setLevel(logging.INFO)
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        handler = _StderrHandler(level=logging.WARNING if is_quiet else logging.INFO)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)


class _StderrHandler(logging.Handler):
    """Looks stderr up at each message, since a progress bar replaces it; never stops the run when it is closed."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            click.echo(self.format(record), err=True)
        except (OSError, ValueError):
            self.setLevel(logging.CRITICAL + 1)


def _failed(message: str, status: int) -> int:
    if os.environ.get("SACCADE_TRACEBACK") == "1":
        traceback.print_exc()
    click.echo(f"saccade: {message}", err=True)
    return status


def _interrupted(arguments: list[str]) -> str:
    if not arguments or arguments[0] not in ("demo", "train", "eval"):
        return "stopped"
    again = arguments if "--resume" in arguments else [*arguments, "--resume"]
    return f"stopped; continue with: saccade {shlex.join(again)}"
