"""``saccade benchmarks``: the public benchmarks, which are ready, and what file to put where."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.machine import telling_of_waits
from saccade.cli.options import PATH
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.evaluation.benchmarks.judged_run import RereadEvaluation


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--dir",
    "folder",
    type=PATH,
    default=Path("benchmarks-data"),
    show_default=True,
    help="Folder of the benchmarks' files.",
)
@click.option(
    "--suite", "suite_name", help="The benchmarks of a paper: ivgr, codedance, vista, argos, mini-o3, lang2act."
)
@click.option("--check", is_flag=True, help="Read the files and check that they are the published ones.")
@options.as_json
def benchmarks(names: tuple[str, ...], folder: Path, suite_name: str | None, check: bool, as_json: bool) -> None:
    """List public benchmarks: ready, or which file to put where. With NAMES, list only these, in detail."""
    from saccade.evaluation.benchmarks import BENCHMARKS, benchmark_named, suite_named
    from saccade.evaluation.benchmarks.describing import benchmark_details, benchmark_lines, readiness_json
    from saccade.evaluation.benchmarks.opening import find_benchmark

    chosen = [benchmark_named(name) for name in names]
    if suite_name is not None:
        chosen += [row.benchmark for row in suite_named(suite_name).rows]
    found = [find_benchmark(one, folder) for one in chosen or BENCHMARKS.values()]
    if as_json:
        click.echo(strict_json([readiness_json(one) for one in found], indent=2))
    elif names:
        click.echo("\n\n".join(benchmark_details(one) for one in found))
    else:
        click.echo("\n".join(benchmark_lines(found)))
    if check:
        _check([one.benchmark.name for one in found if one.is_ready], folder)


def check_files(names: Sequence[str], suite: str | None, folder: Path) -> None:
    """UserError for an unknown benchmark or suite, and for files that are missing: before torch is imported."""
    from saccade.evaluation.benchmarks import benchmark_named, ready_rows, suite_named
    from saccade.evaluation.benchmarks.opening import benchmark_file

    if suite is not None:
        ready_rows(suite_named(suite), folder)
    for name in names:
        benchmark_file(benchmark_named(name.partition("=")[0]), folder)


def _check(names: list[str], folder: Path) -> None:
    from saccade.errors import UserError
    from saccade.evaluation.benchmarks import open_benchmark
    from saccade.media.store import MediaStore

    wrong = 0
    for name in names:
        try:
            click.echo(f"{name}: {open_benchmark(name, folder, media=MediaStore()).describe()}")
        except UserError as error:
            wrong += 1
            click.echo(f"{name}: {error}")
    if wrong:
        raise UserError(f"{wrong} of {len(names)} files cannot be used; the lines above say why")


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--benchmarks-dir",
    type=PATH,
    default=Path("benchmarks-data"),
    show_default=True,
    help="Folder of the benchmarks' files.",
)
@click.option("--judge", required=True, metavar="URL|DIR", help="URL of the judge's server, or a checkpoint directory.")
@options.judge_model
def reread(run: Path, benchmarks_dir: Path, judge: str, judge_model: str | None) -> None:
    """Read a run's answers to benchmarks again, with a judge where a harness's rule asks one."""
    from saccade.chat import check_up
    from saccade.evaluation.benchmarks.judged_run import measured_files, reread_lines

    measured_files(run)
    check_up(judge)
    click.echo("\n".join(reread_lines(ask_judge(run, benchmarks_dir, judge, judge_model))))


def ask_judge(run: Path, benchmarks_dir: Path, judge: str, judge_model: str | None) -> "list[RereadEvaluation]":
    """A finished run's answers to benchmarks, read by the judge's rules; what was asked once is not asked again."""
    from saccade.chat.chat_model import connect
    from saccade.evaluation.benchmarks.judged_run import reread_run
    from saccade.waiting import run_to_end

    name = f"{judge_model} at {judge}" if judge_model else judge
    with (
        telling_of_waits("asking the judge"),
        connect(judge, model=judge_model, cache_dir=run / "judge-cache") as model,
    ):
        return run_to_end(reread_run(run, benchmarks_dir, model, name))
