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
tags named inside a think block                  words of the thought; the action counts; not well-formed
a tag inside a call or answer, a stray closing   ``Malformed``
tag
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

from collections.abc import Sequence

from saccade.media.resize import ViewRule
from saccade.protocols.examples import ANSWER_EXAMPLE
from saccade.protocols.instructions import Style, observation, prompt
from saccade.protocols.markup import Block, find_blocks, is_strict, read_call, tag_pattern, unreadable, written_call
from saccade.protocols.protocol import ChatProtocol, ParsedTurn, check_written
from saccade.types import (
    Action,
    Answer,
    ExpertTurn,
    Malformed,
    Message,
    Observation,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
)

STOP = ("</tool_call>", "</answer>")

_TAGS = tag_pattern(own=("think", "tool_call", "answer"), environment=("tool_response",))


def tagged_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """The tagged protocol: think, call tools, answer. ``brief`` instructions are a few words, for tiny models."""
    return _protocol(name="tagged", style=style, max_turns=max_turns, offers_tools=True)


def direct_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """The tagged protocol without tools: the model thinks and answers; a call is ``Malformed``."""
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
        style=style,
    )


def parse(text: str, *, offers_tools: bool = True) -> ParsedTurn:
    """The turn's thought and action, by the table above; never raises."""
    refusal = unreadable(text)
    if refusal is not None:
        return ParsedTurn(thought="", action=refusal, is_well_formed=False)
    blocks, problem = find_blocks(text, _TAGS)
    thoughts = [thought for block in blocks if block.tag == "think" and (thought := block.content.strip())]
    thought = "\n".join(thoughts)
    action = Malformed(why=problem) if problem else _action(blocks, offers_tools)
    is_well_formed = not isinstance(action, Malformed) and is_strict(text, blocks)
    return ParsedTurn(thought=thought, action=action, is_well_formed=is_well_formed)


def write(turn: ExpertTurn) -> str:
    """The turn in exactly the format that ``parse`` calls well-formed; whole numbers without decimals.

    Raises ``UserError`` when the turn cannot be written so that it reads back as itself.
    """
    match turn.action:
        case ToolCall():
            body = f"<tool_call>{written_call(turn.action)}</tool_call>"
        case Answer(text=answer):
            body = f"<answer>{answer.strip()}</answer>"
    text = f"<think>{turn.thought.strip()}</think>{body}"
    check_written(text, parse(text))
    return text


def _action(blocks: Sequence[Block], offers_tools: bool) -> Action:
    actions = [block for block in blocks if block.tag != "think"]
    calls = sum(block.tag == "tool_call" for block in actions)
    if not actions:
        wanted = f"a tool call as the instructions show, or with {ANSWER_EXAMPLE}" if offers_tools else ANSWER_EXAMPLE
        return Malformed(why=f"the turn does nothing; end it with {wanted}")
    if calls and not offers_tools:
        return Malformed(why=f"no tools are offered; answer with {ANSWER_EXAMPLE}")
    if len(actions) > 1:
        answers = len(actions) - calls
        if not offers_tools:
            return Malformed(why=f"{answers} answers in one turn; give one answer")
        return Malformed(why=f"{calls} calls and {answers} answers in one turn; make one call or give one answer")
    content = actions[0].content.strip()
    if calls:
        return read_call(content)
    return Answer(text=content) if content else Malformed(why="the answer is empty")
