"""Curation of linguistic tools: right trajectories one after the other, each seen with the pool of those before it.

Sequential by definition (equations 3 to 7): what one trajectory defines the next may use, so nothing is asked at the
same time, and the order of the trajectories is part of the result. A journal keeps each outcome as soon as it is known;
a killed curation goes on from there and ends with the same bytes.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from saccade.chat.wire import RefusedRequestError
from saccade.codec.bounds import Bounds, NotNegative, Positive, check_bounds
from saccade.codec.codecs import PLAIN_CODEC
from saccade.config.settings import to_json
from saccade.curation.journal import FAILURES_IN_A_ROW, Journal, digest, kept_as
from saccade.curation.linguistic_tools.asking import Curator, RuleCurator, asked_tools
from saccade.curation.linguistic_tools.curated import CuratedTools
from saccade.curation.linguistic_tools.grammar import ReadReply, RefusedTool, read_reply
from saccade.curation.linguistic_tools.sets import K, ToolSet
from saccade.curation.linguistic_tools.trajectories import ReasonedTrajectory
from saccade.errors import MachineError, UserError
from saccade.protocols.linguistic_tools import MAX_TOOLS, LinguisticTool, LinguisticToolbox
from saccade.seeding import seed_for
from saccade.types import Json

logger = logging.getLogger(__name__)

RETRY_TEMPERATURE = 0.5
"""At least, when asked again: near 0 a curator that was cut off would be cut off once more."""


@dataclass(frozen=True, kw_only=True)
class ToolCuration:
    """Settings of a curation of linguistic tools."""

    k: Positive = K
    """Number of tools in the toolbox."""
    trajectories: Positive = 1500
    """Maximum number of right trajectories, the newest ones (appendix A.6)."""
    attempts: Positive = 3
    """Maximum number of requests to a curator about one trajectory."""
    temperature: NotNegative = 0.01
    max_pool: Annotated[int, Bounds(least=1, most=MAX_TOOLS)] = 64
    """Maximum tools in the pool; further definitions are refused. It bounds the prompt of a curator that always invents
    tools."""

    def check(self) -> None:
        check_bounds(self)


async def curate_tools(
    trajectories: Sequence[ReasonedTrajectory],
    curator: Curator,
    settings: ToolCuration = ToolCuration(),
    journal: Journal[ToolSet] | None = None,
    *,
    seed: int = 0,
    on_outcome: Callable[[ToolSet], None] = lambda _: None,
) -> CuratedTools:
    """The tools of right trajectories, taken in their order; of more than ``settings.trajectories`` the last ones.

    A reply that is cut off is asked for again, then its trajectory is skipped and counted; so is one for which the
    curator's machine fails each time. Raises MachineError when ``FAILURES_IN_A_ROW`` trajectories fail so one after
    another, with none of them kept; UserError for two trajectories of one id, and for what no other request would mend.
    """
    settings.check()
    trajectories = trajectories[-settings.trajectories :]
    _check_ids(trajectories)
    pool = LinguisticToolbox(())
    sets: list[ToolSet] = []
    unheard: list[ToolSet] = []
    for trajectory in trajectories:
        known = None if journal is None else journal.outcomes.get(trajectory.id)
        found = await _find_tools(trajectory, pool, curator, settings, seed) if known is None else known
        if known is None and found.status == "no_reply":
            # Kept when the curator has answered again: a server that is gone must not use up the trajectories.
            unheard.append(found)
            if len(unheard) >= FAILURES_IN_A_ROW:
                raise MachineError(
                    f"the curator gave no reply for {len(unheard)} trajectories in a row, the last of them "
                    f"{trajectory.id}; check the curator, then resume"
                )
        elif known is None:
            _keep(journal, [*unheard, found])
            unheard.clear()
        pool = LinguisticToolbox((*pool.tools, *(tool for tool in found.tools if tool.name not in pool)))
        sets.append(found)
        on_outcome(found)
    _keep(journal, unheard)
    return CuratedTools(sets=tuple(sets), k=settings.k)


def tool_journal(
    folder: Path,
    trajectories: Sequence[ReasonedTrajectory],
    settings: ToolCuration = ToolCuration(),
    *,
    seed: int = 0,
    resume: bool = True,
    **asked: Json,
) -> Journal[ToolSet]:
    """The journal of a curation in a folder of its own; ``asked`` is what else decides the replies, the curator, say.

    UserError for a folder that was begun with other trajectories or settings; how many tools are taken in the end, and
    of how many trajectories at most, decide nothing here.
    """
    values = to_json(settings)
    decides = {name: values[name] for name in ("attempts", "temperature", "max_pool")}
    worked_on = digest(PLAIN_CODEC.text(one) for one in trajectories)
    started_with = {"trajectories_sha256": worked_on, "seed": seed, **decides, **asked}
    return Journal(folder, started_with, kept_as(ToolSet), resume=resume)


async def _find_tools(
    trajectory: ReasonedTrajectory, pool: LinguisticToolbox, curator: Curator, settings: ToolCuration, seed: int
) -> ToolSet:
    """The set of one trajectory, after as many attempts as it needs."""
    was_heard = False
    for attempt in range(settings.attempts):
        try:
            text = await _reply(trajectory, pool, curator, settings, seed, attempt)
        except MachineError as error:
            logger.warning("the curator failed on trajectory %s: %s", trajectory.id, error)
            continue
        was_heard = True
        read = read_reply(text, pool)
        if read.is_complete:
            return _within_pool(trajectory.id, read, pool, settings.max_pool, asked=attempt + 1)
        if isinstance(curator, RuleCurator):
            return ToolSet(trajectory=trajectory.id, status="cut_off")
    return ToolSet(trajectory=trajectory.id, status="cut_off" if was_heard else "no_reply", asked=settings.attempts)


async def _reply(
    trajectory: ReasonedTrajectory,
    pool: LinguisticToolbox,
    curator: Curator,
    settings: ToolCuration,
    seed: int,
    attempt: int,
) -> str:
    """One reply; MachineError where there is none."""
    if isinstance(curator, RuleCurator):
        return curator.reply(trajectory, pool)
    try:
        replies = await curator(
            asked_tools(trajectory, pool),
            temperature=settings.temperature if attempt == 0 else max(settings.temperature, RETRY_TEMPERATURE),
            samples=1,
            seed=seed_for(seed, "curator", trajectory.id, attempt),
        )
    except RefusedRequestError as error:
        if not error.is_about_one_request:
            raise
        raise MachineError(str(error)) from error
    return replies[0] if replies else ""


def _within_pool(trajectory: str, read: ReadReply, pool: LinguisticToolbox, limit: int, *, asked: int) -> ToolSet:
    """The set of a reply, without the new tools that the pool has no room for."""
    room = max(0, limit - len(pool))
    tools: list[LinguisticTool] = []
    refused = list(read.refused)
    for tool in read.tools:
        is_new = tool.name not in pool
        if is_new and not room:
            refused.append(RefusedTool(tool.name, "pool_full"))
            continue
        room -= is_new
        tools.append(tool)
    names = {tool.name for tool in tools}
    return ToolSet(
        trajectory=trajectory,
        tools=tuple(tools),
        calls=tuple(call for call in read.calls if call.name in names),
        refused=tuple(refused),
        asked=asked,
    )


def _keep(journal: Journal[ToolSet] | None, found: Sequence[ToolSet]) -> None:
    if journal is not None:
        for one in found:
            journal.add(one)


def _check_ids(trajectories: Sequence[ReasonedTrajectory]) -> None:
    seen: set[str] = set()
    for one in trajectories:
        if one.id in seen:
            raise UserError(f"two trajectories have the id {one.id!r}; the journal needs a different id for each")
        seen.add(one.id)
