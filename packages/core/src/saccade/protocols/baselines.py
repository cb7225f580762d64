"""Baselines of prompting: one turn without tools, told apart by how the model is asked to think.

``vanilla`` asks for the answer alone, ``structured`` for three steps, ``tree_of_thoughts`` for several attempts of
which one is kept (after Yao et al. 2023), ``graph_of_thoughts`` for findings that are linked (after Besta et al. 2024),
and ``evidence_first`` for what the images say before any conclusion. The last four read turns as ``tagged`` does
without tools; a ``vanilla`` turn is well-formed when it is the answer block alone. All words are ours: papers that
compare themselves with such prompts have others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, get_args

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.examples import ANSWER_EXAMPLE
from saccade.protocols.instructions import ANSWER, Style, asked_messages, observation
from saccade.protocols.markup import find_blocks, outside, tag_pattern
from saccade.protocols.protocol import ChatProtocol, ParsedTurn, check_written
from saccade.protocols.tagged import STOP, parse, write
from saccade.types import Answer, ExpertTurn, Malformed, Message, Task, ToolSpec

BaselineName = Literal["vanilla", "structured", "tree_of_thoughts", "graph_of_thoughts", "evidence_first"]

_OPENING = "You answer questions about images, which may be pages of a document."

_ANSWER_ALONE = f"""# Turn
Write the answer at once and nothing else: {ANSWER_EXAMPLE}"""

_THINK_FIRST = f"""# Turn
Reason between <think> and </think>, then finish with {ANSWER_EXAMPLE}. Name images by their numbers."""

_REASONING: Mapping[BaselineName, str] = MappingProxyType(
    {
        "structured": """# Reasoning
Go through three steps and number them. 1. Which images matter for the question, and why the others do not. 2. The \
facts that they show, one after the other. 3. What follows from these facts, with every calculation written out.""",
        "tree_of_thoughts": """# Reasoning
Begin with three different ways to come to an answer, such as other images, other readings of the question or other \
calculations. Go one step along each. Then judge each by what the images really show, drop the weakest and go on with \
the rest, until one is left and leads to the answer.""",
        "graph_of_thoughts": """# Reasoning
Write down what you find as numbered findings, each from one image. Then link them: say which finding confirms, \
contradicts, completes or adds up with which others, and make new findings of those that belong together. Correct a \
finding when another one shows that it is wrong. Conclude from the findings at the end of the links.""",
        "evidence_first": """# Reasoning
Before you conclude anything, write down all that bears on the question as it stands in the images: words, numbers, \
cells of tables, what is drawn, each with its image's number and place. Say so where something that you need is not \
there. Then reason from this evidence alone.""",
    }
)

BASELINES: tuple[BaselineName, ...] = get_args(BaselineName)

_TAGS = tag_pattern(own=("think", "tool_call", "answer"), environment=("tool_response",))


def baseline_protocol(name: BaselineName, *, style: Style = "full") -> ChatProtocol:
    """The protocol of a baseline: one turn of thought as its name says, then the answer; ``vanilla`` has the answer
    alone."""
    if name not in BASELINES:
        raise UserError(f"there is no baseline {name!r}; choose {', '.join(BASELINES)}")
    is_vanilla = name == "vanilla"
    sections = [_ANSWER_ALONE, ANSWER] if is_vanilla else [_THINK_FIRST, _REASONING[name], ANSWER]
    full, brief = "\n\n".join([_OPENING, *sections]), name.replace("_", " ")

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        return asked_messages(task, brief if style == "brief" else full, view, style=style)

    def parse_turn(text: str) -> ParsedTurn:
        return _parse_vanilla(text) if is_vanilla else parse(text, offers_tools=False)

    def write_turn(turn: ExpertTurn) -> str:
        text = _written_answer(turn) if is_vanilla else write(turn)
        check_written(text, parse_turn(text))
        return text

    return ChatProtocol(
        name=name,
        prompt=prompt,
        parse=parse_turn,
        write=write_turn,
        observe=lambda outcome, images_before: observation(outcome, images_before, style=style),
        stop=STOP,
        offers_tools=False,
        style=style,
    )


def _parse_vanilla(text: str) -> ParsedTurn:
    parsed = parse(text, offers_tools=False)
    if isinstance(parsed.action, Malformed):
        return parsed
    blocks, _ = find_blocks(text, _TAGS)
    return replace(parsed, is_well_formed=len(blocks) == 1 and not any(map(str.strip, outside(text, blocks))))


def _written_answer(turn: ExpertTurn) -> str:
    """The answer without the expert's thought, which is not asked for."""
    if not isinstance(turn.action, Answer):
        raise UserError(f"the vanilla protocol has no calls, and the expert calls {turn.action.name}")
    return f"<answer>{turn.action.text.strip()}</answer>"
