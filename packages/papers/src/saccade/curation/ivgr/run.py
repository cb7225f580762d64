"""Commands of iVGR's curations: data, teachers and folder, from what the command line says."""

from dataclasses import dataclass, field
from pathlib import Path

from saccade.chat.chat_model import ChatServerSettings
from saccade.config.context import RecipeContext, read_own_tasks, warn_of_bad_rows
from saccade.config.settings import apply_overrides
from saccade.curation.ivgr.cold_start import ColdStartExample, read_cold_start
from saccade.curation.ivgr.rephrasing import Rephrased, Rephrasing, RephrasingSettings
from saccade.curation.ivgr.selection import Measured, QuestionSelection, SelectionSettings
from saccade.curation.journal import Journal, deciding, digest, kept_as, telling
from saccade.curation.reports import RephrasingReport, SelectionReport
from saccade.curation.requests import CurationRequest
from saccade.curation.teachers import Teachers
from saccade.media.store import MediaStore
from saccade.types import Json
from saccade.waiting import run_to_end


@dataclass(frozen=True, kw_only=True, slots=True)
class RewriteSettings(RephrasingSettings):
    """Settings of rephrasing trajectories and of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectSettings(SelectionSettings):
    """Settings of selecting questions and of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class IvgrRequest(CurationRequest):
    """Arguments of the command line; the roles are teacher and solver."""

    data: Path
    count: int | None
    skip_bad_rows: bool


def rewrite_trajectories(request: IvgrRequest) -> RephrasingReport:
    """Rephrases trajectories into ``request.out`` and gives the counts."""
    settings = apply_overrides(RewriteSettings(), request.overrides)
    media = MediaStore()
    read = read_cold_start(request.data, media, skip_bad_rows=request.skip_bad_rows)
    warn_of_bad_rows(request.data, read.skipped, len(read.examples))
    examples = read.examples[: request.count]
    # Everything that decides what is asked and kept must be the same for a curation to be resumed.
    started_with: dict[str, Json] = {
        "trajectories": len(examples),
        "trajectories_sha256": digest(_line(one) for one in examples),
        **request.models_used(),
        "seed": request.seed,
        **deciding(settings, settings.server),
    }

    async def run(journal: Journal[Rephrased]) -> RephrasingReport:
        with Teachers.of(request, settings.server, media) as teachers:
            teacher = teachers.teacher("teacher")
            rephrasing = Rephrasing(teacher=teacher, media=media, settings=settings, seed=request.seed)
            total = len(rephrasing.chosen_examples(examples))
            tell = telling(journal, total, lambda outcome: outcome.thought is not None)
            return await rephrasing.run(examples, journal, counts=teachers.counts, on_outcome=tell)

    with Journal(request.out, started_with, kept_as(Rephrased), resume=request.resume) as journal:
        return run_to_end(run(journal))


def select_questions(request: IvgrRequest) -> SelectionReport:
    """Selects questions into ``request.out`` and gives the counts."""
    settings = apply_overrides(SelectSettings(), request.overrides)
    media = MediaStore()
    context = RecipeContext(data=request.data, skip_bad_rows=request.skip_bad_rows, media=media)
    tasks = read_own_tasks(request.data, context)[: request.count]
    started_with: dict[str, Json] = {
        "questions": len(tasks),
        "questions_sha256": digest(f"{task.id} {task.question} {task.answer}" for task in tasks),
        **request.models_used(),
        "seed": request.seed,
        **deciding(settings, settings.server),
    }

    async def run(journal: Journal[Measured]) -> SelectionReport:
        with Teachers.of(request, settings.server, media) as teachers:
            selection = QuestionSelection(
                solver=teachers.player("solver", tasks), media=media, settings=settings, seed=request.seed
            )
            tell = telling(journal, len(tasks), lambda one: settings.low <= one.pass_rate <= settings.high)
            return await selection.run(tasks, journal, counts=teachers.counts, on_outcome=tell)

    with Journal(request.out, started_with, kept_as(Measured), resume=request.resume) as journal:
        return run_to_end(run(journal))


def _line(one: ColdStartExample) -> str:
    return f"{one.example.task.id} {one.example.task.question} {one.thought} {one.example.task.answer}"
