"""The bare protocol: the question alone, as a harness sends it, and the whole reply after its thought as the answer.

For models that were not trained here: no system text, no tags, no tools. With ``--prompt vlmevalkit`` the question is
worded as that harness words it, so that a figure stands beside published ones.
"""

import re
from collections.abc import Sequence

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.instructions import Style, observation, question_parts
from saccade.protocols.markup import after_thought, unreadable
from saccade.protocols.protocol import ChatProtocol, ParsedTurn, check_written
from saccade.types import Answer, ExpertTurn, Malformed, Message, Task, ToolSpec

_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)


def bare_protocol(*, style: Style = "full") -> ChatProtocol:
    """The protocol without a form: the images, then the question with its options."""

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        # The brief style puts no numbers before images, as no harness does.
        return (Message(role="user", parts=question_parts(task, "brief")),)

    return ChatProtocol(
        name="bare",
        prompt=prompt,
        parse=parse_bare,
        write=_write,
        observe=lambda outcome, images_before: observation(outcome, images_before, style=style),
        stop=(),
        offers_tools=False,
        style=style,
    )


def parse_bare(text: str) -> ParsedTurn:
    """The reply without its thought, which may have been opened by the template; an empty one is ``Malformed``."""
    refusal = unreadable(text)
    if refusal is not None:
        return ParsedTurn(thought="", action=refusal, is_well_formed=False)
    thoughts = [thought.strip() for thought in _THOUGHT.findall(text)]
    opened, said = _THOUGHT.sub("", text).rpartition("</think>")[0], after_thought(text)
    thought = "\n".join(filter(None, [opened.strip(), *thoughts]))
    if "<think>" in said:
        return ParsedTurn(thought=thought, action=Malformed(why="the thought never ends"), is_well_formed=False)
    if not said:
        return ParsedTurn(thought=thought, action=Malformed(why="the reply is empty"), is_well_formed=False)
    return ParsedTurn(thought=thought, action=Answer(text=said), is_well_formed=True)


def _write(turn: ExpertTurn) -> str:
    if not isinstance(turn.action, Answer):
        raise UserError(f"the bare protocol has no calls, and the expert calls {turn.action.name}")
    text = turn.action.text.strip()
    check_written(text, parse_bare(text))
    return text
