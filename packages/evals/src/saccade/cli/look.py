"""``--suite look`` of ``saccade eval`` and ``saccade export``: the questions, and what is told of their answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.characters import shell_words
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext
    from saccade.recipes.evaluation_stages import TaskSet


def is_look(suite: str | None) -> bool:
    """Whether a suite is the benchmark of looking."""
    return suite == "look"


def look_sets(suite: str | None, count: int | None, context: "RecipeContext") -> "list[TaskSet]":
    """Its questions, drawn and checked; none for another suite."""
    if not is_look(suite):
        return []
    from saccade.evaluation.look import LOOK, look_examples
    from saccade.recipes.evaluation_stages import TaskSet

    tasks = [one.task for one in look_examples(context.media, count)]
    return [TaskSet(tasks=tasks, name="look", set_apart={"look": LOOK.version, "sha256": LOOK.sha256})]


def look_told(out: Path) -> str:
    """A line for each way of asking; all figures are written to ``look.json`` beside the run."""
    from saccade.atomic import write_text_atomic
    from saccade.evaluation.look import LOOK, look_figures
    from saccade.runs.records import read_records

    found = {
        path.stem.removeprefix("look_"): look_figures(list(read_records(path)))
        for path in sorted((out / "evaluations").glob("look_*.jsonl"))
    }
    content = {"version": LOOK.version, "sha256": LOOK.sha256, "ways": {n: plain_json(one) for n, one in found.items()}}
    write_text_atomic(out / "look.json", strict_json(content, indent=1) + "\n")
    return "\n".join(f"look {LOOK.version}, {way}: {figures.line()}" for way, figures in found.items())


def export_look(form: str, out: Path, name: str) -> None:
    """Its questions for other harnesses, or as a folder with pictures, card and licence."""
    if form not in ("folder", "vlmevalkit", "lmms-eval"):
        raise UserError(
            f"the questions of --suite look are exported to folder, vlmevalkit and lmms-eval, not to {form}"
        )
    if form == "vlmevalkit" and out.suffix != ".tsv":
        raise UserError(f"--out {out} must end in .tsv: VLMEvalKit finds the set NAME in $LMUData/NAME.tsv")
    from saccade.evaluation.exports.harness_tasks import write_lmms_eval_task, write_vlmevalkit_tsv
    from saccade.evaluation.exports.question_folder import write_question_folder
    from saccade.evaluation.look import LOOK, look_card, look_examples
    from saccade.media.store import MediaStore

    media = MediaStore()
    tasks = [one.task for one in look_examples(media)]
    if form == "folder":
        path = write_question_folder(tasks, out, media, card=look_card())
    elif form == "vlmevalkit":
        path = write_vlmevalkit_tsv(tasks, out, media)
    else:
        path = write_lmms_eval_task(tasks, out, name, media)
    click.echo(f"Questions: {path} ({len(tasks)}, version {LOOK.version}, {LOOK.sha256[:12]})")
    if form == "lmms-eval":
        click.echo(f"Measure: lmms-eval --include_path {shell_words(out)} --tasks {name} --model ...")
