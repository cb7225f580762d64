"""Chains that attack their reader: long, nested, never closed; read in linear time, with bounded results."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from costs import assert_costs_at_most
from saccade.protocols import LinguisticTool, LinguisticToolbox, read_chain
from saccade.protocols.markup import MAX_TURN_CHARS
from saccade.protocols.tool_tags import MAX_CALLS, MAX_PAGES_NAMED

BOX = LinguisticToolbox((LinguisticTool("a", "Look."),))
MAX_READ_S = 1.0

PIECES = (
    *("<think>", "</think>", "<description>", "</description>", "<answer>", "</answer>", "<tool", "</tool>", ">", "/>"),
    *(
        ' name="a"',
        " args=''",
        ' args="Image 1: x"',
        '"',
        "'",
        "“",
        "”",
        "a",
        " ",
        "image 1",
        "images 2 and",
        "<|im_end|>",
    ),
)

LONG = (
    '<tool name="',
    '<tool name="a" args="',
    '<tool name="a" args="b">',
    '<tool name="a" args="b">x</tool>',
    "<tool ",
    "<tool",
    "</tool>",
    '" ',
    "' \t name=",
    "“x”",
    "image 1 ",
    "images 1, ",
    "images 1 to ",
    "image #",
    "page 9 and ",
    "9",
    '"\n',
    " ",
    "<description>",
)


@pytest.mark.parametrize("piece", LONG)
@pytest.mark.parametrize("place", ["think", "description", "args", "open args", "answer", "alone"])
def test_long_texts_are_read_in_linear_time(piece: str, place: str) -> None:
    """Processor time of a text as long as any that is read: a square of it would take minutes."""
    many = piece * (200_000 // len(piece))
    blocks = {"think": "x", "description": '<tool name="a" args="b">x</tool>', "answer": "x"}
    if place in blocks:
        blocks[place] = many
    elif place != "alone":
        blocks["description"] = f'<tool name="a" args="{many}' + ('">x</tool>' if place == "args" else "")
    text = many if place == "alone" else "".join(f"<{tag}>{content}</{tag}>" for tag, content in blocks.items())
    assert len(text) <= MAX_TURN_CHARS
    found = read_chain(text, BOX, 3)
    assert_costs_at_most(lambda: read_chain(text, BOX, 3), MAX_READ_S)
    assert len(found.calls) <= MAX_CALLS
    assert len(found.chosen) <= MAX_PAGES_NAMED


def test_a_megabyte_is_not_read_at_all() -> None:
    found = read_chain('<think></think><description><tool name="a" args="b">x</tool>' + "x" * 1_000_000, BOX, 3)
    assert (found.error, found.calls, found.answer) == ("format", (), None)
    assert "too long" in found.why


def test_half_a_surrogate_is_a_format_error() -> None:
    assert read_chain("\ud800", BOX, 1).why == "the turn is not valid Unicode"


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("<think><answer></think><answer><tool</answer>")
def test_no_text_raises_and_every_verdict_is_whole(text: str) -> None:
    found = read_chain(text, BOX, 2)
    assert found.is_valid == (found.error is None) == (not found.why)
    # Tags that a thought names are its words.
    outside = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    assert found.answer is None or (found.answer.strip() and outside.count("<answer>") == 1)
    if found.is_valid:
        assert found.calls
        assert all(call.name == "a" and call.finding for call in found.calls)
        assert all(1 <= page <= 2 for page in found.pages)
        assert found.is_in_order
