"""An entry of the catalogue: a tool by name, and how each of its back ends makes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn

from saccade.errors import UserError
from saccade.tools.catalogue.settings import Backend, Options, ToolSettings
from saccade.tools.tool import Tool
from saccade.types import Json
from saccade.vision_models.kinds import ChartTask

ToolFamily = Literal["perception", "images", "charts", "diagrams", "solvers", "code", "retrieval"]

Make = Callable[[], Tool]
Prepare = Callable[[Options], Make]
"""Reads and checks the options (``UserError`` when they do not do), and gives what then makes the tool: slow where a
model is loaded, quick everywhere else."""


Makers = Mapping[Backend, Prepare]
"""By back end, the one that is taken when none is named first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A tool that there is."""

    name: str
    family: ToolFamily
    summary: str
    source: str
    """The paper, and its section, table or figure, that has such a tool; which models it stands on."""
    makers: Makers
    outline: Make
    """The tool without its model: whatever it may be asked it refuses, but its schema is right."""
    example: Mapping[str, Json]
    """Arguments of a good call."""

    @property
    def backends(self) -> tuple[Backend, ...]:
        return tuple(self.makers)

    def prepare(self, settings: ToolSettings, folder: Path) -> Make:
        """The maker of the tool; ``UserError`` when the configuration does not do. Loads nothing."""
        backend = settings.backend or self.backends[0]
        if backend not in self.makers:
            raise UserError(
                f"[tools.{self.name}]: there is no back end {backend}; use one of {', '.join(self.backends)}"
            )
        options = Options(settings, backend, folder)
        make = self.makers[backend](options)
        options.finish()
        return make

    def build(self, settings: ToolSettings, folder: Path) -> Tool:
        """The tool, ready to be called; a model is loaded here."""
        tool = self.prepare(settings, folder)()
        origin: dict[str, Json] = {"backend": settings.backend or self.backends[0], "options": dict(settings.options)}
        if settings.options:
            # Options may hold relative paths.
            origin["folder"] = str(folder.resolve())
        return replace(tool, origin={"catalogue": origin})


def ready(tool: Tool) -> Prepare:
    """For a tool that needs nothing."""
    return lambda options: lambda: tool


class Unconfigured:
    """Stands for a model in a tool that is only looked at."""

    @property
    def tasks(self) -> frozenset[ChartTask]:
        return frozenset()

    def detect_batch(self, requests: object) -> NoReturn:
        raise _not_configured_error()

    def segment_batch(self, requests: object) -> NoReturn:
        raise _not_configured_error()

    def answer(self, image: object, prompt: str) -> NoReturn:
        raise _not_configured_error()

    def read(self, image: object) -> NoReturn:
        raise _not_configured_error()

    def search(self, *asked: object) -> NoReturn:
        raise _not_configured_error()

    def page(self, *asked: object) -> NoReturn:
        raise _not_configured_error()


def _not_configured_error() -> UserError:
    return UserError("this tool has no model; build it from a configuration (saccade.tools.catalogue.catalogue)")
