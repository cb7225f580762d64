"""Described turns: ``<think>…</think><description>…</description><answer>…</answer>``, the description in free words.

The first stage of Lang2Act asks so, and the second, whose description holds linguistic tools (``toolchain``), reads its
turns by the same table:

===============================================  ==========================================================
what the model wrote                             what becomes of it
===============================================  ==========================================================
the three blocks once each, in this order, with  the answer counts, well-formed; the think block may be
whitespace alone around them                     empty
a block missing, twice or out of order; text     the answer counts where there is one answer block; not
beside the blocks; an empty description          well-formed
no answer block, several, an empty one           ``Malformed``
a tag inside another block, one never closed or  ``Malformed``: what a description quotes is no answer
never opened; a role token
a turn over ``MAX_TURN_CHARS``                   ``Malformed``, unread
===============================================  ==========================================================

A turn's thought is the think block's text and then the description with its tags; an expert's thought is written the
same way (``described_thought``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.media.resize import ViewRule
from saccade.protocols.examples import ANSWER_EXAMPLE
from saccade.protocols.instructions import ANSWER, Style, asked_messages, observation
from saccade.protocols.markup import Block, find_blocks, names_tags, outside, tag_pattern, unreadable
from saccade.protocols.protocol import ChatProtocol, Parse, ParsedTurn, Prompt, ToolboxOfWords, check_written
from saccade.types import Answer, ExpertTurn, Malformed, Message, Task, ToolCall, ToolSpec

DESCRIBED = "described"

STOP = ("</answer>",)

ORDER = ("think", "description", "answer")

OPENING = "You answer questions about images, which may be pages of a document."

TURN = f"""# Turn
Write three blocks in this order, and nothing beside them:
<think>the images that you use, and why</think>
<description>the steps to what is asked for</description>
{ANSWER_EXAMPLE}"""

THINK = """In <think> go through the images by their numbers and say of each what it is and whether it helps. End with \
those that you will use."""

_DESCRIPTION = """In <description> say step by step how you find what is asked for in those images: where you look, \
what you read or see there, and what you work out from it. Begin each step with the image's number, as in \
"Image 2: the title is red". Leave out whatever does not help."""

_TAGS = tag_pattern(own=ORDER, environment=("tool_response",))
_OPENED, _CLOSED = "<description>", "</description>"


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedTurn:
    """A turn's three blocks, as far as they can be read."""

    think: str = ""
    description: str = ""
    answer: str | None = None
    """The content of the only answer block, perhaps empty; None without one, with several, or where tags are broken."""
    problem: str = ""
    """Why no answer is taken, as the model is told it."""
    is_in_order: bool = False
    """Each block once, in order, with its tags; there may be text beside them."""
    is_strict: bool = False
    """In order, and nothing but whitespace beside the blocks."""
    beside: str = ""
    """Text before, between and after the blocks."""


def described_protocol(*, style: Style = "full") -> ChatProtocol:
    """Protocol of one turn with thought, description and answer, in free words."""

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        full = "\n\n".join([OPENING, TURN, THINK, _DESCRIPTION, ANSWER])
        return asked_messages(task, "describe" if style == "brief" else full, view, style=style, wording=DESCRIBED)

    return blocks_protocol(name=DESCRIBED, prompt=prompt, parse=_parse, style=style)


def blocks_protocol(
    *,
    name: str,
    prompt: Prompt,
    parse: Parse,
    style: Style,
    toolbox: ToolboxOfWords | Callable[[], ToolboxOfWords] | None = None,
) -> ChatProtocol:
    """A protocol of a single turn in the three blocks."""

    def write(turn: ExpertTurn) -> str:
        text = written_blocks(turn)
        check_written(text, parse(text))
        return text

    return ChatProtocol(
        name=name,
        prompt=prompt,
        parse=parse,
        write=write,
        observe=lambda outcome, images_before: observation(outcome, images_before, style=style),
        stop=STOP,
        offers_tools=False,
        style=style,
        toolbox=toolbox,
    )


def read_blocks(text: str) -> DescribedTurn:
    """The blocks of a turn, by the table above; linear in the text, never raises."""
    if (refusal := unreadable(text)) is not None:
        return DescribedTurn(problem=refusal.why)
    blocks, problem = find_blocks(text, _TAGS)
    contents = {tag: [block.content.strip() for block in blocks if block.tag == tag] for tag in ORDER}
    answers = contents["answer"]
    is_in_order = not problem and _is_in_order(text, blocks)
    beside = " ".join(filter(None, map(str.strip, outside(text, blocks))))
    if not problem and len(answers) != 1:
        problem = (
            f"the turn has {f'{len(answers)} answers' if answers else 'no answer'}; finish with one {ANSWER_EXAMPLE}"
        )
    return DescribedTurn(
        think="\n".join(filter(None, contents["think"])),
        description="\n".join(filter(None, contents["description"])),
        answer=None if problem else answers[0],
        problem=problem or ("" if answers[0] else "the answer is empty"),
        is_in_order=is_in_order,
        is_strict=is_in_order and not beside and not names_tags(blocks[0].content),
        beside=beside,
    )


def parsed_turn(read: DescribedTurn, *, is_well_formed: bool) -> ParsedTurn:
    """The turn as environments take it."""
    thought = described_thought(read.think, read.description)
    if read.problem or not read.answer:
        return ParsedTurn(thought=thought, action=Malformed(why=read.problem), is_well_formed=False)
    return ParsedTurn(thought=thought, action=Answer(text=read.answer), is_well_formed=is_well_formed)


def described_thought(think: str, description: str) -> str:
    """An expert's thought of both blocks, or a model's as it is kept."""
    parts = (think.strip(), f"{_OPENED}{description.strip()}{_CLOSED}" if description.strip() else "")
    return "\n".join(filter(None, parts))


def described_parts(thought: str) -> tuple[str, str]:
    """Think block and description of a thought; without a description all of it is the think block's."""
    think, opened, rest = thought.partition(_OPENED)
    return think.strip(), rest.strip().removesuffix(_CLOSED).strip() if opened else ""


def written_blocks(turn: ExpertTurn) -> str:
    """The blocks of an expert's turn; a call, which these protocols have not, stands where the answer would."""
    think, description = described_parts(turn.thought)
    said = f"a call of {turn.action.name}" if isinstance(turn.action, ToolCall) else turn.action.text.strip()
    answer = "" if isinstance(turn.action, ToolCall) else f"<answer>{said}</answer>"
    return f"<think>{think}</think><description>{description}</description>{answer}"


def _parse(text: str) -> ParsedTurn:
    read = read_blocks(text)
    return parsed_turn(read, is_well_formed=read.is_strict and bool(read.description))


def _is_in_order(text: str, blocks: Sequence[Block]) -> bool:
    # A think block that a template opened has no opening tag of its own.
    return tuple(block.tag for block in blocks) == ORDER and text.startswith("<think>", blocks[0].start)
