"""Lang2Act's second way to ask: pages chosen in the thought, linguistic tools in the description, then the answer.

A turn's blocks are read as ``described`` says, its tools and page numbers as ``tool_tags`` says. A chain is valid
when all of that is in order and its tools are in the toolbox (equation 13, appendix A.4). The first of these that
applies is its ``error``:

===============================================  ==================================================================
``format``                                       blocks not once each and in order, text beside them, an empty
                                                 description, a tool outside the description, a tag of a tool that
                                                 is not in order, a tool without a finding
``no_tool``                                      no tool at all
``tool_not_contained``                           a tool that the toolbox does not hold
``page``                                         a page that does not exist, in the thought or in a call
===============================================  ==================================================================

No page at all, a page that the thought did not choose, an empty answer block and fifty tools are valid: the paper's
indicator speaks of the chain alone, and what it pays cannot grow with the number of tools. ``saccade.rewards.lang2act``
has options that pay less. An answer block counts in whatever chain it stands, unless the block itself is in doubt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.described import (
    OPENING,
    THINK,
    TURN,
    DescribedTurn,
    blocks_protocol,
    described_thought,
    parsed_turn,
    read_blocks,
)
from saccade.protocols.instructions import ANSWER, Style, asked_messages
from saccade.protocols.linguistic_tools import LinguisticToolbox, ToolboxSource, opened_toolbox
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.tool_tags import ChainCall, FoundCalls, find_calls, has_tool_tag, thought_pages, written_tool
from saccade.types import Json, Message, Task, ToolSpec

TOOLCHAIN = "toolchain"

ChainError = Literal["format", "no_tool", "tool_not_contained", "page"]

_USE = """In <description> use these tools on the images that you chose, one after the other, as many as you need. A \
tool is words of your own: you write the call, look, and write between its tags what you found. Where a tool looks at \
an image, its arguments begin with the image's number, as in "Image 2: row 1"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """A chain of linguistic tools with its answer, as far as it can be read."""

    error: ChainError | None = None
    why: str = ""
    """What is wrong, in words; empty for a valid chain."""
    calls: tuple[ChainCall, ...] = ()
    """Calls in their order, up to where the tags cannot be read any further."""
    pages: tuple[int, ...] = ()
    """Pages that thought and calls name, counted from 1, each once; some may not exist."""
    chosen: tuple[int, ...] = ()
    """Those of them that the thought names: the pages of equation 9's route."""
    answer: str | None = None
    """The answer, also of an invalid chain; None for no answer or an empty one."""
    is_in_order: bool = False
    """Whether each block comes once and in order, with tools in the description alone; other faults do not count."""

    @property
    def is_valid(self) -> bool:
        """Whether format, tools and pages are in order: r_tool of equation 13."""
        return self.error is None


def named_toolchain(*, style: Style, toolbox: ToolboxSource | Mapping[str, Json] | None) -> ChatProtocol:
    """The protocol by its name, with a toolbox or the record of one; UserError without."""
    if toolbox is None:
        raise UserError(
            "the protocol toolchain needs a toolbox of linguistic tools, but none is given; give its file "
            "(--toolbox FILE), which saccade curate tools writes"
        )
    given = LinguisticToolbox.from_json(toolbox) if isinstance(toolbox, Mapping) else toolbox
    return toolchain_protocol(toolbox=given, style=style)


def toolchain_protocol(*, toolbox: ToolboxSource, style: Style = "full") -> ChatProtocol:
    """Lang2Act's protocol: one turn of chosen pages, linguistic tools and the answer.

    The toolbox is asked for with each question.
    """

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        system = _instructions(opened_toolbox(toolbox), style)
        return asked_messages(task, system, view, style=style, wording=TOOLCHAIN)

    def parse(text: str) -> ParsedTurn:
        # How many pages the question has is known where a chain is rewarded, not here.
        read = read_blocks(text)
        chain = _chain(read, opened_toolbox(toolbox), None)
        return parsed_turn(read, is_well_formed=chain.is_valid)

    return blocks_protocol(name=TOOLCHAIN, prompt=prompt, parse=parse, style=style, toolbox=toolbox)


def read_chain(text: str, toolbox: LinguisticToolbox, pages: int | None) -> Chain:
    """The chain of a turn, by the table above; ``pages`` is the number of images shown, None where it is unknown.

    Pure, linear in the text, never raises.
    """
    return _chain(read_blocks(text), toolbox, pages)


def chain_thought(think: str, calls: Sequence[ChainCall]) -> str:
    """An expert's thought that chooses pages and uses tools, as ``toolchain_protocol`` writes it."""
    return described_thought(think, "\n".join(map(written_tool, calls)))


def _chain(read: DescribedTurn, toolbox: LinguisticToolbox, pages: int | None) -> Chain:
    found = find_calls(read.description)
    is_leaked = has_tool_tag(read.think) or has_tool_tag(read.answer or "") or has_tool_tag(read.beside)
    chosen = thought_pages(read.think, pages)
    named = dict.fromkeys([*chosen, *(page for call in found.calls for page in call.pages)])
    error, why = _first_error(read, found, toolbox, tuple(named), pages, is_leaked=is_leaked)
    return Chain(
        error=error,
        why=why,
        calls=found.calls,
        pages=tuple(named),
        chosen=chosen,
        answer=read.answer or None,
        is_in_order=read.is_in_order and not is_leaked,
    )


def _first_error(
    read: DescribedTurn,
    found: FoundCalls,
    toolbox: LinguisticToolbox,
    named: Sequence[int],
    pages: int | None,
    *,
    is_leaked: bool,
) -> tuple[ChainError | None, str]:
    if not read.is_strict:
        return "format", read.problem or "think, description and answer must stand once each, in order, and alone"
    if is_leaked:
        return "format", "a tool stands outside the description"
    if not read.description:
        return "format", "the description is empty"
    if found.problem:
        return "format", found.problem
    if not found.calls:
        return "no_tool", "the description uses no tool"
    unknown = next((call.name for call in found.calls if call.name not in toolbox), None)
    if unknown is not None:
        return "tool_not_contained", f"the toolbox has no {unknown[:60]!r}"
    missing = next((page for page in named if pages is not None and not 1 <= page <= pages), None)
    if missing is not None:
        return "page", f"there is no image {missing} among {pages}"
    return None, ""


def _instructions(toolbox: LinguisticToolbox, style: Style) -> str:
    if style == "brief":
        return " ".join(["chain", *toolbox.names])
    shown = [
        f"{written_tool(ChainCall(name=tool.name, args=tool.args or 'Image 1', finding='what you find'))}: "
        f"{tool.description}"
        for tool in toolbox.tools
    ]
    return "\n\n".join([OPENING, TURN, THINK, _USE, "# Tools\n" + "\n".join(shown), ANSWER])
