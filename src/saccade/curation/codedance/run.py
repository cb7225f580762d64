"""Command of CodeDance's curation: questions, roles, sandbox and folder, from what the command line says."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from saccade.chat.chat_model import ChatModel, ChatServerSettings
from saccade.config.context import RecipeContext, read_own_tasks
from saccade.config.settings import apply_overrides
from saccade.config.sources import family_inputs
from saccade.curation.codedance.outcomes import QuestionOutcome, outcome_from
from saccade.curation.codedance.pipeline import Curation, Player, Roles
from saccade.curation.codedance.settings import CurationSettings
from saccade.curation.codedance.solutions import REPLAYED, MakeSeededEnvironment
from saccade.curation.journal import PICTURES, Journal, deciding, digest, remove_pictures, telling
from saccade.curation.reports import CurationReport
from saccade.curation.rows import check_covered, read_chains
from saccade.curation.teachers import Teachers
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.sandbox import Sandbox
from saccade.sandbox.results import Isolation
from saccade.tasks.procedural import generate
from saccade.tools.code import python_tool
from saccade.types import Json, Task

Role = Literal["teacher", "weak", "strong", "checker"]

FAMILY_QUESTIONS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceCuration(CurationSettings):
    """Settings of the pipeline and of the servers."""

    server: ChatServerSettings = field(default_factory=ChatServerSettings)
    difficulty: float = 0.5
    """Difficulty of the questions of a procedural family."""
    run_timeout_s: float = 15.0
    """Time limit of one piece of code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceRequest:
    """Arguments of the command line."""

    data: Path | None
    family: str | None
    count: int | None
    who: Mapping[Role, str | None]
    models: Mapping[Role, str | None]
    chains: Path | None
    api_key_env: str
    skip_bad_rows: bool
    isolation: str
    out: Path
    seed: int
    overrides: tuple[str, ...]
    resume: bool


def curate_codedance(request: CodeDanceRequest) -> CurationReport:
    """Runs the pipeline into ``request.out`` and gives its counts."""
    settings = apply_overrides(CodeDanceCuration(), request.overrides)
    # On disk, for the pictures that code shows are many.
    media = MediaStore(request.out / PICTURES)
    tasks = _questions(request, settings, media)
    with (
        Journal(request.out, _started_with(request, settings, tasks), outcome_from, resume=request.resume) as journal,
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

        report = asyncio.run(_run(request, settings, tasks, media=media, make_env=make_env, journal=journal))
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
    with Teachers(media=media, server=settings.server, api_key_env=request.api_key_env, out=request.out) as teachers:

        def teacher(role: Role) -> ChatModel | None:
            who = request.who[role]
            return None if who is None else teachers.teacher(role, who, request.models[role])

        def player(role: Role) -> Player | None:
            who = request.who[role]
            if who is None:
                return None
            found = teachers.player(role, who, request.models[role])
            if isinstance(found, Mapping):
                check_covered(tasks, found, f"--{role} {who}")
            return found

        solver = teacher("teacher")
        assert solver is not None
        roles = Roles(
            teacher=solver,
            weak=player("weak"),
            strong=player("strong"),
            checker=teacher("checker"),
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


def _questions(request: CodeDanceRequest, settings: CodeDanceCuration, media: MediaStore) -> Sequence[Task]:
    if request.family is not None:
        return [
            generate(
                request.family,
                split="train",
                index=index,
                seed=request.seed,
                media=media,
                difficulty=settings.difficulty,
            ).task
            for index in range(request.count or FAMILY_QUESTIONS)
        ]
    assert request.data is not None
    context = RecipeContext(data=request.data, skip_bad_rows=request.skip_bad_rows, media=media)
    return read_own_tasks(request.data, context)[: request.count]


def _started_with(request: CodeDanceRequest, settings: CodeDanceCuration, tasks: Sequence[Task]) -> dict[str, Json]:
    """Everything that decides what is asked and kept, which must be the same for a curation to be resumed."""
    return {
        "questions": len(tasks),
        "questions_sha256": digest(f"{task.id} {task.question} {task.answer}" for task in tasks),
        **{role: f"{who} {request.models[role] or ''}".strip() for role, who in request.who.items() if who},
        **({} if request.family is None else family_inputs(request.family)),
        "chains": None if request.chains is None else str(request.chains),
        "seed": request.seed,
        **deciding(settings, settings.server),
    }
