"""Stored samples, read again: ``saccade figures`` sums them up, ``saccade compare`` sets runs side by side."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.options import PATH
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.plain_files import plain_bytes
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.evaluation.figures import EvaluationFigures
    from saccade.evaluation.samples import SampleSet

MAX_FLIPPED = 20
"""Questions that are named in the terminal; the JSON has all."""


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option("--prices", type=PATH, metavar="FILE.toml", help="Prices of models, to report what was spent.")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write all figures there as well.")
@click.option("--math-verify", is_flag=True, help="Also report the library math-verify's verdicts on open answers.")
def figures(run_directory: Path, prices: Path | None, json_path: Path | None, math_verify: bool) -> None:
    """Print an evaluation's figures from its samples: intervals over clusters, cost, errors, tools, turns, pixels."""
    found = show_figures(existing_run(run_directory), prices)
    written: dict[str, object] = {"evaluations": [one.as_json() for one in found]}
    if math_verify:
        from saccade.evaluation.sample_files import read_samples, sample_files
        from saccade.evaluation.second_verdicts import MathVerify, second_verdicts

        with MathVerify() as verify:
            sets = [read_samples(path) for path in sample_files(run_directory).values()]
            seconds = [second_verdicts(one.header.name, one.samples, verify) for one in sets]
        click.echo("\n".join(one.describe() for one in seconds))
        written["math_verify"] = [plain_json(one) for one in seconds]
    if json_path is not None:
        _write(json_path, written)


@click.command()
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN_A RUN_B [RUN_C ...]")
@click.option("--name", metavar="EVALUATION", help="Only this evaluation; by default all that the runs share.")
@click.option(
    "--although",
    multiple=True,
    metavar="WHAT",
    help="Compare although this setting differs (max_pixels, say); the output says so. Repeatable.",
)
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write everything, including all flipped questions."
)
def compare(runs: tuple[Path, ...], name: str | None, although: tuple[str, ...], json_path: Path | None) -> None:
    """Compare evaluations question by question, the later runs against the first."""
    if len(runs) < 2:
        raise UserError(f"one run, {runs[0]}, cannot be compared; give two or more")
    from saccade.evaluation.compare import compare as compared
    from saccade.evaluation.compare import with_holm

    labels = _labels(runs)
    sets = [_sets(existing_run(run)) for run in runs]
    results = [
        result
        for of_name in _shared_sets(sets, labels, name)
        for result in compared(of_name, labels, although=although)
    ]
    results = with_holm(results)
    for one in results:
        click.echo(f"{one.models[0]} -> {one.models[1]}")
        click.echo(one.describe())
        for question in one.flipped[:MAX_FLIPPED]:
            before, after = question.answers
            click.echo(f"    flipped {question.id}: {before!r} -> {after!r}, right is {question.gold!r}")
        if len(one.flipped) > MAX_FLIPPED:
            click.echo(f"    and {len(one.flipped) - MAX_FLIPPED:,} more; --json FILE has them all")
    if json_path is not None:
        _write(json_path, {"comparisons": [plain_json(one) for one in results]})


def show_figures(run: Path, prices: Path | None) -> "list[EvaluationFigures]":
    """Prints the figures of a run's evaluations and returns them."""
    from saccade.evaluation.figures import figures as figures_of
    from saccade.evaluation.figures import table
    from saccade.evaluation.prices import read_price
    from saccade.evaluation.sample_files import read_samples, read_times, sample_files

    found = []
    for path in sample_files(run).values():
        kept = read_samples(path)
        price = (
            None
            if prices is None
            else read_price(prices, str(kept.header.model.get("model", kept.header.model["name"])))
        )
        found.append(figures_of(kept, times=read_times(path), price=price))
    click.echo(table(found))
    return found


def keep_prices(run: Path, prices: Path) -> None:
    """A copy of the price file in the run, and its report with what was spent."""
    from saccade.atomic import write_bytes_atomic
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.figures_section import PRICES
    from saccade.viewer.report import write_report

    write_bytes_atomic(run / PRICES, plain_bytes(prices))
    write_report(RunPaths(root=run))


def existing_run(path: Path) -> Path:
    """The path of a run or of a file of samples; UserError when nothing is there."""
    if not path.exists():
        raise UserError(f"{path}: there is no such run (looked for from {Path.cwd()})")
    return path


def _sets(run: Path) -> "dict[str, SampleSet]":
    from saccade.evaluation.sample_files import read_samples, sample_files

    return {name: read_samples(path) for name, path in sample_files(run).items()}


def _shared_sets(sets: "list[dict[str, SampleSet]]", labels: list[str], name: str | None) -> "list[list[SampleSet]]":
    """For each evaluation that all runs have, theirs; of runs with one each, those, whatever their names."""
    if name is not None:
        for of, label in zip(sets, labels):
            if name not in of:
                raise UserError(f"{label} has no evaluation {name!r}; it has {', '.join(of)}")
        return [[of[name] for of in sets]]
    names = [one for one in sets[0] if all(one in of for of in sets)]
    if not names and all(len(of) == 1 for of in sets):
        return [[next(iter(of.values())) for of in sets]]
    if not names:
        listed = "; ".join(f"{label}: {', '.join(of)}" for of, label in zip(sets, labels))
        raise UserError(
            f"the runs share no evaluation by name ({listed}); evaluate them in the same way, or give files of samples"
        )
    return [[of[one] for of in sets] for one in names]


def _labels(runs: tuple[Path, ...]) -> list[str]:
    """The runs' own names; their paths where two have one name."""
    names = [run.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def _write(path: Path, content: object) -> None:
    from saccade.atomic import write_text_atomic

    write_text_atomic(path, strict_json(content, indent=2) + "\n")
