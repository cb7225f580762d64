"""``saccade export`` and ``saccade import``: evaluations and questions for other programs, and theirs for ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from saccade.cli import options
from saccade.cli.export_questions import QUESTION_FORMS, export_family
from saccade.cli.look import export_look
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.evaluation.benchmarks.benchmark import ReadingName

RunForm = Literal["vlmevalkit", "lmms-eval", "inspect", "csv", "parquet", "latex", "markdown"]
RUN_FORMS: tuple[RunForm, ...] = ("vlmevalkit", "lmms-eval", "inspect", "csv", "parquet", "latex", "markdown")


@click.command("export")
@click.argument("run", type=PATH, metavar="[RUN_DIR]", required=False)
@options.family_option("Instead of a run: drawn questions, as a data set.")
@click.option("--suite", type=click.Choice(["look"]), help="Or: the questions of this benchmark.")
@click.option(
    "-n",
    "--n",
    "count",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Number of questions of --family.",
)
@click.option(
    "--test", type=click.IntRange(min=1), default=64, show_default=True, help="Held-out questions, beside those of -n."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of --family.")
@click.option(
    "--difficulty",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Difficulty of --family's questions.",
)
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(tuple(dict.fromkeys((*RUN_FORMS, *QUESTION_FORMS, "folder")))),
    help=(
        "Of a run: vlmevalkit (MODEL_DATA.xlsx or .tsv), lmms-eval (a folder of logs), inspect (LOG.eval), or a table. "
        "Of --family: verifiers, gymnasium, openenv, trl, verl, easyr1, dataset, lmms-eval (folders), vlmevalkit. "
        "Of --suite: folder (questions, pictures, card, licence), vlmevalkit, lmms-eval."
    ),
)
@options.out_option("File or folder to write.")
@click.option("--license", "licence", help="License of a FILE.py:NAME's questions, by default unknown.")
@click.option("--name", help="Evaluation to export, if the run has several.")
@click.option("--as", "set_name", help="Name of the questions in their files, by default the evaluation's.")
@click.option("--model", "model_name", default="saccade", show_default=True, help="Name of the model in their files.")
def export(
    run: Path | None,
    family: str | None,
    suite: Literal["look"] | None,
    count: int,
    test: int,
    seed: int,
    difficulty: float,
    form: str,
    out: Path,
    licence: str | None,
    name: str | None,
    set_name: str | None,
    model_name: str,
) -> None:
    """Write an evaluation, or drawn questions, in the format of another program."""
    if sum(one is not None for one in (run, family, suite)) != 1:
        raise UserError(
            "give one of RUN_DIR, the --out of saccade eval, --family NAME for its questions and --suite look"
        )
    refuse_unread(f"on --to {form} of {'a run' if run is not None else 'questions'}", *_unread(form, run, suite))
    if suite is not None:
        export_look(form, out, set_name or "saccade_look")
        return
    if family is not None:
        export_family(
            family, form, out, count=count, test=test, seed=seed, difficulty=difficulty, licence=licence, name=set_name
        )
        return
    assert run is not None
    if form not in RUN_FORMS:
        raise UserError(f"a run is exported to {', '.join(RUN_FORMS)}; to write {form}, give --family NAME instead")
    if form in ("csv", "parquet", "latex", "markdown"):
        _export_table(run, form, out, name)
    else:
        _export_run(run, form, out, name, set_name, model_name)


def _unread(form: str, run: Path | None, suite: str | None) -> set[str]:
    """Parameters of the options that an export in this form does not read."""
    naming = {"set_name"} if form == "lmms-eval" else set()
    if run is not None:
        read = {"name"} | ({"set_name", "model_name"} if form in ("lmms-eval", "inspect") else set())
    elif suite is not None:
        read = naming
    else:
        read = naming | {"count", "seed", "difficulty"}
        read |= set() if form in ("vlmevalkit", "lmms-eval") else {"test", "licence"}
    return {"count", "test", "seed", "difficulty", "licence", "name", "set_name", "model_name"} - read


def _export_table(run: Path, form: RunForm, out: Path, name: str | None) -> None:
    from saccade.evaluation.exports import tables
    from saccade.evaluation.sample_files import read_samples, sample_files

    files = sample_files(run)
    if name is not None and name not in files:
        raise UserError(f"{run} holds no evaluation {name!r}; it has {', '.join(files)}")
    sets = [read_samples(path) for label, path in files.items() if name in (None, label)]
    write = {
        "csv": tables.write_csv,
        "parquet": tables.write_parquet,
        "latex": tables.write_latex,
        "markdown": tables.write_markdown,
    }[form]
    write(sets, out)
    click.echo(f"Table: {out}")


def _export_run(run: Path, form: RunForm, out: Path, name: str | None, set_name: str | None, model_name: str) -> None:
    from saccade.evaluation.exports.lmms_eval import write_sample_log
    from saccade.evaluation.exports.predictions import evaluation_records, predictions_of
    from saccade.evaluation.exports.vlmevalkit import write_predictions

    chosen, attempts = evaluation_records(run, name)
    label = set_name or chosen
    if form == "inspect":
        from saccade.evaluation.exports.inspect_log import write_inspect_log
        from saccade.media.store import MediaStore
        from saccade.runs.runinfo import RunPaths

        media = MediaStore(RunPaths(root=run).media)
        write_inspect_log(attempts, out, task=label, model=model_name, media=media)
        click.echo(f"Log: {out} ({len(attempts)} samples); inspect view --log-dir {out.parent}")
        return
    predictions = predictions_of(attempts)
    if form == "vlmevalkit":
        changed = write_predictions(predictions, out)
        click.echo(f"Predictions: {out} ({len(predictions)} questions)")
        if changed:
            click.echo(f"saccade: {changed} texts were changed to fit into cells of Excel; a .tsv keeps them", err=True)
        return
    failed = write_sample_log(predictions, out, label, model_name)
    click.echo(f"Logs: {out}/samples_{label}.jsonl and {out}/{label}.json ({len(predictions)} questions)")
    if failed:
        click.echo(
            f"saccade: {failed} replies are missing since the machine failed; the figure is incomplete", err=True
        )


@click.command("import")
@click.argument("file", type=PATH)
@click.option(
    "--from", "form", required=True, type=click.Choice(["vlmevalkit", "lmms-eval"]), help="Harness that wrote FILE."
)
@options.out_option("Directory for samples/NAME.jsonl, as in a run.")
@click.option("--name", help="Name of the evaluation, by default that of the file.")
@click.option("--benchmark", metavar="NAME", help="Benchmark that was measured; its rules are used.")
@click.option(
    "--reading",
    type=click.Choice(["strict", "official", "vlmevalkit", "vlmevalkit-2026-08", "lmms-eval", "lmms-eval-0.7.2"]),
    default="strict",
    show_default=True,
    help="Rule that scores the replies again.",
)
@click.option("--model", "model_name", default="unknown", show_default=True, help="Name of the model that was asked.")
def import_(
    file: Path,
    form: Literal["vlmevalkit", "lmms-eval"],
    out: Path,
    name: str | None,
    benchmark: str | None,
    reading: "ReadingName",
    model_name: str,
) -> None:
    """Import a run of another harness: score it again and save it as samples for saccade compare and export."""
    from saccade.evaluation.benchmarks import benchmark_named
    from saccade.evaluation.exports import lmms_eval, vlmevalkit
    from saccade.evaluation.exports.imported import imported_samples, write_imported
    from saccade.evaluation.figures import figures

    read = vlmevalkit.read_predictions if form == "vlmevalkit" else lmms_eval.read_sample_log
    predictions = read(file)
    if not predictions:
        raise UserError(f"{file} holds no predictions")
    label = name or (file.stem if form == "vlmevalkit" else lmms_eval.task_name(file))
    found = imported_samples(
        predictions,
        name=label,
        source=file,
        model=model_name,
        reading=reading,
        benchmark=None if benchmark is None else benchmark_named(benchmark),
    )
    path = write_imported(found, out)
    click.echo(figures(found).describe())
    click.echo(f"Samples: {path}")
