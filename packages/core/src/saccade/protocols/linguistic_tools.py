"""Linguistic tools: ways of looking that are words of the model's own, and the toolbox that holds them.

A linguistic tool is written out by the policy, call and finding alike; nothing runs. Tools that run are in
``saccade.tools``. Prompt, reader and reward of a stage share one toolbox, which an earlier stage of the run may make:
``ToolboxSource`` is the toolbox itself, or a function that gives it once it is there and raises ``UserError`` before.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from saccade.codec.codecs import FOREIGN_CODEC, plain_json
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.parsing import json_value
from saccade.plain_files import plain_text
from saccade.types import Json

MAX_NAME_CHARS = 64
MAX_TEXT_CHARS = 400
"""Limit of a tool's description, and of what it says of its arguments."""
MAX_TOOLS = 200

_NAME = re.compile(r"[^\W\d]\w*")
_VERSION = 1


def normal_name(name: str) -> str:
    """The form in which names are compared: without case and outer space."""
    return name.strip().casefold()


@dataclass(frozen=True, slots=True)
class LinguisticTool:
    """A named way of looking or calculating; UserError for a name or a text that no prompt could show.

    The paper's triplet (section 3.1).
    """

    name: str
    description: str
    args: str = ""
    """Its arguments, described in words: ``Image k: row, column``."""

    def __post_init__(self) -> None:
        if len(self.name) > MAX_NAME_CHARS or not _NAME.fullmatch(self.name):
            raise UserError(
                f"{self.name[: MAX_NAME_CHARS + 1]!r} cannot name a linguistic tool; use letters, digits and "
                f"underscores, at most {MAX_NAME_CHARS}, as in read_cell"
            )
        for part, text in (("description", self.description), ("args", self.args)):
            if len(text) > MAX_TEXT_CHARS or not text.isprintable() or "<" in text:
                raise UserError(
                    f"{part} of the linguistic tool {self.name} is {text[:60]!r}…; write one line of at most "
                    f"{MAX_TEXT_CHARS} characters without a '<', which tags begin with"
                )


@dataclass(frozen=True, slots=True)
class LinguisticToolbox:
    """A toolbox of linguistic tools, in the order in which a prompt shows them.

    ``name in toolbox`` compares without case and outer space. UserError for two tools of one name.
    """

    FORM: ClassVar = Form(tag=("version", _VERSION))

    tools: tuple[LinguisticTool, ...]

    def __post_init__(self) -> None:
        if len(self.tools) > MAX_TOOLS:
            raise UserError(f"a toolbox of {len(self.tools)} tools is too long for a prompt; keep at most {MAX_TOOLS}")
        known: dict[str, str] = {}
        for tool in self.tools:
            key = normal_name(tool.name)
            if key in known:
                raise UserError(
                    f"{known[key]} and {tool.name} are the same name when case is ignored; rename one of them"
                )
            known[key] = tool.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.tool(name) is not None

    def tool(self, name: str) -> LinguisticTool | None:
        """The tool of this name, compared without case."""
        wanted = normal_name(name)
        return next((tool for tool in self.tools if normal_name(tool.name) == wanted), None)

    def to_json(self) -> dict[str, Json]:
        """The toolbox as JSON values; ``from_json`` gives an equal one back."""
        return plain_json(self)

    @classmethod
    def from_json(cls, value: Json, where: str = "the toolbox") -> Self:
        """The toolbox of JSON values, by ``to_json`` or written by hand; UserError names ``where`` and the fault."""
        try:
            return FOREIGN_CODEC.reader(cls).from_json(value, "the toolbox")
        except BrokenRecordError as error:
            raise UserError(f"{where}: {error}") from error


ToolboxSource = LinguisticToolbox | Callable[[], LinguisticToolbox]
"""A toolbox, or a function that returns it; it is not called before a question is asked."""


def opened_toolbox(source: ToolboxSource) -> LinguisticToolbox:
    """The toolbox of a source; UserError where it is not there yet, or holds no tool."""
    toolbox = source if isinstance(source, LinguisticToolbox) else source()
    if not toolbox.tools:
        raise UserError(
            "the toolbox holds no tool, so no chain could be valid; look at what its curation refused, or give one "
            "with tools"
        )
    return toolbox


def read_toolbox(path: Path) -> LinguisticToolbox:
    """The toolbox of a JSON file, whose other keys are ignored; UserError names the file."""
    try:
        value = json_value(plain_text(path))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as a toolbox: {error}") from error
    return LinguisticToolbox.from_json(value, str(path))
