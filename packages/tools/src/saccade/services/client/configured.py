"""The tools of a run: from a configuration in this process, or from a tool service."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError
from saccade.services.client.remote_tools import RemoteTools
from saccade.tools.catalogue.catalogue import CATALOGUE, toolset
from saccade.tools.catalogue.settings import read_tools_file
from saccade.tools.tool import EpisodeTool, Tool

Tools = tuple[Tool | EpisodeTool, ...]

TOKEN_VARIABLE = "SACCADE_TOKEN"
"""Environment variable of the token that the service was started with."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolsOfRun:
    """The tools, and what must be closed after the run."""

    tools: Tools
    resources: tuple[AbstractContextManager[object], ...] = ()


NO_TOOLS = ToolsOfRun(tools=())


def tools_of_run(file: Path | None, service: str | None) -> ToolsOfRun:
    """The tools of a ``tools.toml`` or of a service; none where neither is given.

    What cannot be made is left out, which is said in the log. ``UserError`` when nothing is left.
    """
    if file is not None and service is not None:
        raise UserError("a tools file and a tool service are given; choose one of them")
    if service is not None:
        remote = RemoteTools(service, os.environ.get(TOKEN_VARIABLE))
        return ToolsOfRun(tools=remote.tools, resources=(remote,))
    if file is None:
        return ToolsOfRun(tools=())
    made = toolset(read_tools_file(file))
    for name, why in made.left_out.items():
        logger.warning("the tool %s is left out: %s", name, why)
    if not made.ready:
        raise UserError(f"{file}: none of its tools can be made; `saccade tools` says what each of them needs")
    return ToolsOfRun(tools=made.ready)


@contextmanager
def configured_tools(file: Path | None, service: str | None) -> Iterator[Tools]:
    """The tools, until the block ends."""
    made = tools_of_run(file, service)
    with ExitStack() as opened:
        for resource in made.resources:
            opened.enter_context(resource)
        yield made.tools


def of_families(tools: Sequence[Tool | EpisodeTool], families: Sequence[str]) -> Tools:
    """Those of some families of the catalogue; all of them where none is named. ``UserError`` when none is left."""
    known = {entry.name: str(entry.family) for entry in CATALOGUE}
    if unknown := sorted(set(families) - set(known.values())):
        raise UserError(
            f"tool_families={','.join(families)}: {unknown[0]!r} is none of {', '.join(dict.fromkeys(known.values()))}"
        )
    chosen = tuple(tool for tool in tools if not families or known.get(tool.spec.name) in families)
    if tools and not chosen:
        raise UserError(f"tool_families={','.join(families)}: no tool that is configured is of these families")
    return chosen
