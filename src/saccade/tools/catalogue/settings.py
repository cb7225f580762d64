"""Settings of a ``tools.toml``: the tools, their back ends and models, and how they are served.

    [server]
    port = 8400

    [tools.detect_objects]
    backend = "transformers"
    model = "checkpoints/grounding-dino-tiny"
    device = "cuda"

    [tools.read_text]

Keys that are neither ``backend`` nor ``serving`` are the tool's own options; ``serving`` says how it is served.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from saccade.errors import UserError
from saccade.types import Json

Backend = Literal["in_process", "transformers", "openai"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSettings:
    """One tool of a configuration."""

    name: str
    backend: Backend | None = None
    """None for the tool's first one."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """The tool's own: model, device, threshold, ..."""
    serving: Mapping[str, Json] = field(default_factory=dict)
    """How a server runs it: workers, batch size, deadline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolsFile:
    """A whole configuration."""

    tools: tuple[ToolSettings, ...]
    server: Mapping[str, Json] = field(default_factory=dict)
    folder: Path = Path()
    """Folder of the file: relative paths in options start here."""


def read_tools_file(path: Path) -> ToolsFile:
    """The configuration in a file; ``UserError`` says what is wrong with it, and where."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the tools file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"the tools file {path} is not TOML: {error}") from error
    unknown = sorted(content.keys() - {"server", "tools"})
    if unknown:
        raise UserError(f"{path} has the unknown section [{unknown[0]}]; known are [server] and [tools.NAME]")
    tools = _table(content.get("tools", {}), f"{path}, [tools]")
    if not tools:
        raise UserError(f"{path} names no tool; add a section [tools.NAME] (`saccade tools` lists the names)")
    return ToolsFile(
        tools=tuple(_tool(name, _table(settings, f"{path}, [tools.{name}]"), path) for name, settings in tools.items()),
        server=_table(content.get("server", {}), f"{path}, [server]"),
        folder=path.parent,
    )


def _tool(name: str, settings: dict[str, Json], path: Path) -> ToolSettings:
    where = f"{path}, [tools.{name}]"
    backend = settings.pop("backend", None)
    if backend is not None and backend not in get_args(Backend):
        raise UserError(f"{where}: backend={backend!r} is none of {', '.join(get_args(Backend))}")
    serving = _table(settings.pop("serving", {}), f"{where}, serving")
    return ToolSettings(name=name, backend=backend, options=settings, serving=serving)  # type: ignore[arg-type]


def _table(value: object, where: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise UserError(f"{where} must be a table, not {value!r}")
    return value
