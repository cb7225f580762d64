"""A closing tag that a thought names ends no turn: neither at an engine nor in a reply of a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.protocols import Reading, code_protocol, tagged_protocol, with_reading
from saccade.rollout.conversation import up_to_action
from saccade.turn_ends import StopStrings, stop_end, up_to_stop
from saccade.types import Answer, Malformed, ToolCall

STOP = code_protocol().stop
RUNS = "<code>\n```python\nprint(1)\n```\n</code>"

REAL = [
    "<think>The error error was in the input code. It was never closed. Please correct and try again.</code>\n",
    "<think>The code ran, but it had an error. It also introduced a bug by trying to get a pixel at the position "
    "`(255, 255)` in the image. Now, the code more accurately finds red and yellow as expected.</th>\n"
    "<answer>red and yellow</answer>",
    "<answer>13</answer>",
    "<answer>.show()</answer>",
    "Blue",
]
"""Replies of Qwen2.5-Coder-0.5B-Instruct to the code protocol's prompts."""


def ends_at(text: str, pieces: list[str] | None = None, opening: str = "") -> str | None:
    """What had been written when the finder said that the turn ends; None where it never did."""
    finder, said = StopStrings(STOP, opening), ""
    for piece in pieces or list(text):
        said += piece
        if finder.completes(piece.encode()):
            return said
    return None


@pytest.mark.parametrize(
    "thought",
    [
        "I end it with </code> this time.",
        "As <code>x</code> or <answer>no</answer>?",
        "a</answer></answer> again",
        "a < b, so <tool_call>{}</tool_call>",
    ],
)
@pytest.mark.parametrize("action", [RUNS, "<answer>7</answer>"])
def test_a_turn_goes_on_after_a_tag_in_its_thought_and_its_action_counts(thought, action):
    text = f"<think>{thought}</think>{action}"
    assert ends_at(f"{text} and more") == text
    assert up_to_stop(f"{text}<answer>8</answer>", STOP) == text
    read = code_protocol().parse(text)
    assert read.action == (
        Answer(text="7") if "7" in action else ToolCall(name="execute_python_code", arguments={"code": "print(1)"})
    )
    # The format's reward pays no thought with tags in it.
    assert not read.is_well_formed


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("so </answer> more", "so </answer>"),
        ("<think>a</think></code> more", "<think>a</think></code>"),
        ("<think>a</think><code>x = '</answer>'</code>", "<think>a</think><code>x = '</answer>"),
        ("<think>a</think><code>x = '<think>'</code> more", "<think>a</think><code>x = '<think>'</code>"),
        ("<answer>1</answer></think><answer>2</answer>", "<answer>1</answer>"),
        (
            "<think>a</think>b<think></code></think><answer>1</answer>x",
            "<think>a</think>b<think></code></think><answer>1</answer>",
        ),
    ],
)
def test_outside_of_a_thought_a_closing_tag_ends_the_turn_whatever_it_closes(text, end):
    assert ends_at(text) == up_to_stop(text, STOP) == end


def test_a_thought_that_the_template_opened_is_one():
    text = "I write </code> so.</think><answer>1</answer>"
    assert ends_at(f"{text} more", opening="<think>\n") == text
    assert ends_at(text) == "I write </code>"
    assert ends_at(RUNS, opening="<think>\n") is None
    assert ends_at(RUNS, opening="<think>\n\n</think>\n\n") == RUNS


def test_strings_that_are_no_closing_tags_of_actions_end_a_turn_anywhere():
    assert stop_end("<think>a\nb", ("\n",)) == len("<think>a\n")
    assert stop_end("<think>ä</think>b", ("</think>", "</answer>")) == len("<think>ä</think>")
    assert stop_end("<think>Observation: </answer>", ("</answer>", "Observation:")) == len("<think>Observation:")
    assert up_to_stop("a</code>b</answer>", ("</answer>", "</code>")) == "a</code>"
    assert stop_end("none \ud800", STOP) is None


@pytest.mark.parametrize("reading", ["strict", "lenient", "foreign"])
@pytest.mark.parametrize("reply", REAL)
def test_a_real_reply_is_read_as_where_any_stop_string_ended_it(reply: str, reading: Reading):
    protocol = with_reading(code_protocol(), reading)
    first = min((reply.index(stop) + len(stop) for stop in STOP if stop in reply), default=None)
    before, now = (
        protocol.parse(up_to_action(text, protocol.fenced_actions)) for text in (reply[:first], up_to_stop(reply, STOP))
    )
    assert (now.action, now.is_well_formed) == (before.action, before.is_well_formed)


PIECES = [
    "<think>",
    "</think>",
    "<code>",
    "</code>",
    "<answer>",
    "</answer>",
    "</",
    "think>",
    "<",
    "code>",
    " 1 ",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(["", "<think>"]))
def test_however_a_text_comes_in_pieces_it_ends_at_one_place(pieces, opening):
    text = "".join(pieces)
    letters = ends_at(text, opening=opening)
    by_pieces = ends_at(text, pieces, opening)
    assert letters == (None if (end := stop_end(text, STOP, opening)) is None else text[:end])
    assert (letters is None) == (by_pieces is None)
    if letters is not None and by_pieces is not None:
        assert by_pieces.startswith(letters)


@given(st.lists(st.sampled_from([*PIECES, RUNS, "<answer>1</answer>"]), max_size=8))
@pytest.mark.parametrize("protocol", [code_protocol(), tagged_protocol()], ids=["code", "tagged"])
def test_an_action_of_an_unbroken_turn_is_the_one_that_the_turn_ended_with(protocol, pieces):
    text = "".join(pieces)
    read = protocol.parse(text)
    cut = protocol.parse(up_to_stop(text, protocol.stop))
    if not isinstance(read.action, Malformed):
        assert cut.action == read.action
    if read.is_well_formed:
        assert up_to_stop(text, protocol.stop) == text.rstrip()
