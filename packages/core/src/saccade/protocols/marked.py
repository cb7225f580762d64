"""Protocols whose thoughts say where things are, by boxes or by points, with tools or without.

They read turns as the tagged protocol does and add what they find in the thought.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.media.resize import ViewRule
from saccade.protocols.examples import ANSWER_EXAMPLE
from saccade.protocols.instructions import (
    ANSWER,
    Style,
    asked_messages,
    coordinates,
    format_with_tools,
    observation,
    tool_schemas,
    turn_limit,
)
from saccade.protocols.protocol import ChatProtocol, Parse, ParsedTurn, check_written
from saccade.protocols.tagged import STOP, parse, write
from saccade.types import ExpertTurn, Malformed, Message, Observation, Task, ToolResult, ToolSpec

OPENING = "You answer questions about images."

ONE_TURN = f"""# Turns
Reason between <think> and </think>, then finish with {ANSWER_EXAMPLE}."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkInstructions:
    """How a model is asked to mark places in its thoughts."""

    wording: str
    """Which of ``Task.wordings`` puts the question."""
    word: str
    """The whole instruction in the brief style."""
    section: str
    """The instructions' section on marks."""
    section_with_tools: str


def marked_protocol(
    *,
    name: str,
    marks: MarkInstructions,
    read: Callable[[ParsedTurn, str], ParsedTurn],
    style: Style,
    max_turns: int | None,
    offers_tools: bool,
) -> ChatProtocol:
    """A protocol of turns in tags; ``read`` adds what a turn's thought marks, given the turn and its whole text."""

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        offered = tools if offers_tools else ()
        if style == "brief":
            system = " ".join([marks.word, *(tool.name for tool in offered)])
        elif offered:
            limit = () if max_turns is None else (turn_limit(max_turns),)
            sections = (format_with_tools(offered), marks.section_with_tools, coordinates(view), ANSWER, *limit)
            system = "\n\n".join([OPENING, tool_schemas(offered), *sections])
        else:
            system = "\n\n".join([OPENING, ONE_TURN, marks.section, coordinates(view), ANSWER])
        return asked_messages(task, system, view, style=style, wording=marks.wording)

    def parse_turn(text: str) -> ParsedTurn:
        return read(parse(text, offers_tools=offers_tools), text)

    def observe(outcome: ToolResult | Malformed, images_before: int) -> Observation:
        return observation(outcome, images_before, style=style)

    return ChatProtocol(
        name=name,
        prompt=prompt,
        parse=parse_turn,
        write=lambda turn: written_turn(turn, parse_turn),
        observe=observe,
        stop=STOP,
        offers_tools=offers_tools,
        max_turns=max_turns,
        style=style,
    )


def written_turn(turn: ExpertTurn, parse_turn: Parse) -> str:
    """An expert's turn as the model should write it; UserError where it does not read back well-formed."""
    text = write(turn)
    check_written(text, parse_turn(text))
    return text
