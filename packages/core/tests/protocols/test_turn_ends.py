"""A turn's first complete action is found while it is written, however its text comes in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.engines.sampling import StopFinder
from saccade.protocols import code_protocol, tagged_protocol
from saccade.protocols.readings import with_reading
from saccade.turn_ends import ActionFinder, FencedActions, first_action

CODE = with_reading(code_protocol(), "lenient")
CALLS = with_reading(tagged_protocol(), "lenient")
BLOCK = "```python\nprint(1)\n```"
CALL = '{"name": "crop", "arguments": {}}'


def ends_at(text: str, rule: FencedActions, pieces: list[str] | None = None, opening: str = "") -> str | None:
    """What had been written when the finder said that the action was complete; None where it never did."""
    finder = ActionFinder(rule, opening)
    said = ""
    for piece in pieces or list(text):
        said += piece
        if finder.completes(piece.encode()):
            return said
    return None


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (f"I run:\n{BLOCK}\n", "\n"),
        (f"I run:\n{BLOCK}  \nOutput: 1", "  \n"),
        (f"<think>{BLOCK}\n</think>{BLOCK}\n", "\n"),
        (f"<code>{BLOCK}\n<answer>", "\n<a"),
        (f"<code>{BLOCK}\n</answer>", "\n</a"),
        (f"<code>{BLOCK}\n It prints 1.", "\n I"),
        ("<code>\n```\nprint(1)\n```\nx", "\nx"),
        ("~~~~py\nprint('''\n~~~\n''')\n~~~~~\n", "~\n"),
        (f"bla</think>{BLOCK}\n", "\n"),
    ],
)
def test_the_turn_ends_where_its_code_is_complete_and_the_closing_tag_will_not_come(text, end):
    said = ends_at(f"{text} and more\n", CODE.fenced_actions)
    assert said is not None
    assert said.endswith(end)
    assert text.startswith(said.rstrip())


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{BLOCK}\n",
        f"````text\n{BLOCK}\n",
        "```\nprint(1)\n```\n",
        "```python\nprint(1)\n```x\n",
        "```python\nx = '<answer>'\n```\n",
        f"</code>{BLOCK}\n",
        f"<tool_response>{BLOCK}\n",
        f"<answer>{BLOCK}\n",
    ],
)
def test_the_turn_goes_on_where_no_action_is_complete(text):
    assert ends_at(text, CODE.fenced_actions) is None


def test_a_shown_call_ends_the_turn_and_shown_data_do_not():
    data = '[{"box": [1, 2, 3, 4], "label": "cat"}]'
    text = f"I see:\n```json\n{data}\n```\nI crop:\n```json\n{CALL}\n```\n"
    assert ends_at(f"{text}<answer>cat</answer>", CALLS.fenced_actions) == text


def test_a_thought_that_the_template_opens_ends_no_turn():
    rule = FencedActions(languages=("python",), tags=("code",), tag="code")
    assert ends_at(f"{BLOCK}\n", rule, opening="<think>\n") is None
    assert ends_at(f"{BLOCK}\n</think>{BLOCK}\nmore", rule, opening="<think>\n") == f"{BLOCK}\n</think>{BLOCK}\n"


PIECES = [
    "<think>",
    "</think>",
    "<code>",
    "</code>",
    "<answer>",
    "</answer>",
    "<tool_call>",
    "</tool_call>",
    "```",
    "~~~",
]
PIECES += [
    "python",
    "json",
    "\n",
    "\n```python\n",
    "\n```\n",
    "print(1)",
    " ",
    CALL,
    "ä",
    "<tool_response>",
    "<|im_end|>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@pytest.mark.parametrize("protocol", [CODE, CALLS], ids=["code", "tagged"])
def test_what_is_read_is_what_was_complete_when_sampling_stopped(protocol, pieces):
    text = "".join(pieces)
    whole = protocol.parse(text).action
    letters = ends_at(text, protocol.fenced_actions)
    by_pieces = ends_at(text, protocol.fenced_actions, pieces)
    assert (letters is None) == (by_pieces is None)
    if letters is not None and by_pieces is not None:
        # A piece is never cut: it may hold more than what completes the action.
        assert by_pieces.startswith(letters)
        # The finder cannot know of a </think> that is yet to come without a <think>.
        if "</think>" not in text or text.startswith("<think>"):
            assert protocol.parse(letters).action == protocol.parse(by_pieces).action == whole


@given(st.lists(st.sampled_from([*PIECES, "x", "a = 1"]), max_size=10))
def test_a_well_formed_turn_is_never_cut_before_its_end(pieces):
    for protocol in (CODE, CALLS):
        for body in ("<code>\n```python\n{}\n```\n</code>", "<answer>{}</answer>", f"<tool_call>{CALL}</tool_call>"):
            text = f"<think>{''.join(pieces)}</think>{body.replace('{}', ''.join(pieces))}"
            if protocol.parse(text).is_well_formed:
                assert ends_at(text, protocol.fenced_actions) in (None, text)
                first = first_action(text, protocol.fenced_actions)
                assert first is None or (first.end == len(text) and not first.closing)


def test_a_stop_string_and_a_block_both_end_a_turn():
    assert StopFinder(("</answer>",)).completes(b"```python\nx\n```\n") is False
    assert StopFinder(("</answer>",), CODE.fenced_actions).completes(b"```python\nx\n```\n") is True
    assert StopFinder(("</answer>",), CODE.fenced_actions).completes(b"<answer>1</answer>") is True


def test_a_character_that_tokens_split_is_no_end():
    finder = ActionFinder(CODE.fenced_actions)
    assert [finder.completes(token) for token in (b"```python\n# \xc3", b"\xa4\n``", b"`", b"\n\n")] == [False] * 3 + [
        True
    ]
