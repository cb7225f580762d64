"""What ``--set`` changes in a curation: the pipeline, and how servers are asked."""

import json
from dataclasses import dataclass, field

from saccade.curation.rephrasing import RephrasingSettings
from saccade.curation.selection import SelectionSettings
from saccade.curation.settings import CurationSettings
from saccade.errors import UserError
from saccade.types import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings:
    """How servers are asked; but for ``max_tokens`` and ``extra_body`` it decides nothing of what comes out."""

    max_tokens: int = 2048
    """Of one reply."""
    timeout_s: float = 120.0
    requests_at_once: int = 8
    requests_per_minute: float | None = None
    retries: int = 6
    extra_body: str = ""
    """A JSON object laid over every request; ``null`` takes a field out, as in ``{"max_tokens": null}``."""

    def check(self) -> None:
        self.extra_fields()

    def extra_fields(self) -> dict[str, Json]:
        """``extra_body``, read; UserError when it is no JSON object."""
        try:
            fields: Json = json.loads(self.extra_body or "{}")
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise UserError(f'extra_body={self.extra_body!r} is no JSON object; write it like {{"top_p": 0.9}}')
        return fields


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDanceSettings(CurationSettings):
    """The pipeline's settings and those of the servers."""

    server: ServerSettings = field(default_factory=ServerSettings)
    difficulty: float = 0.5
    """Of the questions of a procedural family."""
    run_timeout_s: float = 15.0
    """Of one piece of code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewriteSettings(RephrasingSettings):
    """The settings of telling trajectories anew and those of the servers."""

    server: ServerSettings = field(default_factory=ServerSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectSettings(SelectionSettings):
    """The settings of selecting questions and those of the servers."""

    server: ServerSettings = field(default_factory=ServerSettings)
