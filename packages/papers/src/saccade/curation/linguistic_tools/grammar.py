"""Replies of a curator: tools that it defines, and a trajectory's steps rewritten as their uses (the paper's grammar).

    DEFINE_TOOL: read_cell || Image k: row, column || Read a cell of a table.
    <tool name="read_cell" args="Image 2: France, rate">7.2 %</tool>
    END_OF_TOOLS

===============================================  ==================================================================
what the curator wrote                           what becomes of it
===============================================  ==================================================================
thinking in tags, fences, bullets, emphasis,     ignored
words beside the lines, all after the end
no end, or none in ``MAX_REPLY_CHARS``           cut off: nothing of the reply counts
a tool of the pool defined again                 the first description stays
a tool defined and not used                      not in the trajectory's set
a tool used and nowhere defined                  refused
a name that no tool can have, a definition       refused
without its three parts, a use without a finding
more than ``MAX_NEW`` new tools in one reply     the others are refused
tags out of order                                the uses before them count
===============================================  ==================================================================

Names are compared in snake case: "Read Cell" is ``read_cell``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.errors import UserError
from saccade.protocols.linguistic_tools import MAX_TEXT_CHARS, LinguisticTool, LinguisticToolbox
from saccade.protocols.tool_tags import ChainCall, find_calls, written_tool
from saccade.rewards.judges.llm_judge import without_thinking

DEFINE, END = "DEFINE_TOOL", "END_OF_TOOLS"
MAX_REPLY_CHARS = 1 << 15
MAX_NEW = 8

Refusal = Literal["undefined", "name", "definition", "empty", "too_many", "tags", "pool_full"]

_LABELS = r"(?:(?:New )?Definitions?|Applications?|End)[ \t*]{0,5}:[ \t*`]{0,5}"
_MARKERS = rf"[ \t>*#`.)\-0-9]{{0,20}}(?:{_LABELS})?"
_DEFINE = re.compile(rf"{_MARKERS}{DEFINE}[ *`]{{0,5}}:[ *]{{0,5}}(.*)")
_END = re.compile(rf"(?:^{_MARKERS}|</tool>[ \t]{{0,20}}){END}\b", re.MULTILINE)
_BETWEEN_WORDS = re.compile(r"[\s\-]+")


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """Something of a reply that is not taken, and why."""

    name: str
    why: Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadReply:
    """A reply, read."""

    is_complete: bool
    """Whether it came to its end; nothing is read of one that did not."""
    tools: tuple[LinguisticTool, ...] = ()
    """The tools that it uses, S_i of equation 4, in the order of their first use."""
    calls: tuple[ChainCall, ...] = ()
    """Their uses, under the names that the tools have."""
    refused: tuple[RefusedTool, ...] = ()


def read_reply(text: str, pool: LinguisticToolbox) -> ReadReply:
    """A curator's reply to one trajectory, given the pool before it, by the table above; never raises."""
    # What a server may send and no file can hold becomes question marks.
    whole = text[: 2 * MAX_REPLY_CHARS].encode(errors="replace").decode()
    said = without_thinking(whole)[:MAX_REPLY_CHARS]
    end = _END.search(said)
    if end is None:
        return ReadReply(is_complete=False)
    # A closing tag may stand right before the end.
    lines = [*said[: end.start()].splitlines(), end.group().removesuffix(END)]
    known = {tool_name(tool.name): tool for tool in pool.tools}
    refused: list[RefusedTool] = []
    rest: list[str] = []
    new = 0
    for line in lines:
        definition = _DEFINE.match(line)
        if definition is None:
            rest.append(line)
            continue
        tool = _tool_from(definition.group(1))
        if isinstance(tool, RefusedTool):
            refused.append(tool)
        elif tool.name not in known:
            new += 1
            if new > MAX_NEW:
                refused.append(RefusedTool(tool.name, "too_many"))
            else:
                known[tool.name] = tool
    found = find_calls("\n".join(rest))
    calls: list[ChainCall] = []
    for call in found.calls:
        name = tool_name(call.name)
        if name not in known:
            refused.append(RefusedTool(call.name[:MAX_TEXT_CHARS], "undefined"))
        elif not any(letter.isalnum() for letter in call.finding):
            refused.append(RefusedTool(name, "empty"))
        else:
            calls.append(ChainCall(name=known[name].name, args=call.args, finding=call.finding))
    if found.unread:
        refused.append(RefusedTool(found.unread, "tags"))
    used = dict.fromkeys(call.name for call in calls)
    return ReadReply(
        is_complete=True, tools=tuple(known[name] for name in used), calls=tuple(calls), refused=tuple(refused)
    )


def written_reply(calls: Sequence[ChainCall], defines: Sequence[LinguisticTool] = ()) -> str:
    """A reply in the grammar, for curators that are rules."""
    definitions = [f"{DEFINE}: {tool.name} || {tool.args} || {tool.description}" for tool in defines]
    return "\n".join([*definitions, *map(written_tool, calls), END])


def tool_name(text: str) -> str:
    """A tool's name as a pool has it: in snake case, without quotes and emphasis."""
    return _BETWEEN_WORDS.sub("_", text.strip(" \t\r\n*`\"'“”‘’")).casefold()


def _tool_from(definition: str) -> LinguisticTool | RefusedTool:
    parts = [_line(part) for part in definition.split("||", 2)]
    name = tool_name(parts[0])
    if len(parts) < 3 or not parts[2]:
        return RefusedTool(name[:MAX_TEXT_CHARS], "definition")
    try:
        return LinguisticTool(name, parts[2], args=parts[1])
    except UserError:
        return RefusedTool(name[:MAX_TEXT_CHARS], "name")


def _line(text: str) -> str:
    """One line that a prompt can show: without tags and unseen characters, cut where it is too long."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text).replace("<", "‹")
    return " ".join(shown.split())[:MAX_TEXT_CHARS].strip("*` ")
