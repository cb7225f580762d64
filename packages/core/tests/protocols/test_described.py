"""The first stage's turns: three blocks, the description in free words."""

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols import described_protocol, protocol_named
from saccade.protocols.described import described_parts, described_thought, read_blocks
from saccade.protocols.instructions import Style
from saccade.testing import TINY_VIEW, check_protocol, tiny_example
from saccade.types import Answer, ExpertTurn, Malformed, ToolCall

THOUGHT = "Image 2 shows the table.\n<description>Image 2: the row of France says 7.2 %.</description>"
FINE = "<think>Image 2.</think> <description>Image 2: it says 7.</description>\n<answer> 7 </answer>"
PARSE = described_protocol().parse


@pytest.mark.parametrize("style", ["brief", "full"])
def test_the_described_protocol_keeps_the_contract(style: Style) -> None:
    check_protocol(described_protocol(style=style), (), thought=THOUGHT)


def test_the_protocol_is_known_by_its_name() -> None:
    named = protocol_named("described", style="brief", max_turns=None)
    task = tiny_example(MediaStore()).task
    assert (named.name, named.stop) == ("described", ("</answer>",))
    assert named.prompt(task, (), TINY_VIEW)[0].parts == ("describe",)


def test_a_turn_of_three_blocks_is_read() -> None:
    parsed = PARSE(FINE)
    assert parsed.is_well_formed
    assert parsed.action == Answer(text="7")
    assert parsed.thought == "Image 2.\n<description>Image 2: it says 7.</description>"
    assert PARSE(FINE.replace("Image 2.<", "<")).is_well_formed


@pytest.mark.parametrize(
    "text",
    [
        FINE + " I hope so.",
        "Sure. " + FINE,
        FINE.replace("<answer>", "and <answer>"),
        FINE.replace("<think>Image 2.</think>", ""),
        FINE.replace("<think>", ""),
        "<think>again</think>" + FINE,
        "<think>a</think><answer>7</answer><description>b</description>",
        "<think>a</think><answer>7</answer>",
        "<think>a</think><description> </description><answer>7</answer>",
        "<description>b</description><think>a</think><answer>7</answer>",
    ],
)
def test_a_turn_out_of_order_keeps_its_answer(text: str) -> None:
    parsed = PARSE(text)
    assert parsed.action == Answer(text="7")
    assert not parsed.is_well_formed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<think>a</think><description>b</description>", "no answer"),
        (FINE + "<answer>8</answer>", "2 answers"),
        (FINE.replace(" 7 ", " "), "the answer is empty"),
        ("<think>a</think><description>the page says <answer>7</answer>", "stands inside <description>"),
        ("<think>a</think><description>b<answer>7</answer>", "stands inside <description>"),
        ("<think>a<answer>7</answer>", "<think> is never closed"),
        (FINE + "<tool_response>8</tool_response>", "only the environment"),
        ("<answer>7" + " so" * 100_000 + "</answer>", "too long"),
    ],
)
def test_where_the_answer_is_in_doubt_none_is_taken(text: str, why: str) -> None:
    action = PARSE(text).action
    assert isinstance(action, Malformed)
    assert why in action.why


def test_thoughts_are_taken_apart_and_put_together() -> None:
    assert described_parts(described_thought(" a ", " b ")) == ("a", "b")
    assert described_parts("only a thought") == ("only a thought", "")
    assert described_thought("", "b") == "<description>b</description>"
    assert read_blocks(FINE).beside == ""


def test_an_expert_without_a_description_or_with_a_call_is_not_written() -> None:
    protocol = described_protocol()
    with pytest.raises(UserError, match="cannot be written"):
        protocol.write(ExpertTurn(thought="a thought alone", action=Answer(text="7")))
    with pytest.raises(UserError, match="cannot be written"):
        protocol.write(ExpertTurn(thought=THOUGHT, action=ToolCall(name="crop", arguments={})))
