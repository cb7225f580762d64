"""Trajectories of a recorded run: ``saccade show`` explains their rewards, judges and encoders are asked about them."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.index import noted_place
from saccade.cli.options import PATH
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.curation.teachers import Teachers
    from saccade.media.store import MediaStore
    from saccade.runs.runinfo import RunPaths
    from saccade.types import Attempt, Json
    from saccade.viewer.star_record import StarredEvaluation
    from saccade.viewer.verdicts import JudgedEvaluation


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option("--stage", metavar="NAME", help="A stage of training or an evaluation; by default the last training.")
@click.option("--step", type=click.IntRange(min=1), help="A step of training; by default the last one.")
@click.option(
    "--worst", type=click.IntRange(min=1), default=5, show_default=True, help="Number of lowest rewards to show."
)
@click.option("--best", type=click.IntRange(min=1), help="Show so many of the highest rewards instead.")
@click.option("--id", "task_id", metavar="TASK", help="All trajectories of this question instead.")
@options.as_json
def show(
    run_directory: Path,
    stage: str | None,
    step: int | None,
    worst: int,
    best: int | None,
    task_id: str | None,
    as_json: bool,
) -> None:
    """Explain rewards: turns, every term with value and weight, the group and the advantage."""
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.explained import by_reward, chosen_file, explained, groups_of, overview, recorded_files

    files = recorded_files(RunPaths(root=run_directory))
    file = chosen_file(files, stage=stage, step=step, task_id=task_id)
    groups = groups_of(list(read_records(file.path)))
    if task_id is None:
        chosen = by_reward(groups, best or worst, is_highest=best is not None)
    else:
        chosen = [(one, group) for group in groups for one in group.attempts if one.task.id == task_id]
    if as_json:
        rows = [_as_json(attempt, group.totals) for attempt, group in chosen]
        where = {"stage": file.position.stage, "step": None if file.is_evaluation else file.position.step}
        click.echo(json.dumps({**where, "trajectories": rows}, indent=1))
        return
    click.echo(overview(file, groups))
    if task_id is None:
        which = "lowest" if best is None else "highest"
        click.echo(f"the {len(chosen) if len(chosen) > 1 else 'one'} with the {which} reward:")
    for attempt, group in chosen:
        click.echo()
        click.echo(explained(attempt, group, is_evaluation=file.is_evaluation))


def _as_json(attempt: "Attempt", group_totals: list[float]) -> dict[str, object]:
    from saccade.viewer.outcomes import turn_outcome

    task, trajectory, score = attempt.task, attempt.trajectory, attempt.trajectory.score
    terms = () if score is None else score.terms
    return {
        "task": task.id,
        "stream": trajectory.stream,
        "sample": trajectory.sample,
        "question": task.question,
        "expected": task.answer,
        "answered": trajectory.answer,
        "status": trajectory.status,
        "failure": trajectory.failure,
        "turns": [{"text": turn.text, "outcome": " ".join(turn_outcome(turn)).strip()} for turn in trajectory.turns],
        "terms": [{**asdict(term), "adds": term.contribution} for term in terms],
        "reward": None if score is None else score.total,
        "right": None if score is None else score.is_right,
        "notes": {} if score is None else dict(score.notes),
        "group_rewards": group_totals,
        "advantages": attempt.advantages,
    }


def judge_run(run: Path, judge: str, model: str | None, *, api_key_env: str) -> int:
    """Asks a judge about wrong trajectories: were calls wrong (E4), or conclusions (E6)? Gives their number.

    The verdicts are kept in the run. UserError where there is no run, or no evaluation in it.
    """
    from saccade.viewer.verdicts import write_verdicts
    from saccade.waiting import run_to_end

    paths, files = _evaluations(run)
    found = run_to_end(_judged(paths, files, judge, model, api_key_env))
    write_verdicts(paths, found)
    return sum(len(one.verdicts) for one in found.values())


async def _judged(
    paths: "RunPaths", files: list[Path], who: str, model: str | None, api_key_env: str
) -> "dict[str, JudgedEvaluation]":
    from saccade.evaluation.error_judge import ErrorJudge
    from saccade.evaluation.errors import judged
    from saccade.media.store import MediaStore
    from saccade.rewards.judges.llm_judge import JudgeClient
    from saccade.runs.records import read_records
    from saccade.viewer.verdicts import JudgedEvaluation

    name = f"{model} at {who}" if model else who
    with _judge(who, model, MediaStore(), api_key_env, paths.root) as open_:
        asked = ErrorJudge(asking=JudgeClient(model=open_.teacher("judge")))
        return {
            file.stem: JudgedEvaluation(judge=name, verdicts=await judged(read_records(file), asked)) for file in files
        }


def _judge(who: str, model: str | None, media: "MediaStore", api_key_env: str, out: Path) -> "Teachers":
    """The judge that ``--judge`` and ``--judge-model`` name; its replies are kept with the run."""
    from saccade.chat.chat_model import ChatServerSettings
    from saccade.curation.requests import NamedModel
    from saccade.curation.teachers import Teachers

    models = {"judge": NamedModel(who, model)}
    return Teachers(media=media, server=ChatServerSettings(), api_key_env=api_key_env, out=out, models=models)


def _evaluations(run: Path) -> "tuple[RunPaths, list[Path]]":
    """Paths of a run, and the files of its evaluations' trajectories, of which there are some."""
    from saccade.runs.runinfo import RunPaths, read_info

    paths = RunPaths(root=run)
    read_info(paths)
    files = sorted(paths.evaluations.glob("*.jsonl"))
    if not files:
        raise UserError(f"{run} has no evaluation whose trajectories could be judged")
    return paths, files


def star_run(run: Path, judge: str, model: str | None, *, sees_pages: bool, api_key_env: str) -> int:
    """Asks a judge for stars of all trajectories of the run's evaluations; the number of those that it gave stars.

    The stars are kept in the run. UserError where there is no run, or no evaluation in it.
    """
    from saccade.viewer.star_record import write_star_record
    from saccade.waiting import run_to_end

    paths, files = _evaluations(run)
    found = run_to_end(_starred(paths, files, judge, model, sees_pages=sees_pages, api_key_env=api_key_env))
    write_star_record(paths, found)
    return sum(one.report.judged for one in found.values())


async def _starred(
    paths: "RunPaths", files: list[Path], who: str, model: str | None, *, sees_pages: bool, api_key_env: str
) -> "dict[str, StarredEvaluation]":
    from saccade.evaluation.stars import StarJudge, starred
    from saccade.media.store import MediaStore
    from saccade.rewards.judges.llm_judge import JudgeClient
    from saccade.runs.records import read_records
    from saccade.viewer.star_record import StarredEvaluation

    name, media = f"{model} at {who}" if model else who, MediaStore()
    attempts = {file.stem: list(read_records(file)) for file in files}
    shown = {image for of in attempts.values() for one in of for image in one.task.images} if sees_pages else ()
    for image in shown:
        media.add_file(paths.media / f"{image.hash}.png")
    with _judge(who, model, media, api_key_env, paths.root) as open_:
        asked = StarJudge(asking=JudgeClient(model=open_.teacher("judge")), sees_pages=sees_pages)
        return {
            stage: StarredEvaluation(judge=name, sees_pages=sees_pages, verdicts=await starred(of, asked))
            for stage, of in attempts.items()
        }


RUN = "run"
"""Stands for the encoder that the settings of a run name."""


def explain_pages(run: Path, where: str) -> int:
    """Asks an encoder why the pages were found that the report of a run shows; the number of questions.

    The parts are kept in the run. UserError where there is no run, or no page in it that was looked for.
    """
    from saccade.media.store import MediaStore
    from saccade.runs.records import images_of
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.evidence import collect
    from saccade.viewer.example_sections import shown_attempts
    from saccade.viewer.why_record import why_found, write_why
    from saccade.vision_models.page_encoders import open_page_encoder

    paths, media = RunPaths(root=run), MediaStore()
    evidence = collect(paths)
    attempts = shown_attempts(evidence)
    for image in {image for attempt in attempts for image in images_of(attempt)}:
        media.add_file(paths.media / f"{image.hash}.png")
    encoder = open_page_encoder(noted_place(_encoder_of(evidence.settings), paths.settings) if where == RUN else where)
    record = why_found(attempts, encoder, media)
    write_why(paths, record)
    return len({question for question, _ in record.matches})


def _encoder_of(settings: "Mapping[str, Json]") -> str:
    recipe = settings.get("recipe")
    named = recipe.get("encoder") if isinstance(recipe, Mapping) else None
    if not isinstance(named, str) or not named:
        raise UserError("the settings of this run name no encoder of pages; give its directory or server to --why")
    return named
