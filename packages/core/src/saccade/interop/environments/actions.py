"""How a model writes its next action, and how that is read."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.protocols.markup import MAX_TURN_CHARS
from saccade.types import Json

ActionForm = Literal["thought", "action", "text"]
"""``thought``: ``<think>…</think><action>…</action>``. ``action``: the block alone. ``text``: the whole turn is the
action. A model whose template opens a thought thinks before any of them."""

_EXAMPLE = "<action>your action</action>"
_ACTION = re.compile(r"<action>(.*?)</action>", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*(?:<think>)?(.*?)</think>", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_STRICT = {
    "thought": re.compile(r"\A\s*(?:<think>)?[^<]*</think>\s*<action>[^<>]*</action>\s*\Z"),
    "action": re.compile(r"\A\s*(?:(?:<think>)?[^<]*</think>)?\s*<action>[^<>]*</action>\s*\Z"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedAction:
    """What a turn says: ``action`` is None where it holds none, and ``why`` then tells."""

    thought: str
    action: str | None
    is_well_formed: bool
    why: str = ""


def stop_strings(form: ActionForm) -> tuple[str, ...]:
    """Strings that end a turn."""
    return () if form == "text" else ("</action>",)


def asked_form(form: ActionForm) -> str:
    """The sentence of the prompt that says how an action is written."""
    if form == "thought":
        return f"Think between <think> and </think>, then write one action, as {_EXAMPLE}."
    if form == "action":
        return f"Write one action, as {_EXAMPLE}."
    return "Write one action and nothing else."


def parse_action(text: str, form: ActionForm) -> ParsedAction:
    """The action of a turn: the last block, or the whole turn where the form is ``text``.

    A turn with several blocks has no action: which one counts would be for the policy to choose afterwards. So has one
    whose thought never ends. Blocks in the thought are its words.
    """
    if len(text) > MAX_TURN_CHARS:
        return ParsedAction(thought="", action=None, is_well_formed=False, why="the turn is too long")
    thought = _THOUGHT.search(text)
    said = thought.group(1).strip() if thought else ""
    rest = text[thought.end() :] if thought else text
    if "<think>" in rest or (thought and not rest.strip()):
        why = "the thought holds all of the turn; close it with </think>, then write the action"
        return ParsedAction(thought=said, action=None, is_well_formed=False, why=why)
    if form == "text":
        action = rest.strip()
        return ParsedAction(thought=said, action=action, is_well_formed=bool(action) and "</think>" not in rest)
    blocks = _ACTION.findall(rest)
    if len(blocks) != 1:
        why = f"write the action as {_EXAMPLE}" if not blocks else "write one action only"
        return ParsedAction(thought=said, action=None, is_well_formed=False, why=why)
    return ParsedAction(
        thought=said, action=blocks[0].strip(), is_well_formed=_STRICT[form].fullmatch(text) is not None
    )


def write_action(thought: str, action: str, form: ActionForm) -> str:
    """The turn that says so; the inverse of ``parse_action``."""
    if form == "text":
        return action
    block = f"<action>{action}</action>"
    return f"<think>{thought}</think>{block}" if form == "thought" else block


def tool_rules(tools: object) -> str:
    """How an action calls one of the tools, which are JSON schemas."""
    return f'To call a tool, act by a JSON object {{"name": …, "arguments": {{…}}}}. The tools: {json.dumps(tools)}'


def calls_in(action: str, tools: Sequence[str]) -> list[dict[str, Json]] | str:
    """The calls of an action in OpenAI's form, none where it is a reply; a text where they are made wrongly."""
    blocks = _CALL.findall(action) if tools else []
    if tools and not blocks and action.strip().startswith("{") and '"name"' in action:
        blocks = [action]
    calls: list[dict[str, Json]] = []
    for number, block in enumerate(blocks):
        try:
            said = json.loads(block)
        except (ValueError, RecursionError):
            return "the call is no JSON object"
        if not isinstance(said, dict) or said.get("name") not in tools or not isinstance(said.get("arguments"), dict):
            return f'a call is {{"name": …, "arguments": {{…}}}}, and the tools are {", ".join(tools)}'
        function: Json = {"name": said["name"], "arguments": json.dumps(said["arguments"])}
        calls.append({"id": f"call_{number}", "type": "function", "function": function})
    return calls
