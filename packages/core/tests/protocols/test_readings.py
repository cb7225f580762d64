"""Readings of what a real model writes: what is run, what is not, and that no reading pays a policy."""

import json
from functools import partial

import pytest

from costs import assert_costs_at_most
from saccade.errors import UserError
from saccade.protocols import PROTOCOLS, Reading, code_protocol, direct_protocol, protocol_named, tagged_protocol
from saccade.protocols.bare import bare_protocol
from saccade.protocols.markup import MAX_TURN_CHARS
from saccade.protocols.readings import MAX_BARE_CHARS, with_reading
from saccade.testing import check_protocol
from saccade.types import Action, Answer, Malformed, ToolCall, ToolSpec

CROP = ToolSpec(
    name="crop",
    description="Cut out a region.",
    parameters={"type": "object", "properties": {"bbox_2d": {"type": "array", "format": "box"}}},
)
PYTHON = ToolSpec(
    name="execute_python_code",
    description="Run Python.",
    parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)
BLOCK = "```python\nprint(1)\n```"
CALL = '{"name": "crop", "arguments": {"bbox_2d": [1, 2, 3, 4]}}'
CROPPED = ToolCall(name="crop", arguments={"bbox_2d": [1, 2, 3, 4]})
LOOKED = "<think>I look.</think>"


def run(code: str) -> ToolCall:
    return ToolCall(name="execute_python_code", arguments={"code": code})


RUN = run("print(1)")


def code_read(text: str, reading: Reading = "lenient") -> Action | str:
    """The action of the code protocol, "refused" for none; never well-formed."""
    return _read(with_reading(code_protocol(), reading).parse(text))


def call_read(text: str, reading: Reading = "lenient") -> Action | str:
    return _read(with_reading(tagged_protocol(), reading).parse(text))


def _read(parsed):
    assert not parsed.is_well_formed
    return "refused" if isinstance(parsed.action, Malformed) else parsed.action


# Replies of Qwen2.5-Coder-0.5B-Instruct, some shortened: the reply, and what each reading makes of it.
REPLIES = [
    ("2", "refused", "refused", Answer(text="2")),
    ("The answer is red.", "refused", "refused", Answer(text="The answer is red.")),
    ("<answer>434</answer>", Answer(text="434"), Answer(text="434"), Answer(text="434")),
    ("< code> print(input_image.size) </code>", "refused", "refused", "refused"),
    ("< answer>…< /answer>", "refused", "refused", "refused"),
    ("<code, 1</code>", "refused", "refused", "refused"),
    ("<think>Find the smallest x at which the picture has a white pixel.</think>", *["refused"] * 3),
    (
        "To determine the smallest x, we can iterate. Here is the Python code:\n\n```python\nprint(smallest_x)\n```\n\n"
        "When you see the output, finish: <answer>0</answer>",
        "refused",
        *[run("print(smallest_x)")] * 2,
    ),
    (
        "<think>I look at this pixel.</think>\n<code>\n```python\na = input_image.getpixel((5, 40))\nprint(a)\n```\n",
        "refused",
        *[run("a = input_image.getpixel((5, 40))\nprint(a)")] * 2,
    ),
    (
        "```python\nprint(sum(p == (0, 0, 0) for p in input_image.getdata()))\n```",
        *[run("print(sum(p == (0, 0, 0) for p in input_image.getdata()))")] * 3,
    ),
    ("Use the following code:\n\n```python\nfrom PIL import Image\n\ndef compare(red", *["refused"] * 3),
    ("<think>i look at this pixel.</th>\n<code>\n```python\na = 1\n```", *["refused"] * 3),
    ("<think>I check.</think>\n<code>\nprint(input_image.size)\n```\n<answer>black</answer>", *["refused"] * 3),
    ("The code ran. Output:\nyellow\n```python\n\nprint(1)\n<answer>yellow</answer>\n", *["refused"] * 3),
    ("<tool_response>\nThe error indicates that the code is not properly closed.", *["refused"] * 3),
    ("think>Error: the turn does nothing; end `…`< /code> or `…< /answer>.", *["refused"] * 3),
    ("To find out which colour covers more pixels, we will\n\napply a bitwise AND.", *["refused"] * 3),
]


@pytest.mark.parametrize(("reply", "strict", "lenient", "foreign"), REPLIES)
def test_a_real_models_replies_are_read_by_their_rules(reply, strict, lenient, foreign):
    assert [code_read(reply, reading) for reading in ("strict", "lenient", "foreign")] == [strict, lenient, foreign]


@pytest.mark.parametrize(
    "text",
    [
        f"{LOOKED}<code>\n{BLOCK}",
        f"{LOOKED}<code>\n{BLOCK}\n\n",
        f"<code>{BLOCK}",
        f"<code>{BLOCK}\nIt prints 1.\n<answer>1</answer>",
        f"{LOOKED}<code>\n{BLOCK}\n<answer>1</answer>",
        f"{LOOKED}<code>\n{BLOCK}\n</code>\nOutput:\n1\n<answer>1</answer>",
        f"{LOOKED}<code>\n{BLOCK}</code><answer>1</answer>",
        f"{LOOKED}<code>\n{BLOCK}\n<tool_response>1</tool_response>",
        f"{LOOKED}{BLOCK}\nOutput:\n```\n1\n```\n<answer>1</answer>",
        f"{LOOKED}{BLOCK}<answer>1</answer>",
        f"{BLOCK}\nThen I look closer:\n```python\nprint(2)\n```\n",
        f"<code>\n{BLOCK}\n```python\nprint(2)\n```\n</code>",
        f"<code>\n{BLOCK}\n</code><code>\nprint(2)\n</code>",
        f"<code>print(1)</code>{LOOKED}<answer>1</answer>",
        "```py\r\nprint(1)\r\n```\r\nand <answer>1</answer>",
        "~~~python\nprint(1)\n~~~\n<answer>1</answer>",
        f"I think.</think>{BLOCK}\n<answer>1</answer>",
        f"It says `{{}}` here.\n```json\n{{}}\n```\n{BLOCK}\n<answer>1</answer>",
    ],
)
def test_the_first_complete_code_is_run_and_what_follows_it_is_not_read(text):
    assert code_read(text) == RUN


@pytest.mark.parametrize(
    "call",
    [
        CALL.replace('{"bbox_2d": [1, 2, 3, 4]}', json.dumps('{"bbox_2d": [1, 2, 3, 4]}')),
        CALL.replace("arguments", "parameters"),
        f'{{"type": "function", "function": {CALL}}}',
        f'{{"id": "c1", "type": "function", "function": {CALL.replace("arguments", "parameters")}}}',
        CALL + "}",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}}}\n```",
    ],
)
def test_a_call_in_a_foreign_spelling_is_the_call(call):
    text = f"{LOOKED}<tool_call>{call}</tool_call>"
    assert call_read(text) == call_read(f"{text}<answer>1</answer>") == CROPPED
    assert call_read(text, "strict") == "refused"
    assert code_read(text) == CROPPED


@pytest.mark.parametrize(
    "text",
    [
        f"{LOOKED}<tool_call>\n{CALL}\n",
        f"{LOOKED}<tool_call>{CALL}<answer>red</answer>",
        f"<tool_call>{CALL}\n<tool_call>{CALL}</tool_call>",
        f"{LOOKED}I crop.\n```json\n{CALL}\n```\n",
        f"{LOOKED}{CALL}",
        CALL,
        f"I think.</think>\n{CALL}}}",
        f"<tool_call>{CALL}</tool_call> and <tool_call>{CALL.replace('crop', 'rotate')}</tool_call>",
    ],
)
def test_the_first_complete_call_is_made(text):
    assert call_read(text) == CROPPED
    assert call_read(text, "strict") == "refused"


def test_an_answer_after_a_call_that_is_shown_is_not_taken_and_data_is_no_call():
    assert call_read(f"{LOOKED}I crop.\n```json\n{CALL}\n```\nThen <answer>red</answer>") == CROPPED
    data = CALL.replace("arguments", "box")
    assert call_read(f"{LOOKED}I see:\n```json\n{data}\n```\n<answer>red</answer>") == Answer(text="red")


@pytest.mark.parametrize(
    "call",
    [
        CALL[:-1],
        CALL + "}}",
        f"{CALL} {CALL}",
        CALL.replace("arguments", "args"),
        CALL[:-1] + ', "parameters": {}}',
        CALL[:-1] + ', "arguments": {}}',
        CALL.replace('{"bbox_2d": [1, 2, 3, 4]}', '"[1, 2]"'),
        CALL.replace("1,", "NaN,"),
        CALL.replace('"crop"', '"\\ud800"') + "}",
        '{"type": "function", "function": 3}',
        '{"name": "crop", "arguments": ' + "[" * 5000,
        '{"name": "crop", "parameters": {"a": ' + "[" * 40 + "]" * 40 + "}}",
    ],
)
def test_a_call_that_is_in_doubt_is_refused(call):
    assert call_read(f"{LOOKED}<tool_call>{call}</tool_call>") == "refused"
    assert call_read(f"{LOOKED}{call}") == "refused"


ATTACKS_WITHOUT_ACTION = [
    f"<think>{BLOCK}</think>",
    f"<think>{BLOCK}",
    f"<think><code>\n{BLOCK}\n</code></think>",
    f"{BLOCK}</think>",
    f"{LOOKED}````markdown\n{BLOCK}\n````",
    f"{LOOKED}```text\n{BLOCK}",
    f"{LOOKED}> {BLOCK}".replace("\n", "\n> "),
    f"{LOOKED}```\nprint(1)\n```",
    '```python\nprint("<answer>1</answer>")\n```',
    f'<code>\n```python\nx = "</code>{BLOCK}\n',
    f"<tool_response>{BLOCK}\n</tool_response>",
    f"<|im_end|>{BLOCK}\n<answer>1</answer>",
    f"< code>\n{BLOCK}\n".replace("```", "` ``"),
    "<code>print(1)\n<answer>1</answer>",
    "<code>print(1)\n",
    "```python print(1)",
    "<answer></answer><answer>1</answer>",
    f"<answer>{BLOCK}",
    f"</answer>{BLOCK}\n",
    f"{LOOKED}It printed {CALL} before.",
    f"The output was\n{CALL}",
    "\ud800",
    f"<code>\n{BLOCK}\n" + "x" * MAX_TURN_CHARS,
]


@pytest.mark.parametrize("text", ATTACKS_WITHOUT_ACTION)
def test_no_action_is_read_out_of_a_thought_a_quotation_an_open_block_or_another_role(text):
    assert code_read(text) == "refused"
    assert call_read(text) in ("refused", Answer(text="1"))


@pytest.mark.parametrize(
    "text", ["<answer>A</answer><answer>B</answer>", f"<answer>A</answer>{BLOCK}\n<answer>B</answer>"]
)
def test_the_first_answer_counts_alone_so_that_hedging_and_code_after_it_gain_nothing(text):
    assert code_read(text) == code_read(text, "foreign") == Answer(text="A")


@pytest.mark.parametrize(
    "text", [text for text, *_ in REPLIES] + ATTACKS_WITHOUT_ACTION + [f"{LOOKED}<code>\n{BLOCK}\n</code>"]
)
@pytest.mark.parametrize("make", [code_protocol, tagged_protocol, direct_protocol])
def test_what_is_well_formed_is_what_the_strict_reading_calls_so_and_that_is_read_alike(text, make):
    strict = make().parse(text)
    for reading in ("lenient", "foreign"):
        parsed = with_reading(make(), reading).parse(text)
        assert parsed.is_well_formed == strict.is_well_formed
        assert parsed == strict or not strict.is_well_formed


@pytest.mark.parametrize(
    "reply", ["x" * (MAX_BARE_CHARS + 1), "red\nor blue", "<answer>red", "red ```", "", "<think>red"]
)
def test_a_bare_answer_is_one_short_line_without_marks(reply):
    assert code_read(reply, "foreign") == "refused"


def test_a_bare_answer_keeps_its_thought():
    parsed = with_reading(direct_protocol(), "foreign").parse("<think>Mostly red.</think>\nred\n")
    assert (parsed.thought, parsed.action, parsed.is_well_formed) == ("Mostly red.", Answer(text="red"), False)


def test_lenient_protocols_keep_the_contract_of_protocols():
    check_protocol(with_reading(code_protocol(), "lenient"), [PYTHON, CROP])
    check_protocol(with_reading(tagged_protocol(), "lenient"), [CROP])
    check_protocol(with_reading(direct_protocol(), "lenient"), [CROP])


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in ("bare", "toolchain")])
def test_each_protocol_with_tags_has_all_readings_by_name(name):
    made = protocol_named(name, style="full", max_turns=None, reading="lenient")
    assert made.reading == "lenient"
    assert made.fenced_actions is not None
    assert made.parse("<answer>A</answer><answer>B</answer>").action == Answer(text="A")


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in ("bare", "toolchain")])
@pytest.mark.parametrize(
    "text", ["red", CALL, "<answer>A</answer><answer>B</answer>", f"<tool_call>{CALL}", f"{BLOCK}\n"]
)
def test_no_protocol_pays_the_form_of_what_only_another_reading_takes(name, text):
    for reading in ("strict", "lenient", "foreign"):
        assert not protocol_named(name, style="full", max_turns=None, reading=reading).parse(text).is_well_formed


def test_a_reading_without_effect_is_refused():
    with pytest.raises(UserError, match="has one reading"):
        with_reading(bare_protocol(), "lenient")


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" * 20_000,
        f"<code>\n{BLOCK}\n" + "\n" * 200_000,
        "<tool_call>{" * 10_000,
        "```json\n```\n" * 20_000,
        "<think></think>" * 10_000,
        "<code>```\n```\n" * 10_000,
        '<tool_call>{"a": ' + "[" * 100_000,
    ],
)
def test_lenient_reading_takes_linear_time(text):
    for make in (code_protocol, tagged_protocol):
        parse = with_reading(make(), "lenient").parse
        assert_costs_at_most(partial(parse, text), 1.0)
