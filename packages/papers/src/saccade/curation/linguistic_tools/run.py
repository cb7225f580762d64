"""Command of the curation of linguistic tools: a run's right trajectories, a curator, and the file of the toolbox."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.atomic import write_json_atomic
from saccade.chat.chat_model import ChatServerSettings
from saccade.config.settings import apply_overrides
from saccade.curation.journal import Journal, telling
from saccade.curation.linguistic_tools.curated import CuratedTools
from saccade.curation.linguistic_tools.pipeline import ToolCuration, curate_tools, tool_journal
from saccade.curation.linguistic_tools.sets import ToolSet
from saccade.curation.linguistic_tools.trajectories import ReasonedTrajectory, recorded_attempts, right_trajectories
from saccade.curation.requests import CurationRequest, NamedModel
from saccade.curation.teachers import Teachers
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.runs.metrics import read_metrics
from saccade.runs.runinfo import RunPaths
from saccade.types import Json
from saccade.waiting import run_to_end

POLICY = "policy"
"""Stands for the run's own last checkpoint."""


@dataclass(frozen=True, kw_only=True)
class ServedToolCuration(ToolCuration):
    """Settings of a curation of linguistic tools, and of the requests to its curator."""

    server: ChatServerSettings = field(default_factory=lambda: ChatServerSettings(max_tokens=2048))


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCurationRequest(CurationRequest):
    """Arguments of the command line; the role is curator, which may be ``POLICY``."""

    run: Path
    stage: str | None
    k: int

    @property
    def folder(self) -> Path:
        """Folder of the journal and of the server's replies, beside the file of the toolbox."""
        return self.out.with_name(f"{self.out.name}.curation")


def curate_run_tools(request: ToolCurationRequest) -> CuratedTools:
    """Curates the tools of a run's right trajectories and writes them to ``request.out``, whole or not at all."""
    settings = apply_overrides(ServedToolCuration(k=request.k), request.overrides)
    if request.out.is_dir():
        raise UserError(f"{request.out} is a folder; name the file of the toolbox, as in toolbox.json")
    attempts = recorded_attempts(request.run, request.stage)
    trajectories = right_trajectories(attempts, count=settings.trajectories)
    if not trajectories:
        raise UserError(f"{request.run} has no right trajectory that reasons in words, so there is nothing to curate")
    curator, server = request.models["curator"], settings.server
    if curator.where == POLICY:
        curator = NamedModel(str(_last_checkpoint(request)), curator.name)
    deciding: dict[str, Json] = {"max_tokens": server.max_tokens, "extra_body": server.extra_body}
    with tool_journal(
        request.folder,
        trajectories,
        settings,
        seed=request.seed,
        resume=request.resume,
        curator=str(curator),
        **deciding,
    ) as journal:
        curated = run_to_end(_curate(request, curator, settings, trajectories, journal))
    if not curated.toolbox.tools:
        raise UserError(
            f"{curator.where} named no usable tool in {len(trajectories)} right trajectories. "
            f"{curated.describe()}Name another curator with --curator, and another --out"
        )
    write_json_atomic(request.out, curated.to_json())
    return curated


async def _curate(
    request: ToolCurationRequest,
    curator: NamedModel,
    settings: ServedToolCuration,
    trajectories: list[ReasonedTrajectory],
    journal: Journal[ToolSet],
) -> CuratedTools:
    beside = replace(request, out=request.folder, models={"curator": curator})
    with Teachers.of(beside, settings.server, MediaStore()) as teachers:
        return await curate_tools(
            trajectories,
            teachers.teacher("curator"),
            settings,
            journal,
            seed=request.seed,
            on_outcome=telling(journal, len(trajectories), lambda one: bool(one.tools)),
        )


def _last_checkpoint(request: ToolCurationRequest) -> Path:
    # Here, for a run that a server curates needs no torch.
    from saccade.runs.checkpoints import latest_checkpoint

    paths = RunPaths(root=request.run)
    stages = tuple(dict.fromkeys(position.stage for position, _ in read_metrics(paths.metrics)))
    found = latest_checkpoint(paths.checkpoints, stages)
    if found is None:
        raise UserError(
            f"{request.run} has no checkpoint to curate with; name another curator with --curator: the address of a "
            "server or a checkpoint directory"
        )
    return found.path
