"""The tagged protocol: ``<think>…</think><tool_call>{…}</tool_call>``, in the end ``<answer>…</answer>``.

A turn is well-formed when it is exactly one think block (which may be empty) and one call or answer, with
nothing but whitespace around them. ``parse`` is more tolerant, but only where the action is beyond doubt:

===============================================  ==========================================================
what the model wrote                             what becomes of it
===============================================  ==========================================================
think block, then a call                         ``ToolCall``, well-formed
think block, then an answer                      ``Answer``, well-formed
no think block, or several                       the action counts; not well-formed
``</think>`` alone (a template opened it)        what is before it is the thought; the action counts; not
                                                 well-formed
text before, between or after the blocks         the action counts and the text is ignored; not well-formed
text or a think block after the answer or call   the same
whitespace anywhere outside or just inside tags  ignored
neither call nor answer                          ``Malformed``
several calls, several answers, or both          ``Malformed``; nothing is executed and no answer is taken
a tag opened but never closed                    ``Malformed`` (also when the token limit cut the turn)
a tag inside another block, a stray closing tag  ``Malformed``
an answer of whitespace only                     ``Malformed``
a call that is not JSON (NaN is not JSON)        ``Malformed``
a call with other keys than name and arguments,  ``Malformed``
a key twice, an empty or non-text name,
or arguments that are not an object
a call over ``MAX_CALL_CHARS``, or nested over   ``Malformed``
``MAX_CALL_DEPTH`` levels
``<tool_response>`` or a role token anywhere     ``Malformed``: the model plays the environment
half a surrogate pair, also escaped in JSON      ``Malformed``
a turn over ``MAX_TURN_CHARS``                   ``Malformed``, unread
a call where no tools are offered                ``Malformed``
a call of a tool that does not exist             ``ToolCall``: the environment answers with the tools' names
===============================================  ==========================================================

Tags are case-sensitive. A server that strips stop strings must put them back before the turn is read.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.contract import ChatProtocol, ParsedTurn
from saccade.protocols.instructions import Style, observation, prompt
from saccade.types import (
    Action,
    Answer,
    ExpertTurn,
    Json,
    Malformed,
    Message,
    Observation,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
)

MAX_TURN_CHARS = 1 << 18
MAX_CALL_CHARS = 1 << 14
MAX_CALL_DEPTH = 32
"""Objects and lists inside one another; deeper ones would break whatever walks the arguments later."""

STOP = ("</tool_call>", "</answer>")

# Fixed alternatives without repetition: the scan is linear in the text.
_TAG = re.compile(
    r"<(/?)(think|tool_call|answer|tool_response)>"
    r"|<\|(?:im_start|im_end|endoftext|vision_start|vision_end|vision_pad|image_pad|video_pad)\|>"
)


def tagged_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """Think, call tools, answer. ``brief`` instructions are a few words, for models that cannot read."""
    return _protocol(name="tagged", style=style, max_turns=max_turns, offers_tools=True)


def direct_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """The same tags without tools: the model looks silently, thinks and answers; a call is ``Malformed``."""
    return _protocol(name="direct", style=style, max_turns=max_turns, offers_tools=False)


def _protocol(*, name: str, style: Style, max_turns: int | None, offers_tools: bool) -> ChatProtocol:
    def build_prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        return prompt(task, tools if offers_tools else (), view, style=style, max_turns=max_turns)

    def parse_turn(text: str) -> ParsedTurn:
        return parse(text, offers_tools=offers_tools)

    def observe(outcome: ToolResult | Malformed, images_before: int) -> Observation:
        return observation(outcome, images_before, style=style)

    return ChatProtocol(
        name=name,
        prompt=build_prompt,
        parse=parse_turn,
        write=write,
        observe=observe,
        stop=STOP,
        offers_tools=offers_tools,
        max_turns=max_turns,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """A complete pair of tags: ``text[start:end]`` with the tags, ``content`` without."""

    tag: str
    start: int
    end: int
    content: str


def parse(text: str, *, offers_tools: bool = True) -> ParsedTurn:
    """The turn's thought and action, by the table above; never raises."""
    if len(text) > MAX_TURN_CHARS:
        return _malformed("the turn is too long; think in fewer words, then act")
    if not _is_unicode(text):
        return _malformed("the turn is not valid Unicode")
    blocks, problem = _blocks(text)
    thoughts = [block.content.strip() for block in blocks if block.tag == "think"]
    thought = "\n".join(thoughts)
    action = Malformed(why=problem) if problem else _action(blocks, offers_tools)
    is_well_formed = not isinstance(action, Malformed) and _is_strict(text, blocks)
    return ParsedTurn(thought=thought, action=action, is_well_formed=is_well_formed)


def write(turn: ExpertTurn) -> str:
    """The turn in exactly the format that ``parse`` calls well-formed; whole numbers without decimals.

    Raises ``UserError`` when the turn cannot be written so that it reads back as itself.
    """
    match turn.action:
        case ToolCall(name=name, arguments=arguments):
            call = {"name": name, "arguments": {key: _whole(value) for key, value in arguments.items()}}
            body = f"<tool_call>{json.dumps(call, ensure_ascii=False, allow_nan=False)}</tool_call>"
        case Answer(text=answer):
            body = f"<answer>{answer.strip()}</answer>"
    text = f"<think>{turn.thought.strip()}</think>{body}"
    parsed = parse(text)
    if not parsed.is_well_formed:
        why = parsed.action.why if isinstance(parsed.action, Malformed) else "it reads back differently"
        raise UserError(f"an expert's turn cannot be written down: {why}; it was {text[:200]!r}")
    return text


def _blocks(text: str) -> tuple[list[_Block], str]:
    """The complete blocks in order, and what is wrong ("" when nothing is) where reading had to stop."""
    blocks: list[_Block] = []
    opened: re.Match[str] | None = None
    for match in _TAG.finditer(text):
        closes, tag = match.group(1), match.group(2)
        if tag is None or tag == "tool_response":
            return (
                blocks,
                "only the environment writes tool responses and role tokens",
            )
        if opened is None and not closes:
            opened = match
        elif opened is None:
            if tag != "think" or blocks:
                return blocks, f"</{tag}> closes nothing; open it with <{tag}> first"
            blocks.append(_Block(tag=tag, start=0, end=match.end(), content=text[: match.start()]))
        elif closes and tag == opened.group(2):
            content = text[opened.end() : match.start()]
            blocks.append(_Block(tag=tag, start=opened.start(), end=match.end(), content=content))
            opened = None
        else:
            outer = opened.group(2)
            return blocks, f"<{closes}{tag}> stands inside <{outer}>; close it with </{outer}> first"
    return blocks, "" if opened is None else f"<{opened.group(2)}> is never closed"


def _action(blocks: Sequence[_Block], offers_tools: bool) -> Action:
    actions = [block for block in blocks if block.tag != "think"]
    calls = sum(block.tag == "tool_call" for block in actions)
    if not actions:
        wanted = "<tool_call>…</tool_call> or <answer>…</answer>" if offers_tools else "<answer>…</answer>"
        return Malformed(why=f"the turn does nothing; end it with {wanted}")
    if calls and not offers_tools:
        return Malformed(why="no tools are offered; answer with <answer>…</answer>")
    if len(actions) > 1:
        answers = len(actions) - calls
        return Malformed(why=f"{calls} calls and {answers} answers in one turn; make one call or give one answer")
    content = actions[0].content.strip()
    if calls:
        return _call(content)
    return Answer(text=content) if content else Malformed(why="the answer is empty")


def _call(content: str) -> ToolCall | Malformed:
    if len(content) > MAX_CALL_CHARS:
        return Malformed(why=f"the call is longer than {MAX_CALL_CHARS} characters")
    try:
        value: Json = json.loads(content, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        return Malformed(why="the call is nested too deeply")
    except ValueError as error:
        return Malformed(why=f"the call is not valid JSON: {str(error)[:200]}")
    if _depth(value) > MAX_CALL_DEPTH:
        return Malformed(why=f"the call is nested deeper than {MAX_CALL_DEPTH} levels")
    shape = 'a call is {"name": "…", "arguments": {…}}'
    if not isinstance(value, dict):
        return Malformed(why=f"the call is not a JSON object; {shape}")
    if set(value) != {"name", "arguments"}:
        return Malformed(why=f"the call must have exactly the keys name and arguments; {shape}")
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not name:
        return Malformed(why=f"the call's name is not a text; {shape}")
    if not isinstance(arguments, dict):
        return Malformed(why=f"the call's arguments are not an object; {shape}")
    # An escape such as \ud800 passes JSON, but no UTF-8 file could hold it.
    if not _is_unicode(json.dumps(value, ensure_ascii=False)):
        return Malformed(why="the call is not valid Unicode")
    return ToolCall(name=name, arguments=arguments)


def _depth(value: Json) -> int:
    """Levels of objects and lists, counted one level at a time, without recursion."""
    depth, level = 0, [value]
    while level := [
        item
        for outer in level
        if isinstance(outer, dict | list)
        for item in (outer.values() if isinstance(outer, dict) else outer)
    ]:
        depth += 1
    return depth


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice in one object")
    return dict(pairs)


def _refuse_constant(constant: str) -> Json:
    raise ValueError(f"{constant} is not a JSON number")


def _is_strict(text: str, blocks: Sequence[_Block]) -> bool:
    # A think block that a template opened has no opening tag of its own.
    if len(blocks) != 2 or not text.startswith("<think>", blocks[0].start):
        return False
    first, second = blocks
    outside = (text[: first.start], text[first.end : second.start], text[second.end :])
    return not any(part.strip() for part in outside)


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _malformed(why: str) -> ParsedTurn:
    return ParsedTurn(thought="", action=Malformed(why=why), is_well_formed=False)
