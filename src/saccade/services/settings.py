"""Settings of a tool server, read from ``[server]`` and from the ``serving`` of each tool in a ``tools.toml``.

[server]
port = 8400
workers = 2                     # processes for the light tools, which share them

[tools.detect_objects]
backend = "transformers"        # a tool with a model has processes of its own
serving = {workers = 1, batch = 8, devices = ["0"]}
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

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

MOST_WORKERS = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolServerSettings:
    """The server as a whole."""

    host: str = "127.0.0.1"
    port: int = 8400
    """0 takes one that is free."""
    workers: int = 1
    """Processes for the quick tools, which share them."""
    slow_workers: int = 2
    """Processes for the slow tools, which share them too."""
    queue: int = 512
    """Calls that may wait for each group of tools; more are answered with 429."""
    image_mb: int = 1024
    """Capacity for images, as their files; the least recently used ones make room."""
    worker_image_mb: int = 256
    """Capacity for decoded images that each worker holds ready."""
    result_mb: int = 256
    """Capacity for results kept for calls that may be tried again."""
    max_call_kb: int = 1024
    """Limit of a request that is no image."""
    max_image_mb: int = 64
    uploads_mb: int = 256
    """Limit of all bodies that are arriving or at work; a request that would pass this is answered with 503."""
    request_s: float = 30.0
    """Within which a request's headers must have come, then its body, then each 64 KiB of its answer be read."""
    max_deadline_s: float = 600.0
    drain_s: float = 30.0
    """At the end: how long calls that are out may take."""
    log: LogLevel = "calls"
    """``calls`` logs each call, ``events`` only starts, ends and failures."""
    builder: str = BUILDER
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

    group: str | None = None
    workers: int = 1
    batch: int = 8
    devices: tuple[str, ...] = ()
    fraction: float = 0.0
    cpus: float = 0.1

    @classmethod
    def of(cls, settings: ToolSettings) -> "_ToolServing":
        where = f"[tools.{settings.name}] serving"
        known = {field.name for field in fields(cls)}
        _check_known(settings.serving, known, where)
        devices = settings.serving.get("devices", ())
        if isinstance(devices, str) or not isinstance(devices, list | tuple):
            raise UserError(f'{where}: devices={devices!r} must be a list of texts, as ["0", "1"]')
        group = settings.serving.get("group")
        if group is not None and (not isinstance(group, str) or not group):
            raise UserError(f"{where}: group={group!r} must be a name")
        return cls(
            group=group,
            workers=int(_number(settings.serving, "workers", 1, where, least=1, most=MOST_WORKERS)),
            batch=int(_number(settings.serving, "batch", 8, where, least=1, most=1024)),
            devices=tuple(str(device) for device in devices),
            fraction=_number(settings.serving, "fraction", 0.0, where, least=0, most=1024, whole=False),
            cpus=_number(settings.serving, "cpus", 0.1, where, least=0, most=1024, whole=False),
        )


def serving_of(file: ToolsFile, overrides: Mapping[str, Json] | None = None) -> Serving:
    """Server and worker groups of a configuration; ``overrides`` (of the command line) go before its ``[server]``."""
    server = _server({**file.server, **(overrides or {})})
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
        devices=devices,
        fraction=max(serving.fraction for serving in servings),
        cpus=max(serving.cpus for serving in servings),
    )


def _server(table: Mapping[str, Json]) -> ToolServerSettings:
    where = "[server]"
    _check_known(table, {field.name for field in fields(ToolServerSettings)}, where)
    default = ToolServerSettings()

    def whole(name: str, usual: int, least: int, most: int) -> int:
        return int(_number(table, name, usual, where, least=least, most=most))

    def seconds(name: str, usual: float) -> float:
        return _number(table, name, usual, where, least=0.1, most=86_400, whole=False)

    def text(name: str, usual: str) -> str:
        value = table.get(name, usual)
        if not isinstance(value, str) or not value:
            raise UserError(f"{where}: {name}={value!r} must be a text")
        return value

    log, builder = text("log", default.log), text("builder", default.builder)
    if log not in get_args(LogLevel):
        raise UserError(f"{where}: log={log!r} is none of {', '.join(get_args(LogLevel))}")
    if ":" not in builder:
        raise UserError(f"{where}: builder={builder!r} must be like package.module:function")
    return ToolServerSettings(
        host=text("host", default.host),
        port=whole("port", default.port, 0, 65_535),
        workers=whole("workers", default.workers, 1, MOST_WORKERS),
        slow_workers=whole("slow_workers", default.slow_workers, 1, MOST_WORKERS),
        queue=whole("queue", default.queue, 1, 1 << 20),
        image_mb=whole("image_mb", default.image_mb, 1, 1 << 20),
        worker_image_mb=whole("worker_image_mb", default.worker_image_mb, 1, 1 << 20),
        result_mb=whole("result_mb", default.result_mb, 1, 1 << 20),
        max_call_kb=whole("max_call_kb", default.max_call_kb, 1, 1 << 20),
        max_image_mb=whole("max_image_mb", default.max_image_mb, 1, 1024),
        uploads_mb=whole("uploads_mb", default.uploads_mb, 1, 1 << 20),
        request_s=seconds("request_s", default.request_s),
        max_deadline_s=seconds("max_deadline_s", default.max_deadline_s),
        drain_s=seconds("drain_s", default.drain_s),
        log="calls" if log == "calls" else "events",
        builder=builder,
    )


def _check_known(table: Mapping[str, Json], known: set[str], where: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise UserError(f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")


def _number(
    table: Mapping[str, Json],
    name: str,
    default: float,
    where: str,
    *,
    least: float,
    most: float,
    whole: bool = True,
) -> float:
    value = table.get(name, default)
    is_number = isinstance(value, int) or (not whole and isinstance(value, float))
    if isinstance(value, bool) or not is_number or not isinstance(value, int | float) or not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise UserError(f"{where}: {name}={value!r} must be {kind} from {least:g} to {most:g}")
    return value
