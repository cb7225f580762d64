"""Command of CodeDance's curation: questions, roles, sandbox and folder, from what the command line says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from saccade.chat.chat_model import ChatServerSettings
from saccade.config.settings import apply_overrides
from saccade.curation.codedance.outcomes import QuestionOutcome
from saccade.curation.codedance.pipeline import Curation, Roles
from saccade.curation.codedance.settings import CurationSettings
from saccade.curation.codedance.solutions import REPLAYED, MakeSeededEnvironment
from saccade.curation.journal import PICTURES, Journal, deciding, digest, kept_as, remove_pictures, telling
from saccade.curation.reports import CurationReport
from saccade.curation.requests import QuestionsRequest
from saccade.curation.rows import read_chains
from saccade.curation.teachers import Teachers
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.sandbox import Sandbox
from saccade.sandbox.results import Isolation
from saccade.tools.code import python_tool
from saccade.types import Json, Task
from saccade.waiting import run_to_end


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceCuration(CurationSettings):
    """Settings of the pipeline and of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)
    difficulty: float = 0.5
    """Difficulty of the questions of a procedural family."""
    run_timeout_s: float = 15.0
    """Time limit of one piece of code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceRequest(QuestionsRequest):
    """Arguments of the command line; the roles are teacher, weak, strong and checker."""

    chains: Path | None
    isolation: str


def curate_codedance(request: CodeDanceRequest) -> CurationReport:
    """Runs the pipeline into ``request.out`` and gives its counts."""
    settings = apply_overrides(CodeDanceCuration(), request.overrides)
    # On disk, for the pictures that code shows are many.
    media = MediaStore(request.out / PICTURES)
    tasks = request.questions(media, difficulty=settings.difficulty)
    with (
        Journal(
            request.out, _started_with(request, settings, tasks), kept_as(QuestionOutcome), resume=request.resume
        ) as journal,
        Sandbox(isolation=cast(Isolation, request.isolation)) as sandbox,
    ):

        def make_env(seed: int) -> VisualReasoningEnv:
            return VisualReasoningEnv(
                protocol=code_protocol(max_turns=settings.max_turns),
                tools=(
                    # What is played is replayed, and that is when it must be seen to work.
                    python_tool(sandbox, timeout_s=settings.run_timeout_s, checks_work=seed == REPLAYED),
                ),
                media=media,
                view=ORIGINAL_VIEW,
                max_turns=settings.max_turns,
                seed=seed,
                reward=None,
                shows_pixels=False,
            )

        report = run_to_end(_run(request, settings, tasks, media=media, make_env=make_env, journal=journal))
    remove_pictures(request.out)
    return report


async def _run(
    request: CodeDanceRequest,
    settings: CodeDanceCuration,
    tasks: Sequence[Task],
    *,
    media: MediaStore,
    make_env: MakeSeededEnvironment,
    journal: Journal[QuestionOutcome],
) -> CurationReport:
    with Teachers.of(request, settings.server, media) as teachers:
        players = {role: teachers.player(role, tasks) for role in ("weak", "strong") if role in request.models}
        roles = Roles(
            teacher=teachers.teacher("teacher"),
            weak=players.get("weak"),
            strong=players.get("strong"),
            checker=teachers.teacher_if_named("checker"),
        )
        curation = Curation(
            roles=roles,
            make_env=make_env,
            media=media,
            settings=settings,
            seed=request.seed,
            chains={} if request.chains is None else read_chains(request.chains),
        )
        return await curation.run(
            tasks,
            journal,
            counts=teachers.counts,
            on_outcome=telling(journal, len(tasks), lambda outcome: outcome.row is not None),
        )


def _started_with(request: CodeDanceRequest, settings: CodeDanceCuration, tasks: Sequence[Task]) -> dict[str, Json]:
    """Everything that decides what is asked and kept, which must be the same for a curation to be resumed."""
    return {
        "questions": len(tasks),
        "questions_sha256": digest(f"{task.id} {task.question} {task.answer}" for task in tasks),
        **request.models_used(),
        **request.family_used(),
        "chains": None if request.chains is None else str(request.chains),
        "seed": request.seed,
        **deciding(settings, settings.server),
    }
