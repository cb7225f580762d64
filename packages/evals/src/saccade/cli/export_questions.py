"""``saccade export --family``: questions of a family in the form of another trainer, gym or harness."""

from pathlib import Path
from typing import Literal

import click

from saccade.characters import shell_words
from saccade.errors import UserError

QuestionForm = Literal[
    "verifiers", "gymnasium", "openenv", "trl", "verl", "easyr1", "dataset", "vlmevalkit", "lmms-eval"
]
QUESTION_FORMS: tuple[QuestionForm, ...] = (
    "verifiers",
    "gymnasium",
    "openenv",
    "trl",
    "verl",
    "easyr1",
    "dataset",
    "vlmevalkit",
    "lmms-eval",
)


def export_family(
    family: str,
    form: str,
    out: Path,
    *,
    count: int,
    test: int,
    seed: int,
    difficulty: float,
    licence: str | None,
    name: str | None,
) -> None:
    """Writes the family's questions; ``UserError`` for a form that takes none."""
    if form in ("vlmevalkit", "lmms-eval"):
        _export_harness(family, form, out, count=count, seed=seed, difficulty=difficulty, name=name)
        return
    from saccade.interop.exports.dataset import write_dataset
    from saccade.interop.exports.openenv_package import write_openenv
    from saccade.interop.exports.packages import write_gymnasium, write_verifiers
    from saccade.interop.exports.questions import draw_questions
    from saccade.interop.exports.trainers import write_easyr1, write_trl, write_verl
    from saccade.own_code import own_file

    if form not in QUESTION_FORMS:
        raise UserError(f"questions are exported to {', '.join(QUESTION_FORMS)}, not to {form}")
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "manifest.json").is_file())):
        raise UserError(f"--out {out} exists and is no export of Saccade; name a new or empty folder")
    own = own_file(family) is not None
    terms = licence or ("unknown" if own else "apache-2.0")
    questions = draw_questions(family, train=count, test=test, seed=seed, difficulty=difficulty, licence=terms)
    match form:
        case "verl":
            write_verl(questions, out)
        case "easyr1":
            write_easyr1(questions, out)
        case "dataset":
            write_dataset(questions, out)
        case "verifiers":
            write_verifiers(questions, out)
        case "trl":
            write_trl(questions, out)
        case "gymnasium":
            write_gymnasium(questions, out)
        case _:
            write_openenv(questions, out)
    click.echo(f"Questions: {out} ({count} to train on, {test} held out; {out / 'README.md'} says how they are used)")


def _export_harness(
    family: str, form: str, out: Path, *, count: int, seed: int, difficulty: float, name: str | None
) -> None:
    from saccade.evaluation.exports.harness_tasks import write_lmms_eval_task, write_vlmevalkit_tsv
    from saccade.interop.exports.packages import package_name
    from saccade.media.store import MediaStore
    from saccade.tasks import generate

    media = MediaStore()
    tasks = [
        generate(family, split="held_out", index=index, seed=seed, media=media, difficulty=difficulty).task
        for index in range(count)
    ]
    if form == "vlmevalkit":
        if out.suffix != ".tsv":
            raise UserError(f"--out {out} must end in .tsv: VLMEvalKit finds the set NAME in $LMUData/NAME.tsv")
        click.echo(f"Questions: {write_vlmevalkit_tsv(tasks, out, media)}")
        return
    task = name or package_name(family.rpartition(":")[2])
    click.echo(f"Questions: {write_lmms_eval_task(tasks, out, task, media)}")
    click.echo(f"Measure: lmms-eval --include_path {shell_words(out)} --tasks {task} --model ...")
