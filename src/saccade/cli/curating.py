"""Puts a curation together from what the command line says: questions, who does what, sandbox, folder."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from saccade.cli.curation_settings import CodeDanceSettings
from saccade.cli.pass_rates import recorded_pass_rates
from saccade.curation.by_id import read_chains
from saccade.curation.difficulty import check_covered
from saccade.curation.journal import Journal
from saccade.curation.outcomes import Outcome
from saccade.curation.pipeline import Curation, Player, Roles
from saccade.curation.playing import ORIGINAL_VIEW
from saccade.curation.report import Counts, CurationReport
from saccade.engines.teacher import EngineTeacher, Teacher
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol
from saccade.sandbox import Sandbox
from saccade.sandbox.contract import Isolation
from saccade.tasks.procedural import generate
from saccade.tools.code import python_tool
from saccade.train.context import RecipeContext
from saccade.train.own_tasks import own_tasks
from saccade.train.settings import apply_overrides, to_json
from saccade.types import Json, Task

Role = Literal["teacher", "weak", "strong", "checker"]

FAMILY_QUESTIONS = 64
PICTURES = ".pictures"
REPLIES = "replies"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceRequest:
    """The command line, read."""

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
    settings = apply_overrides(CodeDanceSettings(), request.overrides)
    # On disk, for the pictures that code shows are many; the folder is hidden and goes in the end.
    media = MediaStore(request.out / PICTURES)
    tasks = _questions(request, settings, media)
    with (
        Journal(request.out, _started_with(request, settings, tasks), resume=request.resume) as journal,
        Sandbox(isolation=cast(Isolation, request.isolation)) as sandbox,
    ):

        def make_env(seed: int) -> VisualReasoningEnv:
            return VisualReasoningEnv(
                protocol=code_protocol(max_turns=settings.max_turns),
                tools=(python_tool(sandbox, timeout_s=settings.run_timeout_s),),
                media=media,
                view=ORIGINAL_VIEW,
                max_turns=settings.max_turns,
                seed=seed,
                shows_pixels=False,
            )

        report = asyncio.run(_run(request, settings, tasks, media=media, make_env=make_env, journal=journal))
    _remove_pictures(request.out / PICTURES)
    return report


async def _run(
    request: CodeDanceRequest,
    settings: CodeDanceSettings,
    tasks: Sequence[Task],
    *,
    media: MediaStore,
    make_env: Callable[[int], VisualReasoningEnv],
    journal: Journal,
) -> CurationReport:
    counted: dict[str, Callable[[], Counts]] = {}
    local: dict[Path, Teacher] = {}
    async with AsyncExitStack() as stack:

        async def teacher(role: Role) -> Teacher | None:
            who = request.who[role]
            if who is None:
                return None
            if not who.startswith(("http://", "https://")):
                path = Path(who)
                if path not in local:
                    local[path] = _local_teacher(role, path, media, settings)
                return local[path]
            # Here, for without a server the package openai is not needed.
            from saccade.engines.openai_chat import ChatClient

            model = request.models[role]
            if model is None:
                raise UserError(f"--{role} {who} is a server; say with --{role}-model which of its models is meant")
            client = ChatClient(
                who,
                model,
                media=media,
                api_key=os.environ.get(request.api_key_env) or "none",
                timeout_s=settings.server.timeout_s,
                max_tokens=settings.server.max_tokens,
                max_concurrency=settings.server.requests_at_once,
                requests_per_minute=settings.server.requests_per_minute,
                retries=settings.server.retries,
                cache_dir=request.out / REPLIES,
                extra_body=settings.server.extra_fields(),
            )
            counted[role] = lambda: client.counts.as_counts()
            return await stack.enter_async_context(client)

        async def player(role: Role) -> Player | None:
            who = request.who[role]
            if who is None or who.startswith(("http://", "https://")) or _is_checkpoint(Path(who)):
                return await teacher(role)
            rates = recorded_pass_rates(Path(who))
            check_covered(tasks, rates, f"--{role} {who}")
            return rates

        solver = await teacher("teacher")
        assert solver is not None
        roles = Roles(
            teacher=solver,
            weak=await player("weak"),
            strong=await player("strong"),
            checker=await teacher("checker"),
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
            counts=lambda: {role: counts() for role, counts in counted.items()},
            on_outcome=_telling(journal, len(tasks)),
        )


def _questions(request: CodeDanceRequest, settings: CodeDanceSettings, media: MediaStore) -> Sequence[Task]:
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
    return own_tasks(request.data, context)[: request.count]


def _started_with(request: CodeDanceRequest, settings: CodeDanceSettings, tasks: Sequence[Task]) -> dict[str, Json]:
    """What must be the same for a curation to be resumed: everything that decides what is asked and kept."""
    values = to_json(settings)
    # How fast one asks decides nothing.
    values["server"] = {"max_tokens": settings.server.max_tokens, "extra_body": settings.server.extra_body}
    del values["questions_at_once"]
    content = "\n".join(f"{task.id} {task.question} {task.answer}" for task in tasks)
    return {
        "questions": len(tasks),
        "questions_sha256": hashlib.sha256(content.encode("utf-8", errors="replace")).hexdigest(),
        **{role: f"{who} {request.models[role] or ''}".strip() for role, who in request.who.items() if who},
        "chains": None if request.chains is None else str(request.chains),
        "seed": request.seed,
        **values,
    }


def _local_teacher(role: Role, path: Path, media: MediaStore, settings: CodeDanceSettings) -> Teacher:
    """A checkpoint in this process."""
    if not _is_checkpoint(path):
        raise UserError(f"--{role} {path} is neither the address of a server (http://…) nor a checkpoint directory")
    # Here, for servers need no torch.
    from saccade.engines.local import LocalEngine
    from saccade.models.loading import LoadSettings, load_model

    model = load_model(path, media, LoadSettings())
    return EngineTeacher(engine=LocalEngine(model), chat=model.chat, max_tokens=settings.server.max_tokens)


def _is_checkpoint(path: Path) -> bool:
    return (path / "config.json").is_file() or (path / "adapter_config.json").is_file()


def _telling(journal: Journal, total: int) -> Callable[[Outcome], None]:
    """Says every twentieth of the way how far it is."""

    def tell(_: Outcome) -> None:
        done = len(journal.outcomes)
        if done % max(1, total // 20) == 0:
            kept = sum(outcome.row is not None for outcome in journal.outcomes.values())
            logger.info("%d of %d questions, %d examples", done, total, kept)

    return tell


def _remove_pictures(directory: Path) -> None:
    for picture in directory.glob("*.png"):
        picture.unlink(missing_ok=True)
    if directory.is_dir():
        directory.rmdir()
