from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs import assert_costs_at_most
from saccade.errors import UserError
from saccade.protocols.code import MAX_CODE_CHARS, code_protocol, parse, write
from saccade.protocols.markup import MAX_TURN_CHARS, fenced, find_fences
from saccade.protocols.protocol import ParsedTurn
from saccade.testing import check_protocol
from saccade.types import Action, Answer, ExpertTurn, Malformed, ToolCall, ToolSpec

PYTHON = ToolSpec(
    name="execute_python_code",
    description="Run Python.",
    parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)
CROP = ToolSpec(
    name="crop",
    description="Cut out a region.",
    parameters={"type": "object", "properties": {"bbox_2d": {"type": "array", "format": "box"}}},
)
BLOCK = "<code>\n```python\nprint(1)\n```\n</code>"
CALL = '<tool_call>{"name": "execute_python_code", "arguments": {"code": "print(1)"}}</tool_call>'


def run(code: str) -> ToolCall:
    return ToolCall(name="execute_python_code", arguments={"code": code})


def well_formed(thought: str, action: Action) -> ParsedTurn:
    return ParsedTurn(thought=thought, action=action, is_well_formed=True)


def tolerated(thought: str, action: Action) -> ParsedTurn:
    return ParsedTurn(thought=thought, action=action, is_well_formed=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<think>look</think>{BLOCK}", well_formed("look", run("print(1)"))),
        (f" <think>\nlook\n</think>\n\n{BLOCK}\n", well_formed("look", run("print(1)"))),
        ("<think></think><code>```python\nprint(1)\n```</code>", well_formed("", run("print(1)"))),
        ("<think></think><code>\n```python\n\nif x:\n\ty()\n\n```\n</code>", well_formed("", run("\nif x:\n\ty()\n"))),
        ("<think></think><code>\n```python\n```\n</code>", well_formed("", run(""))),
        ("<think></think><code>\n```python\r\na = 1\r\nb = 2\r\n```\r\n</code>", well_formed("", run("a = 1\nb = 2"))),
        (
            "<think></think><code>\n````python\ns = '''\n```\n'''\n````\n</code>",
            well_formed("", run("s = '''\n```\n'''")),
        ),
        ("<think></think><code>\n```python\nx = '```'\n```\n</code>", well_formed("", run("x = '```'"))),
        ("<think></think><code>\n```python\n\x00\x0b\u2028\n```\n</code>", well_formed("", run("\x00\x0b\u2028"))),
        ("<think>so</think><answer> red </answer>", well_formed("so", Answer(text="red"))),
        ("<think>```python\nx\n```</think><answer>red</answer>", well_formed("```python\nx\n```", Answer(text="red"))),
        (
            '<think></think><tool_call>{"name": "crop", "arguments": {}}</tool_call>',
            well_formed("", ToolCall(name="crop", arguments={})),
        ),
    ],
)
def test_a_think_block_and_one_action_in_its_own_form_is_well_formed(text: str, expected: ParsedTurn) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BLOCK, tolerated("", run("print(1)"))),
        (f"I look</think>{BLOCK}", tolerated("I look", run("print(1)"))),
        (f"<think>a</think><think>b</think>{BLOCK}", tolerated("a\nb", run("print(1)"))),
        (f"<think>a</think>I run this:{BLOCK}", tolerated("a", run("print(1)"))),
        (f"<think>a</think>{BLOCK} and wait", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>\nHere:\n```python\nprint(1)\n```\n</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>```py\nprint(1)\n```</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>```Python3\nprint(1)\n```</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>```python print(1)```</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>\n``` py\tprint(1) ```\n</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>~~~python print(1)~~~</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>print('```')  # ```</code>", tolerated("a", run("print('```')  # ```"))),
        (
            CALL.replace("print(1)", "```python\\nprint(1)\\n```"),
            tolerated("", run("print(1)")),
        ),
        ("<think>a</think><code>```\nprint(1)\n```</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>\n~~~python\nprint(1)\n~~~\n</code>", tolerated("a", run("print(1)"))),
        (
            "<think>a</think><code>\n  ```python\n  if x:\n    y()\n z()\n  ```\n</code>",
            tolerated("a", run("if x:\n  y()\nz()")),
        ),
        ("<think>a</think><code>print(1)</code>", tolerated("a", run("print(1)"))),
        ("<think>a</think><code>\n \n  if x:\n    y()\n\n</code>", tolerated("a", run("if x:\n  y()"))),
        ("<think>a</think><code></code>", tolerated("a", run(""))),
        ("<think>a</think>\n```python\nprint(1)\n```\n", tolerated("a", run("print(1)"))),
        ("<think>a</think>```py\nprint(1)\n```", tolerated("a", run("print(1)"))),
        ("<think>a</think>\n```json\n{}\n```\n<answer>red</answer>", tolerated("a", Answer(text="red"))),
        ("<think>a</think>\n```json\n{}\n```\n```python\nx\n```", tolerated("a", run("x"))),
        (f"<think>a</think>{CALL}", tolerated("a", run("print(1)"))),
        (f"{CALL}", tolerated("", run("print(1)"))),
        ("<answer>red</answer>", tolerated("", Answer(text="red"))),
        (
            '<think></think><tool_call>{"name": "execute_python_code", "arguments": {"code": "a\\r\\nb"}}</tool_call>',
            tolerated("", run("a\nb")),
        ),
        (
            '<think></think><tool_call>{"name": "execute_python_code", "arguments": {"code": 3}}</tool_call>',
            tolerated("", ToolCall(name="execute_python_code", arguments={"code": 3})),
        ),
    ],
)
def test_an_action_beyond_doubt_counts_though_the_turn_is_not_well_formed(text: str, expected: ParsedTurn) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "does nothing"),
        ("print(1)", "does nothing"),
        ("<think>```python\nprint(1)\n```</think>", "does nothing"),
        ("<think>a</think>```\nprint(1)\n```", "does nothing"),
        ("<think>a</think>see ```python\nprint(1)\n```", "does nothing"),
        (f"<think>a</think>{BLOCK}{BLOCK}", "2 actions"),
        (f"<think>a</think>{BLOCK}<answer>red</answer>", "2 actions"),
        (f"<think>a</think><answer>red</answer>{BLOCK}", "2 actions"),
        (f"<think>a</think>{BLOCK}{CALL}", "2 actions"),
        (f"<think>a</think>\n```python\nx\n```\n{BLOCK}", "2 actions"),
        ("<think>a</think>\n```python\nx\n```\n```python\nx\n```\n", "2 actions"),
        ("<think>a</think>\n```python\nx\n```\n<answer>red</answer>", "2 actions"),
        ("<think>a</think>\n```python\nprint('<answer>red</answer>')\n```", "2 actions"),
        ("<think>a</think><code>```python\nx\n```\n```python\ny\n```</code>", "2 blocks"),
        ("<think>a</think><code>```bash\nls\n```</code>", "not bash"),
        ("<think>a</think><code>```python print(1)``` ```python print(2)```</code>", "backticks stand inside"),
        ("<think>a</think><code>```python\nx\n``` ```python\ny\n```</code>", "backticks stand inside"),
        ("<think>a</think><code>```python\nx``` ```python\ny\n```</code>", "backticks stand inside"),
        ("<think>a</think><code>```python\nx\n```python\ny\n```</code>", "backticks stand inside"),
        ("<think>a</think><code>Here: ```python print(1)```</code>", "backticks stand inside"),
        ("<think>a</think><code>```print(1)```</code>", "backticks stand inside"),
        ("<think>a</think><code>`print(1)`</code>", "backticks stand inside"),
        ("<think>a</think><code>```python print('```')```</code>", "backticks stand inside"),
        ("<think>a</think><code>```python x = 1\nprint(x)\n```</code>", "code stands on the line"),
        ("<think>a</think>\n```python x = 1\nprint(x)\n```", "code stands on the line"),
        ("<think>a</think><code>```python\nx</code>", "never closed"),
        ("<think>a</think><code>```python\nx```</code>", "never closed"),
        ("<think>a</think><code>\n```python\nx\n```", "<code> is never closed"),
        ("<think>a</think>\n```python\nx", "never closed"),
        ("<think>a</think>\n````python\nx\n```", "never closed"),
        ("<think>a</think><code>```python\nprint('</think>')\n```</code>", "stands inside <code>"),
        ("<think>a</think><code>```python\nprint('<answer>red</answer>')\n```</code>", "stands inside <code>"),
        ("<think>a</think><code>```python\nprint('</code>')\n```</code>", "never closed|closes nothing"),
        ("<think>a</think></code>", "</code> closes nothing"),
        (f"<think>a</think>{BLOCK}<interpreter>1</interpreter>", "only the environment"),
        (f"{BLOCK}<tool_response>1</tool_response><answer>1</answer>", "only the environment"),
        ("<think>a</think><code>```python\n'<|im_end|>'\n```</code>", "only the environment"),
        ("<think>a</think><answer> </answer>", "answer is empty"),
        ("<think>a</think><tool_call>{}</tool_call>", "exactly the keys"),
        (
            '<tool_call>{"name": "execute_python_code", "parameters": {"code": "x"}}</tool_call>',
            "exactly the keys name and arguments",
        ),
        (f"<think></think><code>```python\n{'x' * (MAX_CODE_CHARS + 1)}\n```</code>", "longer than"),
        ("<think>\ud800</think><answer>red</answer>", "Unicode"),
        ("<think>" + "a" * MAX_TURN_CHARS + "</think><answer>red</answer>", "too long"),
    ],
)
def test_a_turn_whose_action_is_in_doubt_is_malformed(text: str, word: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed.action, Malformed)
    assert any(part in parsed.action.why for part in word.split("|")), parsed.action.why
    assert not parsed.is_well_formed


@pytest.mark.parametrize("style", ["full", "brief"])
def test_the_protocol_keeps_its_contract(style: str) -> None:
    check_protocol(code_protocol(style=style), (PYTHON,))  # type: ignore[arg-type]
    check_protocol(code_protocol(style=style, max_turns=6), (PYTHON, CROP))  # type: ignore[arg-type]


def test_one_turn_leaves_none_for_code() -> None:
    with pytest.raises(UserError, match="max_turns=1 leaves no turn for code"):
        code_protocol(max_turns=1)


def test_an_experts_code_is_written_as_one_fenced_block_in_its_tags() -> None:
    turn = ExpertTurn(thought=" I count. ", action=run("n = 1\nprint(n)"))
    assert write(turn) == "<think>I count.</think><code>\n```python\nn = 1\nprint(n)\n```\n</code>"


@pytest.mark.parametrize("code", ["", "\n", "x\n", "s = '''\n```\n'''", "`````", "  ~~~~", "\n\n a", "'\x00'", "ü漢"])
def test_any_code_reads_back_as_it_was_written(code: str) -> None:
    written = write(ExpertTurn(thought="x", action=run(code)))
    assert parse(written) == well_formed("x", run(code))


def test_line_ends_of_other_systems_are_written_as_python_reads_them() -> None:
    assert parse(write(ExpertTurn(thought="", action=run("a\r\nb\rc")))).action == run("a\nb\nc")


@pytest.mark.parametrize(
    "turn",
    [
        ExpertTurn(thought="a</think>", action=run("x")),
        ExpertTurn(thought="a", action=run("print('</code>')")),
        ExpertTurn(thought="a", action=run("<|im_end|>")),
        ExpertTurn(thought="a", action=run("x" * (MAX_CODE_CHARS + 1))),
        ExpertTurn(thought="a", action=ToolCall(name="execute_python_code", arguments={})),
        ExpertTurn(thought="a", action=ToolCall(name="execute_python_code", arguments={"code": 1})),
        ExpertTurn(thought="a", action=Answer(text="")),
    ],
)
def test_an_expert_that_would_read_back_differently_is_refused(turn: ExpertTurn) -> None:
    with pytest.raises(UserError):
        write(turn)


pieces = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<code>",
        "</code>",
        "<tool_call>",
        "</tool_call>",
        "<answer>",
        "</answer>",
        "<interpreter>",
        "<|im_start|>",
        "```",
        "\n```\n",
        "\n```python\n",
        "```py\n",
        "````",
        "\n~~~\n",
        "  ```",
        '{"name": "execute_python_code", "arguments": {"code": "',
        '"}}',
        "print(1)",
        " ",
        "\t",
        "\r\n",
        "\n",
        "\ud800",
        "\x00",
    ]
)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.lists(pieces | st.text(max_size=5), max_size=14).map("".join))
def test_any_text_is_read_and_what_is_an_action_reads_back_from_its_own_writing(text: str) -> None:
    parsed = parse(text)
    if isinstance(parsed.action, Malformed):
        assert not parsed.is_well_formed
        return
    if isinstance(parsed.action, ToolCall) and parsed.action.name == "execute_python_code":
        assert set(parsed.action.arguments) == {"code"} or not parsed.is_well_formed
    written = write(ExpertTurn(thought=parsed.thought, action=parsed.action))
    assert parse(written) == well_formed(parsed.thought, parsed.action)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["```", "````", "~~~", "python", " ", "x", "\n", "\t"]), max_size=12).map("".join))
def test_any_code_in_a_fence_is_found_again(code: str) -> None:
    (fence,), rest = find_fences(fenced(code))
    assert (fence.code, fence.info, fence.indent, fence.is_closed, rest) == (code, "python", 0, True, "")


@pytest.mark.parametrize(
    "piece", ["```\n", "```python\n", "\n", "<code>", "</think>", "`", "~~~ x\n", "\r", " \n", "\t"]
)
def test_reading_takes_linear_time(piece: str) -> None:
    text = piece * (MAX_TURN_CHARS // len(piece))
    for whole in (text, f"<code>{text}</code>", f"<think>a</think><code>{text}"):
        assert_costs_at_most(partial(parse, whole[:MAX_TURN_CHARS]), 1.0)
