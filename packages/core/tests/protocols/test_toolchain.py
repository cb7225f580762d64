"""Chains of linguistic tools: what is valid, what is wrong with the others, and what still answers."""

from collections.abc import Sequence

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols import (
    Chain,
    ChainCall,
    LinguisticTool,
    LinguisticToolbox,
    chain_thought,
    read_chain,
    toolchain_protocol,
)
from saccade.protocols.instructions import Style
from saccade.testing import TINY_VIEW, check_protocol, tiny_example
from saccade.types import Answer, ExpertTurn

BOX = LinguisticToolbox(
    (
        LinguisticTool("read_cell", "Read a cell.", args='Image k: row "…", column'),
        LinguisticTool("compare", "Compare two values."),
    )
)
READ = '<tool name="read_cell" args="Image 2: row France">7.2 %</tool>'
COMPARE = '<tool name="compare" args="7.2 vs 6.1">7.2 is larger</tool>'


def turn(description: str = READ + COMPARE, think: str = "Image 2 has it.", answer: str = "France") -> str:
    return f"<think>{think}</think>\n<description>{description}</description>\n<answer>{answer}</answer>"


def chain(text: str, pages: int | None = 3) -> Chain:
    return read_chain(text, BOX, pages)


@pytest.mark.parametrize("style", ["brief", "full"])
def test_the_toolchain_protocol_keeps_the_contract(style: Style) -> None:
    calls = [
        ChainCall(name="read_cell", args='Image 1: "7"', finding="7"),
        ChainCall(name="COMPARE", args="", finding="x"),
    ]
    check_protocol(toolchain_protocol(toolbox=BOX, style=style), (), thought=chain_thought("Image 1.", calls))


def test_a_valid_chain_tells_calls_pages_and_answer() -> None:
    found = chain(turn(think="Image 1 is a cover, image 2 the table."))
    assert (found.is_valid, found.error, found.why, found.answer) == (True, None, "", "France")
    assert found.calls == (
        ChainCall(name="read_cell", args="Image 2: row France", finding="7.2 %"),
        ChainCall(name="compare", args="7.2 vs 6.1", finding="7.2 is larger"),
    )
    assert (found.chosen, found.pages) == ((1, 2), (1, 2))
    assert [call.pages for call in found.calls] == [(2,), ()]


@pytest.mark.parametrize(
    "text",
    [
        turn(READ * 50),
        turn("First I read it.\n" + READ + "\nThen I am done."),
        turn(think=""),
        turn(think="It must be the last of them."),
        turn(COMPARE),
        turn(READ.replace("2", "1")),
        turn(answer=""),
        turn("<TOOL NAME='Read_Cell ' ARGS='image 2: row'>7</TOOL>"),
        turn("<tool args='Image 2: the \"total\"' name='compare'>7</tool>"),
        turn(READ.replace("France", '"France", rate')),
        turn(READ.replace("France", "'France's rate'")),
        turn("<tool name=“read_cell” args=“Image 2: France’s row”>7</tool>"),
        turn("<tool  name = ‘compare’\n args = ‘Image 2: it’s 7’ >7</tool >"),
        turn(READ.replace("row France", "a > b, a < b")),
        turn(READ, think='The page says "see Image 12". It is page 14 of the report, which is image 2.'),
        turn('<tool name="read_cell" args="Image 2, 2019 sales of Image 12">7</tool>'),
    ],
)
def test_chains_that_are_valid(text: str) -> None:
    assert (chain(text).error, chain(text).why) == (None, "")


@pytest.mark.parametrize(
    ("description", "why"),
    [
        ("", "the description is empty"),
        ('<tool name="compare" args="a"></tool>', "says nothing"),
        ('<tool name="compare" args="a"> … </tool>', "says nothing"),
        ('<tool name="compare" args="a"/>', "says nothing"),
        ('<tool name="compare">7</tool>', "is written"),
        ("<tool>7</tool>", "is written"),
        ("<tool name=compare args=a>7</tool>", "is written"),
        ('<tool name="compare" args="a" page="2">7</tool>', "is written"),
        ('<tool name="compare" name="compare" args="a">7</tool>', "twice"),
        ('<tool name="compare" args="a>7</tool>', "is written"),
        ('<tool name="compare" args="a">7', "not closed"),
        ('<tool name="compare" args="a">7</tool', "not closed"),
        (READ + "</tool>", "closes nothing"),
        (f'<tool name="compare" args="a">{READ}</tool>', "not closed by its own"),
        (f"<tool name='compare' args='{READ}'>7</tool>", "a tag inside it"),
        (READ * 101, "more than 100"),
    ],
)
def test_tags_that_are_not_in_order_are_format_errors(description: str, why: str) -> None:
    found = chain(turn(description))
    assert (found.error, found.answer) == ("format", "France")
    assert why in found.why


@pytest.mark.parametrize(
    "text",
    [
        turn(think=READ),
        turn(answer=READ),
        READ + turn(),
        turn() + " done",
        turn() + "<description>again</description>",
        turn().replace("<description>", "").replace("</description>", ""),
        "</think>" + turn(),
        "",
        READ,
    ],
)
def test_tools_and_words_outside_their_blocks_are_format_errors(text: str) -> None:
    assert chain(text).error == "format"


def test_the_other_errors_in_their_order() -> None:
    unknown = '<tool name="zoom" args="Image 9: top">7</tool>'
    assert chain(turn("I read 7.2 % there.", think="Image 9")).error == "no_tool"
    assert chain(turn(READ + unknown)).error == "tool_not_contained"
    assert chain(turn(READ + unknown)).why == "the toolbox has no 'zoom'"
    assert chain(turn(READ.replace("2:", "4:"))).why == "there is no image 4 among 3"


@pytest.mark.parametrize(
    ("think", "args", "missing"),
    [
        ("Image 4", "x", 4),
        ("image #0", "x", 0),
        ("Images 1, 2 and 5", "x", 5),
        ("images 2 to 4", "x", 4),
        ("Image 999999999999999999", "x", 999999999999999999),
        ("", "Image 7: x", 7),
        ("", "page 7: x", 7),
        ("", "Images 1 & 8: x", 8),
        ("", "Image 1, image 9: x", 9),
    ],
)
def test_a_page_that_does_not_exist_is_an_error(think: str, args: str, missing: int) -> None:
    found = chain(turn(f'<tool name="compare" args="{args}">7</tool>', think=think))
    assert (found.error, missing in found.pages) == ("page", True)
    assert read_chain(turn(READ, think=think), BOX, None).error is None


def test_any_number_of_pages() -> None:
    text = turn(READ.replace("2:", "57:"), think="Images 55 to 57")
    assert chain(text, pages=60).pages == (55, 56, 57)
    assert chain(text, pages=56).error == "page"
    assert chain(turn(), pages=0).error == "page"


@pytest.mark.parametrize(
    "text",
    [
        turn('<tool name="read_cell" args="Image 2: x"><answer>Spain</answer></tool>'),
        turn('<tool name="read_cell" args="<answer>Spain</answer>">x</tool>'),
        "<think>a</think><description>" + READ.replace("</tool>", "<answer>Spain</answer>"),
        turn(READ + "<|im_end|>"),
        turn() + turn(),
    ],
)
def test_what_is_quoted_never_answers(text: str) -> None:
    assert (chain(text).error, chain(text).answer) == ("format", None)


def test_an_answer_that_a_thought_quotes_costs_the_format_and_is_not_taken() -> None:
    read = chain(turn(think="the page orders: <answer>Spain</answer>"))
    assert (read.error, read.answer) == ("format", "France")


def test_a_chain_without_its_answer_block_is_a_format_error() -> None:
    cut = turn()[: turn().index("<answer>")]
    assert (chain(cut).error, chain(cut).answer) == ("format", None)
    assert (chain(turn(answer=" ")).error, chain(turn(answer=" ")).answer) == (None, None)


def test_prompt_reader_and_writer_share_a_toolbox_that_may_come_later() -> None:
    made: list[LinguisticToolbox] = []

    def handle() -> LinguisticToolbox:
        if not made:
            raise UserError("no toolbox yet")
        return made[-1]

    protocol, task = toolchain_protocol(toolbox=handle), tiny_example(MediaStore()).task
    with pytest.raises(UserError, match="no toolbox yet"):
        protocol.prompt(task, (), TINY_VIEW)
    with pytest.raises(UserError, match="no toolbox yet"):
        protocol.parse(turn())
    made.append(BOX)
    system = protocol.prompt(task, (), TINY_VIEW)[0].parts[0]
    assert isinstance(system, str)
    assert '<tool name="read_cell" args="Image k: row \'…\', column">what you find</tool>: Read a cell.' in system
    assert protocol.parse(turn()).is_well_formed
    made.append(LinguisticToolbox((LinguisticTool("zoom", "Look closer."),)))
    parsed = protocol.parse(turn())
    assert (parsed.is_well_formed, parsed.action) == (False, Answer(text="France"))


@pytest.mark.parametrize(
    "calls",
    [[], [ChainCall(name="zoom", args="", finding="x")], [ChainCall(name="compare", args="", finding="")]],
)
def test_an_expert_whose_chain_is_not_valid_is_not_written(calls: Sequence[ChainCall]) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        toolchain_protocol(toolbox=BOX).write(
            ExpertTurn(thought=chain_thought("Image 1.", calls), action=Answer(text="7"))
        )
