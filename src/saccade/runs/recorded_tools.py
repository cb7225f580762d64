"""Tools in a checkpoint's record: what makes the same tool again in another process, and the making.

=====================================  ==========================================================================
origin                                 what makes it
=====================================  ==========================================================================
``{"function": "saccade.tools.…:f"}``  the function of Saccade, with its ``deadline_s``
``{"python": {…}}``                    Python in a sandbox, with the settings of ``python_tool`` and the isolation
``{"catalogue": {…}}``                 the catalogue's tool, with back end, options and the folder that paths start at
``{"service": URL}``                   a tool service
``{}``                                 unknown: a tool of the recipe's own
=====================================  ==========================================================================

A record may come from anywhere: walls that it asks for are never weaker than ``full``, and what it reaches needs the
user's yes (``saccade.runs.reaches``).
"""

import importlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.runs.asking import ToolRecord
from saccade.runs.reaches import Permission
from saccade.sandbox.results import Isolation
from saccade.sandbox.sandbox import Sandbox
from saccade.services.client.configured import TOKEN_VARIABLE
from saccade.services.client.remote_tools import RemoteTool, RemoteTools
from saccade.tools.catalogue.catalogue import CATALOGUE, build_tool
from saccade.tools.catalogue.reaches import ReachError
from saccade.tools.catalogue.settings import Backend, ToolSettings
from saccade.tools.code import PythonTool, Shows, python_tool
from saccade.tools.page_search import SearchTool
from saccade.tools.remembered import RememberedSessions
from saccade.tools.tool import EpisodeTool, Returned, Tool, tool_from
from saccade.types import Json

_TOOL_MODULES = ("saccade.tools.images", "saccade.tools.geometry_tools", "saccade.tools.diagram_tools")
"""Where a record may name functions: those of them that are tools of the catalogue by their names."""

logger = logging.getLogger(__name__)


class UnknownOriginError(Exception):
    """The record does not tell how this tool is made."""


def origin_of(tool: Tool | EpisodeTool) -> dict[str, Json]:
    """Origin from which the tool is made again, by the table above."""
    if isinstance(tool, PythonTool):
        return {"python": _python_settings(tool)}
    if isinstance(tool, RemoteTool):
        return {"service": tool.exchange.url}
    if not isinstance(tool, Tool):
        return {}
    if isinstance(tool, SearchTool) and tool.origin is None:
        return origin_of(tool.search)
    if tool.origin is not None:
        return {"catalogue": dict(tool.origin)}
    place = f"{getattr(tool.function, '__module__', '')}:{getattr(tool.function, '__qualname__', '')}"
    try:
        function = _function(place)
    except UnknownOriginError:
        return {}
    made = tool_from(function, tool.deadline_s)
    # One that was made from ours and says something else of itself is somebody's own.
    return {"function": place, "deadline_s": tool.deadline_s} if made.spec == tool.spec else {}


@dataclass(kw_only=True)
class Toolmaker:
    """Makes tools from their records; ``resources`` are what a run enters for them."""

    isolation: Isolation | None = None
    """The user's word on the isolation of the sandbox; None for ``full``, whatever a record says."""
    permission: Permission = field(default_factory=Permission)
    resources: list[AbstractContextManager[object]] = field(default_factory=list, init=False)
    _sandbox: Sandbox | None = field(default=None, init=False)
    _has_told: bool = field(default=False, init=False)
    _services: dict[tuple[str, bool], RemoteTools] = field(default_factory=dict, init=False)

    def made(self, records: Sequence[ToolRecord]) -> tuple[Tool | EpisodeTool, ...]:
        """The tools, in this order. UnknownOriginError, and UserError for one that cannot be made here, or that reaches
        what the user has not allowed."""
        return tuple(map(self._made, records))

    def python(self, settings: Mapping[str, Json] | None = None) -> PythonTool:
        """Python in a sandbox, which all such tools share; UserError for settings that are none."""
        given = Fields(settings or {})
        try:
            if not settings:
                return python_tool(self.sandbox())
            self._tell_of_weaker(given.option("isolation", get_args(Isolation)))
            return python_tool(
                self.sandbox(),
                timeout_s=given.number("timeout_s"),
                shows=given.option("shows", get_args(Shows)),
                min_side_px=given.whole("min_side_px"),
                max_images=given.whole("max_images"),
                max_output_chars=given.whole("max_output_chars"),
            )
        except BrokenRecordError as error:
            raise UserError(f"the record of execute_python_code cannot be read: {error}") from error

    def sandbox(self) -> Sandbox:
        """The one sandbox, as isolated as the user says, or fully."""
        if self._sandbox is None:
            self._sandbox = Sandbox(isolation=self.isolation or "full")
            self.resources.append(self._sandbox)
        return self._sandbox

    def service(self, url: str, *, with_token: bool = True) -> RemoteTools:
        """The service at an address, which is asked for its tools now.

        With the token for one that the user's own command, or a run of his, has named.
        """
        if (url, with_token) not in self._services:
            token = os.environ.get(TOKEN_VARIABLE) if with_token else None
            self._services[url, with_token] = RemoteTools(url, token)
            self.resources.append(self._services[url, with_token])
        return self._services[url, with_token]

    def _tell_of_weaker(self, recorded: Isolation) -> None:
        if recorded != "full" and self.isolation is None and not self._has_told:
            self._has_told = True
            logger.warning(
                "the record asks for a sandbox with isolation=%s and gets isolation=full: only your own command can "
                "weaken it (--set isolation=%s)",
                recorded,
                recorded,
            )

    def _made(self, record: ToolRecord) -> Tool | EpisodeTool:
        name, origin = record.spec.name, Fields(record.origin, f"the origin of {record.spec.name}")
        is_own = self.permission.is_own(name, record.origin)
        for reach in self.permission.lacking(name, record.origin):
            raise ReachError(name, reach)
        try:
            if origin.has("python"):
                return self.python(origin.mapping("python"))
            if origin.has("service"):
                with_token = is_own or self.permission.allows(TOKEN_VARIABLE)
                return self.service(origin.text("service"), with_token=with_token).tool(name)
            if origin.has("catalogue"):
                made = origin.fields("catalogue")
                settings = ToolSettings(
                    name=name,
                    backend=made.option("backend", get_args(Backend)),
                    options=made.mapping("options"),
                    allowed=None if is_own else self.permission.allowed,
                )
                return build_tool(settings, Path(made.text("folder") if made.has("folder") else "."))
            if origin.has("function"):
                return tool_from(_function(origin.text("function")), origin.number("deadline_s"))
        except BrokenRecordError as error:
            raise UserError(f"the record of the tool {name} cannot be read: {error}") from error
        raise UnknownOriginError(name)


def _python_settings(tool: PythonTool) -> dict[str, Json]:
    sessions = tool.sandbox
    while isinstance(sessions, RememberedSessions):
        sessions = sessions.sessions
    return {
        "timeout_s": tool.timeout_s,
        "shows": tool.shows,
        "min_side_px": tool.min_side_px,
        "max_images": tool.max_images,
        "max_output_chars": tool.max_output_chars,
        "isolation": sessions.isolation if isinstance(sessions, Sandbox) else "full",
    }


def _function(place: str) -> Callable[..., Returned]:
    """The function ``module:name``, if it is a tool of Saccade that reaches nothing."""
    module, _, name = place.partition(":")
    if module not in _TOOL_MODULES or name not in {entry.name for entry in CATALOGUE}:
        raise UnknownOriginError(place)
    found: object = getattr(importlib.import_module(module), name, None)
    if not callable(found) or getattr(found, "__module__", "") != module:
        raise UnknownOriginError(place)
    return found
