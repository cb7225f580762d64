"""Settings of a ``tools.toml`` and the typed options of each tool.

    [server]
    port = 8400

    [tools.detect_objects]
    backend = "transformers"
    model = "checkpoints/grounding-dino-tiny"
    device = "cuda"

    [tools.read_text]

Keys that are neither ``backend`` nor ``serving`` are the tool's own options; ``serving`` says how it is served. Every
error says in which section what is wrong.
"""

import importlib.util
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict, TypeVar, get_args

from saccade.chat.chat_model import API_KEY_VARIABLE
from saccade.errors import UserError, install_command
from saccade.parsing import toml_table
from saccade.plain_files import plain_text
from saccade.tools.reaches import Reach, ReachError, is_harmless, option_reach, placed_path
from saccade.types import Json
from saccade.vision_models.kinds import check_kind, kind_of

Backend = Literal["in_process", "transformers", "openai", "recorded"]


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
    allowed: frozenset[str] | None = None
    """Values of ``--allow``, where the settings come from somebody else's file; None for the user's own settings."""


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
        content = toml_table(plain_text(path))
    except OSError as error:
        raise UserError(f"cannot read the tools file {path}: {error.strerror}") from error
    except ValueError as error:
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


Choice = TypeVar("Choice", bound=str)


class Placement(TypedDict):
    """Where a model goes: the fields of ``saccade.models.loading.LoadSettings``, which needs torch."""

    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["float32", "bfloat16"]


class Options:
    """Reads the options of a tool; ``finish`` refuses those that were not read."""

    def __init__(self, settings: ToolSettings, backend: Backend, folder: Path) -> None:
        self.name = settings.name
        self.backend = backend
        self._folder = folder
        self._allowed = settings.allowed
        self._options = dict(settings.options)
        self._known: list[str] = []

    def error(self, message: str) -> UserError:
        return UserError(f"[tools.{self.name}]: {message}")

    def text(self, name: str, default: str | None = None, *, example: str = "...") -> str:
        value = self._take(name, default)
        if value is None:
            raise self.error(f'the back end {self.backend} needs {name}; add {name} = "{example}"')
        if not isinstance(value, str) or not value:
            raise self.error(f"{name}={value!r} must be a text")
        if name in self._options and not is_harmless(name, self.backend):
            self._check_allowed(option_reach(name, value, self._folder))
        return value

    def optional_text(self, name: str) -> str | None:
        self._know(name)
        return self.text(name) if name in self._options else None

    def choice(self, name: str, choices: tuple[Choice, ...], default: Choice) -> Choice:
        value = self._take(name, default)
        for choice in choices:
            if value == choice:
                return choice
        raise self.error(f"{name}={value!r} is none of {', '.join(choices)}")

    def number(self, name: str, default: float, *, low: float = 0.0, high: float = 1e9) -> float:
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.error(f"{name}={value!r} must be a number from {low:g} to {high:g}")
        if math.isnan(value):
            raise self.error(f"{name} is no number")
        return value

    def whole(self, name: str, default: int, *, low: int = 1, high: int = 1_000_000) -> int:
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(f"{name}={value!r} must be a whole number from {low} to {high}")
        return value

    def path(self, name: str, default: str | None = None, *, example: str = "...") -> Path:
        """Relative ones start at the configuration's folder, ``~`` is the user's."""
        path = placed_path(self._folder, self.text(name, default, example=example))
        self._check_allowed(Reach(kind="path", value=str(path)))
        return path

    def place(self, name: str, default: str | None, *, example: str) -> str:
        """The address of a server, or a path; the default may come from a file."""
        text = self.text(name, default, example=example)
        if "://" not in text:
            return str(self.path(name, text))
        self._check_allowed(Reach(kind="address", value=text))
        return text

    def optional_path(self, name: str) -> Path | None:
        self._know(name)
        return self.path(name) if name in self._options else None

    def checkpoint(self, kinds: dict[str, str], wanted: str, *, example: str) -> tuple[Path, str]:
        """The directory that ``model`` names and its kind, one of ``kinds``."""
        path = self.path("model", example=example)
        try:
            return path, check_kind(path, kinds, wanted)
        except UserError as error:
            raise self.error(f"model: {error}") from error

    def checkpoint_kind(self, *, example: str) -> str:
        """The kind of the checkpoint that ``model`` names, whatever it is."""
        try:
            return kind_of(self.path("model", example=example))
        except UserError as error:
            if str(error).startswith("[tools."):
                raise
            raise self.error(f"model: {error}") from error

    def table(self, name: str) -> dict[str, Json]:
        value = self._take(name, {})
        if not isinstance(value, dict):
            raise self.error(f"{name}={value!r} must be a table")
        if value and not is_harmless(name, self.backend):
            self._check_allowed(option_reach(name, value, self._folder))
        return value

    def placement(self) -> Placement:
        return Placement(
            device=self.choice("device", ("auto", "cpu", "cuda"), "auto"),
            dtype=self.choice("dtype", ("float32", "bfloat16"), "float32"),
        )

    def key(self, name: str = "api_key_env") -> str | None:
        """The value of the variable that this option names; a variable that is named must be there.

        Of somebody else's settings the default variable is read only with the user's yes.
        """
        self._know(name)
        if name not in self._options:
            is_allowed = self._allowed is None or f"env:{API_KEY_VARIABLE}" in self._allowed
            return os.environ.get(API_KEY_VARIABLE) if is_allowed else None
        variable = self.text(name)
        self._check_allowed(Reach(kind="variable", value=variable))
        if variable not in os.environ:
            raise self.error(f"{name} names the variable {variable}, which is not set; export {variable}=...")
        return os.environ[variable]

    def need_package(self, module: str, *, extra: str) -> None:
        if importlib.util.find_spec(module) is None:
            raise self.error(f"needs the package {module}; run {install_command(extra)}")

    def finish(self) -> None:
        for name in self._options:
            if name not in self._known:
                known = f"known are {', '.join(self._known)}" if self._known else "there are none here"
                raise self.error(f"there is no option {name} for the back end {self.backend}; {known}")

    def _check_allowed(self, reach: Reach | None) -> None:
        if reach is not None and self._allowed is not None and reach.allowed_by not in self._allowed:
            raise ReachError(self.name, reach)

    def _take(self, name: str, default: Json) -> Json:
        self._know(name)
        return self._options.get(name, default)

    def _know(self, name: str) -> None:
        if name not in self._known:
            self._known.append(name)
