"""The code protocol: ``<think>…</think><code>…</code>`` with Python to run, in the end ``<answer>…</answer>``.

A turn is well-formed when it is exactly one think block (which may be empty) and one action, with nothing but
whitespace around them. The code's form is one fenced block and nothing else between its tags::

    <code>
    ```python
    print(input_image.size)
    ```
    </code>

Code becomes ``ToolCall(name="execute_python_code", arguments={"code": …})``. ``parse`` is more tolerant, but only
where the action is beyond doubt (``saccade.protocols.readings`` has lenient readings):

===============================================  ==========================================================
what the model wrote                             what becomes of it
===============================================  ==========================================================
think block, then code in the form above         ``ToolCall``, well-formed
the same with longer marks (code that holds a    ``ToolCall``, well-formed
line of three backticks needs them)
think block, then an answer                      ``Answer``, well-formed
think block, then ``<tool_call>`` with JSON      ``ToolCall``; well-formed for other tools, not for Python
tilde marks, an indented block (its indentation  the code counts; not well-formed
is taken off), ``py``, ``python3``, ``Python``
or no language, text beside the block in <code>
<code> without a block                           all of it is the code, less outer blank lines and the first
                                                 line's indentation; not well-formed
a Python block on lines of its own, not in       the code counts, unless the block names no language or
<code> and not in <think>                        another; not well-formed
think block missing, repeated, opened by a       the action counts; not well-formed
template; text around the blocks
a block on one line of <code>, with ``python``   the code counts; not well-formed
after its marks
empty code, a comment only                       ``ToolCall``: the tool reports it as a failed run
null bytes, other control characters             stay in the code: Python reports them
Windows or old Macintosh line ends in code       become ``\\n``, as Python reads them
neither code, call nor answer                    ``Malformed``
several codes, calls or answers, or a mixture    ``Malformed``; nothing is run and no answer is taken
two blocks in one <code>, also on one line       ``Malformed``
backticks in code outside comments and texts     ``Malformed``: Python knows none
(in a block: as many as its marks); code on the
line that opens a block
a block of another language in <code>            ``Malformed``
a tag or block opened but never closed, also     ``Malformed`` (also when the token limit cut the turn)
where </code> or another tag cuts a block short
a tag inside another block, also in a string or  ``Malformed``: outside of a thought ``</code>`` ends a turn
comment of the code; a stray closing tag         wherever it stands, so code must spell it as ``"</" + "code>"``
code over ``MAX_CODE_CHARS``                     ``Malformed``
an empty answer, a broken call, a role token,    ``Malformed``, as in the tagged protocol
a turn too long, half a surrogate pair
``<tool_response>`` or ``<interpreter>``         ``Malformed``: the model plays the environment
===============================================  ==========================================================
"""

import re
from collections.abc import Sequence

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.code_words import PYTHON_TOOL, observation, prompt
from saccade.protocols.examples import ANSWER_EXAMPLE, PYTHON_EXAMPLE
from saccade.protocols.instructions import Style
from saccade.protocols.markup import (
    Block,
    Fence,
    defused,
    fenced,
    find_blocks,
    find_fences,
    holds_marks,
    is_strict,
    one_line_fence,
    outdented,
    outside,
    read_call,
    tag_pattern,
    unreadable,
    written_call,
)
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

MAX_CODE_CHARS = 1 << 14

TRAINING_TURNS = 6
"""The paper's limit in training."""

EVALUATION_TURNS = 10

STOP = ("</code>", "</answer>", "</tool_call>")

_TAGS = tag_pattern(own=("think", "code", "tool_call", "answer"), environment=("tool_response", "interpreter"))
_PYTHON = ("python", "python3", "py")
_NOTHING_DONE = f"the turn does nothing; end it with code, as in\n{PYTHON_EXAMPLE}\nor with {ANSWER_EXAMPLE}"
_FIRST_BLANK_LINES = re.compile(r"\A(?:[ \t]*+\n)++")
_LINE_END = re.compile(r"\r\n?")


def code_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """CodeDance's protocol: think, run Python, answer. ``brief`` instructions and observations are a few words.

    For an environment with ``saccade.tools.code.python_tool``; other tools may stand beside it. UserError for one turn,
    for code in the last turn is not run.
    """
    if max_turns is not None and max_turns < 2:
        raise UserError(
            f"max_turns={max_turns} leaves no turn for code before the answer; use 2 or more, or the direct protocol"
        )

    def build_prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        return prompt(task, tools, view, style=style, max_turns=max_turns)

    def observe(outcome: ToolResult | Malformed, images_before: int) -> Observation:
        return observation(outcome, images_before, style=style)

    return ChatProtocol(
        name="code",
        prompt=build_prompt,
        parse=parse,
        write=write,
        observe=observe,
        stop=STOP,
        max_turns=max_turns,
        style=style,
    )


def parse(text: str) -> ParsedTurn:
    """The turn's thought and action, by the table above; never raises."""
    refusal = unreadable(text)
    if refusal is not None:
        return ParsedTurn(thought="", action=refusal, is_well_formed=False)
    blocks, problem = find_blocks(text, _TAGS)
    thought = "\n".join(block.content.strip() for block in blocks if block.tag == "think")
    if problem:
        return ParsedTurn(thought=thought, action=Malformed(why=problem), is_well_formed=False)
    action, has_its_form = _action(text, blocks)
    is_well_formed = has_its_form and not isinstance(action, Malformed) and is_strict(text, blocks)
    return ParsedTurn(thought=thought, action=action, is_well_formed=is_well_formed)


def write(turn: ExpertTurn) -> str:
    """The turn in exactly the format that ``parse`` calls well-formed.

    Raises ``UserError`` when the turn cannot be written so that it reads back as itself.
    """
    match turn.action:
        case ToolCall(name=name, arguments=arguments) if name == PYTHON_TOOL:
            code = arguments.get("code")
            if set(arguments) != {"code"} or not isinstance(code, str):
                raise UserError(f"a call of {PYTHON_TOOL} has one argument, code, a text; this one has {arguments!r}")
            body = f"<code>\n{fenced(_with_line_ends(code))}\n</code>"
        case ToolCall():
            body = f"<tool_call>{written_call(turn.action)}</tool_call>"
        case Answer(text=answer):
            body = f"<answer>{answer.strip()}</answer>"
    text = f"<think>{turn.thought.strip()}</think>{body}"
    check_written(text, parse(text))
    return text


def _action(text: str, blocks: Sequence[Block]) -> tuple[Action, bool]:
    """The turn's action, and whether it is written in its own form."""
    actions = [block for block in blocks if block.tag != "think"]
    # Each piece by itself: a block of code that a tag cuts in two is never closed.
    bare = [fence for piece in outside(text, blocks) for fence in find_fences(_with_line_ends(piece))[0]]
    bare = [fence for fence in bare if fence.language in _PYTHON]
    count = len(actions) + len(bare)
    if count == 0:
        return Malformed(why=_NOTHING_DONE), False
    if count > 1:
        return Malformed(why=f"{count} actions in one turn; run one piece of code or give one answer"), False
    if bare:
        return _code_in(bare[0]), False
    content = actions[0].content
    match actions[0].tag:
        case "code":
            return _code(_with_line_ends(content))
        case "tool_call":
            return _call(content.strip())
        case _:
            answer = content.strip()
            return (Answer(text=answer), True) if answer else (Malformed(why="the answer is empty"), False)


def _code(content: str) -> tuple[Action, bool]:
    on_one_line = one_line_fence(content)
    if on_one_line is not None and on_one_line.language in _PYTHON:
        return _code_in(on_one_line), False
    fences, rest = find_fences(content)
    if len(fences) > 1:
        return Malformed(why=f"{len(fences)} blocks in one <code>; write one"), False
    if not fences:
        lines = _FIRST_BLANK_LINES.sub("", content).rstrip().split("\n")
        return _python(outdented(lines, len(lines[0]) - len(lines[0].lstrip(" \t")))), False
    fence = fences[0]
    if fence.language and fence.language not in _PYTHON:
        return Malformed(
            why=f"only Python is run, not {defused(fence.language[:20])}; begin the block with ```python"
        ), False
    has_its_form = fence.indent == 0 and fence.marks[0] == "`" and fence.info == "python" and not rest.strip()
    return _code_in(fence), has_its_form


def _code_in(fence: Fence) -> Action:
    if not fence.is_closed:
        return Malformed(why=f"the block of code is never closed; end it with {fence.marks} on a line of its own")
    if len(fence.info.split()) > 1:
        return Malformed(why=f"code stands on the line that opens its block; begin it below {fence.marks}python")
    return _python(fence.code, fence.marks)


def _python(code: str, marks: str = "`") -> ToolCall | Malformed:
    if holds_marks(code, marks):
        return Malformed(why="backticks stand inside the code; write one block, its marks on lines of their own")
    if len(code) > MAX_CODE_CHARS:
        return Malformed(why=f"the code is longer than {MAX_CODE_CHARS} characters")
    return ToolCall(name=PYTHON_TOOL, arguments={"code": code})


def _call(content: str) -> tuple[Action, bool]:
    call = read_call(content)
    if isinstance(call, Malformed) or call.name != PYTHON_TOOL:
        return call, True
    code = call.arguments.get("code")
    if set(call.arguments) == {"code"} and isinstance(code, str):
        code = _with_line_ends(code)
        return (_code(code)[0] if find_fences(code)[0] or one_line_fence(code) else _python(code)), False
    return call, False


def _with_line_ends(text: str) -> str:
    return _LINE_END.sub("\n", text)
