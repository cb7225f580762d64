"""Command of VISTA-R1's curation: questions, tools, teachers and folder, from what the command line says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade.chat.chat_model import ChatServerSettings
from saccade.config.context import warn_of_bad_rows
from saccade.config.settings import apply_overrides
from saccade.curation.journal import PICTURES, Journal, deciding, digest, remove_pictures, telling
from saccade.curation.reports import ImitationReport
from saccade.curation.requests import QuestionsRequest
from saccade.curation.teachers import Teachers
from saccade.curation.vista.imitation import (
    Imitation,
    Player,
    VistaImitationSettings,
    expert_player,
    imitable_from,
    teacher_player,
)
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.services.client.configured import Tools, configured_tools
from saccade.tasks.datasets.reading import read_data_set
from saccade.tools.tool import Tool
from saccade.types import Example, Json, Task
from saccade.waiting import run_to_end

EXPERT = "expert"


@dataclass(frozen=True, kw_only=True, slots=True)
class VistaCuration(VistaImitationSettings):
    """Settings of making trajectories with tools and of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnGym:
    """Drawn questions with their experts, and the tools that these call."""

    questions: Callable[[MediaStore, int, int | None], Sequence[Example]]
    """From the store of their pictures, a seed, and how many; None for as many as is usual."""
    careful: Callable[[Example], Example]
    """The question with the calls that it needs."""
    tools: Callable[[], Sequence[Tool]]


@dataclass(frozen=True, kw_only=True, slots=True)
class VistaRequest(QuestionsRequest):
    """Arguments of the command line; the roles are teacher and densifier."""

    data_set: str | None
    split: str
    drawn: DrawnGym | None
    tools: Path | None
    service: str | None


def curate_vista(request: VistaRequest) -> ImitationReport:
    """Makes trajectories to imitate into ``request.out`` and gives the counts."""
    settings = apply_overrides(VistaCuration(), request.overrides)
    gym = request.drawn
    teacher = request.models["teacher"]
    if teacher.where == EXPERT and gym is None:
        raise UserError("--teacher expert answers only drawn questions; name a server or a checkpoint, or give --drawn")
    media = MediaStore(request.out / PICTURES)
    drawn = [] if gym is None else gym.questions(media, request.seed, request.count)
    experts = {one.task.id: one for one in drawn}
    tasks = _questions(request, media) if gym is None else [one.task for one in drawn]
    # Everything that decides what is asked and kept must be the same for a curation to be resumed.
    started_with: dict[str, Json] = {
        "questions": len(tasks),
        "questions_sha256": digest(f"{task.id} {task.question} {task.answer}" for task in tasks),
        "teacher": str(teacher),
        "densifier": str(request.models.get("densifier", "")),
        "tools": str(request.service or request.tools or ""),
        "seed": request.seed,
        **deciding(settings, settings.server),
    }

    def expert(task: Task) -> Example:
        assert gym is not None
        return gym.careful(experts[task.id])

    with (
        Journal(request.out, started_with, imitable_from, resume=request.resume) as journal,
        configured_tools(request.tools, request.service) as configured,
    ):
        tools: Tools = configured if gym is None else tuple(gym.tools())
        if not tools:
            raise UserError("there is no tool to call; name a tools.toml with --tools, or a service with --service")

        def make_env(seed: int) -> VisualReasoningEnv:
            return VisualReasoningEnv(
                protocol=tagged_protocol(max_turns=settings.max_turns),
                tools=tools,
                media=media,
                view=ORIGINAL_VIEW,
                max_turns=settings.max_turns,
                seed=seed,
                reward=None,
                shows_pixels=False,
            )

        async def run() -> ImitationReport:
            with Teachers.of(request, settings.server, media) as teachers:
                player: Player = expert_player(expert)
                if teacher.where != EXPERT:
                    player = teacher_player(teachers.teacher("teacher"), settings)
                imitation = Imitation(
                    player=player,
                    make_env=make_env,
                    media=media,
                    densifier=teachers.teacher_if_named("densifier"),
                    settings=settings,
                    seed=request.seed,
                )
                tell = telling(journal, len(tasks), lambda one: bool(one.turns))
                return await imitation.run(tasks, journal, counts=teachers.counts, on_outcome=tell)

        report = run_to_end(run())
    remove_pictures(request.out)
    return report


def _questions(request: VistaRequest, media: MediaStore) -> Sequence[Task]:
    if request.data_set is None:
        return request.questions(media, difficulty=0.0)
    assert request.data is not None
    read = read_data_set(
        request.data_set,
        request.data,
        split=request.split,
        media=media,
        take=request.count,
        seed=request.seed,
        skip_bad_rows=request.skip_bad_rows,
    )
    warn_of_bad_rows(request.data, read.skipped, len(read.tasks))
    return read.tasks
