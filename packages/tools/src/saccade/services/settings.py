"""Settings of a tool server, read from ``[server]`` and from the ``serving`` of each tool in a ``tools.toml``.

[server]
port = 8400
workers = 2                     # processes for the light tools, which share them

[tools.detect_objects]
backend = "transformers"        # a tool with a model has processes of its own
serving = {workers = 1, batch = 8, devices = ["0"]}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from saccade.codec.bounds import Bounds
from saccade.codec.codecs import Codec
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.services.http.hosts import is_loopback
from saccade.tools.catalogue.catalogue import entry_of
from saccade.tools.catalogue.settings import ToolSettings, ToolsFile
from saccade.types import Json

SHARED = "shared"
"""The group of the quick tools: milliseconds a call."""

SLOW = "slow-tools"
"""The group of the tools that need no model and still work for seconds: they read, compute or run code.

Tools are named like functions, without hyphens, so that none with a group of its own falls into this one."""

QUICK_FAMILIES = ("images",)

BUILDER = "saccade.tools.catalogue.catalogue:build_tool"

LogLevel = Literal["calls", "events"]

Workers = Annotated[int, Bounds(least=1, most=256)]
Size = Annotated[int, Bounds(least=1, most=1 << 20)]
Seconds = Annotated[float, Bounds(least=0.1, most=86_400)]
Share = Annotated[float, Bounds(least=0, most=1024)]
Name = Annotated[str, Bounds(least=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolServerSettings:
    """The server as a whole."""

    host: Name = "127.0.0.1"
    port: Annotated[int, Bounds(least=0, most=65_535)] = 8400
    """0 takes one that is free."""
    workers: Workers = 1
    """Processes for the quick tools, which share them."""
    slow_workers: Workers = 2
    """Processes for the slow tools, which share them too."""
    queue: Size = 512
    """Calls that may wait for each group of tools; more are answered with 429."""
    image_mb: Size = 1024
    """Capacity for images, as their files; the least recently used ones make room."""
    worker_image_mb: Size = 256
    """Capacity for decoded images that each worker holds ready."""
    result_mb: Size = 256
    """Capacity for results kept for calls that may be tried again."""
    max_call_kb: Size = 1024
    """Limit of a request that is no image."""
    max_image_mb: Annotated[int, Bounds(least=1, most=1024)] = 64
    uploads_mb: Size = 256
    """Limit of all bodies that are arriving or at work; a request that would pass this is answered with 503."""
    request_s: Seconds = 30.0
    """Within which a request's headers must have come, then its body, then each 64 KiB of its answer be read."""
    max_deadline_s: Seconds = 600.0
    drain_s: Seconds = 30.0
    """At the end: how long calls that are out may take."""
    log: LogLevel = "calls"
    """``calls`` logs each call, ``events`` only starts, ends and failures."""
    builder: Annotated[str, Bounds(pattern=":", words="like package.module:function")] = BUILDER
    """``module:function`` that makes a tool of ``(ToolSettings, folder)``."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSettings:
    """Tools that live in the same worker processes."""

    name: str
    tools: tuple[ToolSettings, ...]
    workers: int = 1
    devices: tuple[str, ...] = ()
    """``CUDA_VISIBLE_DEVICES`` of each worker, in turn; empty leaves the machine's."""
    fraction: float = 0.0
    """GPUs that a replica takes in Ray Serve; 0.25 puts four on one."""
    cpus: float = 0.1
    """Cores that a replica takes in Ray Serve."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """Settings of the server and of all groups of workers."""

    server: ToolServerSettings
    groups: tuple[GroupSettings, ...]
    folder: Path
    """Relative paths in options start here."""

    def batch_of(self, tool: str) -> int:
        """Calls that a tool which can do several at once is given at most."""
        return next(_ToolServing.of(one).batch for group in self.groups for one in group.tools if one.name == tool)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ToolServing:
    """``serving`` of a tool."""

    group: Name | None = None
    workers: Workers = 1
    batch: Annotated[int, Bounds(least=1, most=1024)] = 8
    devices: tuple[str | int, ...] = ()
    fraction: Share = 0.0
    cpus: Share = 0.1

    @classmethod
    def of(cls, settings: ToolSettings) -> "_ToolServing":
        return _read(cls, settings.serving, f"[tools.{settings.name}] serving")


def serving_of(file: ToolsFile, overrides: Mapping[str, Json] | None = None) -> Serving:
    """Server and worker groups of a configuration; ``overrides`` (of the command line) go before its ``[server]``."""
    server = _read(ToolServerSettings, {**file.server, **(overrides or {})}, "[server]")
    by_group: dict[str, list[ToolSettings]] = {}
    for tool in file.tools:
        by_group.setdefault(_group_name(tool, server.builder), []).append(tool)
    groups = tuple(_group(name, tuple(tools), server) for name, tools in by_group.items())
    return Serving(server=server, groups=groups, folder=file.folder)


def _group_name(tool: ToolSettings, builder: str) -> str:
    serving = _ToolServing.of(tool)
    if serving.group is not None:
        return serving.group
    # Told by the catalogue where the configuration says nothing; tools of the user's own are quick unless they say so.
    entry = entry_of(tool.name) if builder == BUILDER else None
    backend = tool.backend or (entry.backends[0] if entry else None)
    # A model needs its memory once; a server far away is waited for. Neither may hold up the others.
    if backend in ("transformers", "openai") or {"workers", "devices"} & set(tool.serving):
        return tool.name
    return SHARED if entry is None or entry.family in QUICK_FAMILIES else SLOW


def _group(name: str, tools: tuple[ToolSettings, ...], server: ToolServerSettings) -> GroupSettings:
    servings = [_ToolServing.of(tool) for tool in tools]
    by_server = {SHARED: server.workers, SLOW: server.slow_workers}
    workers = by_server.get(name) or max(serving.workers for serving in servings)
    devices = next((serving.devices for serving in servings if serving.devices), ())
    return GroupSettings(
        name=name,
        tools=tools,
        workers=workers,
        devices=tuple(map(str, devices)),
        fraction=max(serving.fraction for serving in servings),
        cpus=max(serving.cpus for serving in servings),
    )


_TABLES = Codec(dict.fromkeys((ToolServerSettings, _ToolServing), Form(is_closed=True)), is_lenient=True)
_Table = TypeVar("_Table")


def _read(kind: type[_Table], table: Mapping[str, Json], where: str) -> _Table:
    try:
        return _TABLES.reader(kind).from_json(table, "the table")
    except BrokenRecordError as error:
        raise UserError(f"{where}: {error}") from error
