"""What judges and encoders of pages say of a recorded run, asked by ``saccade report`` and kept in the run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.cli.index import noted_place
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.curation.teachers import Teachers
    from saccade.media.store import MediaStore
    from saccade.runs.runinfo import RunPaths
    from saccade.types import Json
    from saccade.viewer.judged_evidence import JudgedPictures
    from saccade.viewer.star_record import StarredEvaluation
    from saccade.viewer.verdicts import JudgedEvaluation


def judge_run(run: Path, judge: str, model: str | None, *, api_key_env: str) -> int:
    """Asks a judge about wrong trajectories: were calls wrong (E4), or conclusions (E6)? Gives their number.

    The verdicts are kept in the run. UserError where there is no run, or no evaluation in it.
    """
    from saccade.viewer.verdicts import write_verdicts
    from saccade.waiting import run_to_end

    paths, files = _evaluations(run)
    found = run_to_end(_judge_files(paths, files, judge, model, api_key_env))
    write_verdicts(paths, found)
    return sum(len(one.verdicts) for one in found.values())


async def _judge_files(
    paths: "RunPaths", files: list[Path], who: str, model: str | None, api_key_env: str
) -> "dict[str, JudgedEvaluation]":
    from saccade.evaluation.error_judge import ErrorJudge
    from saccade.evaluation.errors import error_verdicts
    from saccade.media.store import MediaStore
    from saccade.rewards.judges.llm_judge import JudgeClient
    from saccade.runs.records import read_records
    from saccade.viewer.verdicts import JudgedEvaluation

    name = f"{model} at {who}" if model else who
    with _judge(who, model, MediaStore(), api_key_env, paths.root) as open_:
        asked = ErrorJudge(asking=JudgeClient(model=open_.teacher("judge")))
        return {
            file.stem: JudgedEvaluation(judge=name, verdicts=await error_verdicts(read_records(file), asked))
            for file in files
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


def evidence_run(run: Path, judge: str, model: str | None, *, api_key_env: str) -> int:
    """Asks a judge of each picture that a call returned whether it shows what the question needs; their number.

    The verdicts are kept in the run. UserError where there is no run, or no evaluation in it.
    """
    from saccade.viewer.judged_evidence import write_judged_evidence
    from saccade.waiting import run_to_end

    paths, files = _evaluations(run)
    found = run_to_end(_evidence_files(paths, files, judge, model, api_key_env))
    write_judged_evidence(paths, found)
    return sum(said is not None for one in found.values() for given in one.verdicts.values() for said in given.values())


async def _evidence_files(
    paths: "RunPaths", files: list[Path], who: str, model: str | None, api_key_env: str
) -> "dict[str, JudgedPictures]":
    from saccade.evaluation.evidence_judge import picture_verdicts
    from saccade.media.store import MediaStore
    from saccade.rewards.judges.evidence_judge import EvidenceJudge, images_given
    from saccade.rewards.judges.llm_judge import JudgeClient
    from saccade.runs.records import read_records
    from saccade.viewer.judged_evidence import JudgedPictures

    name, media = f"{model} at {who}" if model else who, MediaStore()
    attempts = {file.stem: list(read_records(file)) for file in files}
    for image in {
        image for of in attempts.values() for one in of for turn in one.trajectory.turns for image in images_given(turn)
    }:
        media.add_file(paths.media / f"{image.hash}.png")
    with _judge(who, model, media, api_key_env, paths.root) as open_:
        asked = EvidenceJudge(asking=JudgeClient(model=open_.teacher("judge")))
        return {
            stage: JudgedPictures(judge=name, verdicts=await picture_verdicts(of, asked))
            for stage, of in attempts.items()
        }


def star_run(run: Path, judge: str, model: str | None, *, sees_pages: bool, api_key_env: str) -> int:
    """Asks a judge for stars of all trajectories of the run's evaluations; the number of those that it gave stars.

    The stars are kept in the run. UserError where there is no run, or no evaluation in it.
    """
    from saccade.viewer.star_record import write_star_record
    from saccade.waiting import run_to_end

    paths, files = _evaluations(run)
    found = run_to_end(_star_files(paths, files, judge, model, sees_pages=sees_pages, api_key_env=api_key_env))
    write_star_record(paths, found)
    return sum(one.report.judged for one in found.values())


async def _star_files(
    paths: "RunPaths", files: list[Path], who: str, model: str | None, *, sees_pages: bool, api_key_env: str
) -> "dict[str, StarredEvaluation]":
    from saccade.evaluation.stars import StarJudge, star_verdicts
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
            stage: StarredEvaluation(judge=name, sees_pages=sees_pages, verdicts=await star_verdicts(of, asked))
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
