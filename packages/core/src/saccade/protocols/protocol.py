"""The protocol interface: how a task is put to a model and how the model's turns are read back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.box_text import BoxForm
from saccade.protocols.instructions import Style
from saccade.turn_ends import FencedActions
from saccade.types import (
    Action,
    BoxMention,
    ExpertTurn,
    Json,
    Malformed,
    Message,
    Observation,
    PointMention,
    Task,
    ToolResult,
    ToolSpec,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedTurn:
    """One parsed turn of model text. Coordinates in ``action`` are still as the model wrote them."""

    thought: str
    action: Action
    is_well_formed: bool
    """Follows the format exactly; always False for ``Malformed``."""
    boxes: tuple[BoxMention, ...] = ()
    """The boxes of the thought, in the model's frame, where the protocol asks for them."""
    points: tuple[PointMention, ...] = ()
    """The points of the thought, in the model's frame, where the protocol asks for them."""


Reading = Literal["strict", "lenient", "foreign"]
"""How turns are read; see ``saccade.protocols.readings``."""

Prompt = Callable[[Task, Sequence[ToolSpec], ViewRule], tuple[Message, ...]]
Parse = Callable[[str], ParsedTurn]
Write = Callable[[ExpertTurn], str]
Observe = Callable[[ToolResult | Malformed, int], Observation]


class ToolboxOfWords(Protocol):
    """Linguistic tools that a prompt names, as records keep them."""

    def to_json(self) -> dict[str, Json]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatProtocol:
    """A protocol: how a task becomes a prompt and a reply is parsed, as plain functions.

    The functions work in the model's frame; ``saccade.protocols.coordinates`` converts to original pixels.
    """

    name: str
    prompt: Prompt
    """The messages that open an episode: the system's instructions, then the user's images and question."""
    parse: Parse
    """Reads any text in linear time and never raises."""
    write: Write
    """An expert's turn as the model should write it; coordinates are already in the model's frame."""
    observe: Observe
    """The observation after a turn, given the number of images that it has been shown before.

    A failed or refused call comes as ``ToolResult(is_ok=False)``, a turn without an action as ``Malformed``.
    """
    stop: tuple[str, ...]
    """Strings that end a turn; they belong to the turn's text."""
    offers_tools: bool = True
    """When False every call is ``Malformed`` and the prompt names no tool."""
    max_turns: int | None = None
    """The turn limit that the instructions state; None when they state none."""
    style: Style = "full"
    """Style of the instructions."""
    box_form: BoxForm = "lenient"
    """How boxes of the thought are read, where the protocol asks for them."""
    reading: Reading = "strict"
    """How turns are read; see ``saccade.protocols.readings``."""
    fenced_actions: FencedActions | None = None
    """Fenced blocks that end a turn as stop strings do, where the reading takes them for actions."""
    toolbox: ToolboxOfWords | Callable[[], ToolboxOfWords] | None = None
    """Linguistic tools that the protocol asks for, or a function that returns them once they are there; None where it
    asks for none."""


def with_instructions(protocol: ChatProtocol, system: str) -> ChatProtocol:
    """The protocol with this text as its instructions, whatever the tools."""
    own = protocol.prompt

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        return tuple(
            replace(message, parts=(system,)) if message.role == "system" else message
            for message in own(task, tools, view)
        )

    return replace(protocol, prompt=prompt)


def check_written(text: str, parsed: ParsedTurn) -> None:
    """``UserError`` when an expert's turn, written as ``text``, does not read back well-formed."""
    if not parsed.is_well_formed:
        why = parsed.action.why if isinstance(parsed.action, Malformed) else "it reads back differently"
        raise UserError(f"an expert's turn cannot be written down: {why}; it was {text[:200]!r}")
