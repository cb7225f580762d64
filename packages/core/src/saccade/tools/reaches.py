"""What options of a tool reach outside: addresses, environment variables, paths.

Options are taken to reach: a text that is not known to be harmless counts as a path, so that a new back end cannot
forget to declare what it opens.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.types import Json

_OF_FEW_WORDS = ("device", "dtype", "engine", "first_stage")
"""Options that take one of a few words, or are read by a grammar of their own."""
_NAMES = ("corpus",)
"""Options whose text is only compared with others."""
_SENT = ("model", "extra_body")
"""Options that are sent to a server whose address is a reach of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """A thing outside that a tool needs."""

    kind: Literal["address", "variable", "path", "text"]
    value: str
    is_needed: bool = True
    """False for a key or token that is sent if it is allowed, and else left out."""

    @property
    def allowed_by(self) -> str:
        """The value of ``--allow`` that permits it."""
        return f"env:{self.value}" if self.kind == "variable" else self.value

    @property
    def option(self) -> str:
        """``--allow …`` as it is pasted into a shell."""
        return f"--allow {shell_words(_visible(self.allowed_by))}"

    def __str__(self) -> str:
        return f"the {'environment variable' if self.kind == 'variable' else self.kind} {_visible(self.value)}"


def _visible(text: str) -> str:
    return text if text.isprintable() else ascii(text)


class ReachError(UserError):
    """A reach without the user's yes."""

    def __init__(self, tool: str, reach: Reach) -> None:
        super().__init__(f"the tool {tool} reaches {reach}, which needs your yes: {reach.option}")
        self.reach = reach


def option_reach(name: str, value: Json, folder: Path) -> Reach | None:
    """What an option reaches; relative paths start at ``folder``. None for numbers and switches."""
    if value is None or isinstance(value, bool | int | float):
        return None
    if not isinstance(value, str):
        return Reach(kind="text", value=json.dumps(value, sort_keys=True))
    if name.endswith("_env"):
        return Reach(kind="variable", value=value)
    if "://" in value:
        return Reach(kind="address", value=value)
    return Reach(kind="path", value=str(placed_path(folder, value)))


def is_harmless(name: str, backend: str) -> bool:
    """Whether a text of this option reaches nothing, as the back end reads it."""
    return name in (*_OF_FEW_WORDS, *_NAMES) or (backend == "openai" and name in _SENT)


def option_reaches(backend: str, options: Mapping[str, Json], folder: Path) -> Iterator[Reach]:
    """What the options of a catalogue's tool reach."""
    for name, value in options.items():
        if not is_harmless(name, backend) and (reach := option_reach(name, value, folder)) is not None:
            yield reach


def placed_path(folder: Path, text: str) -> Path:
    """The path that a text means: relative ones start at ``folder``, ``~`` is the user's."""
    return folder / os.path.expanduser(text)  # noqa: PTH111  no error for an unknown user
