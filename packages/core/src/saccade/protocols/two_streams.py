"""The two ways in which iVGR asks a question: with the boxes of what is seen written out, and in plain words.

Both read turns as the tagged protocol does. ``grounded`` also reads the boxes of the thought (``box_text`` says how);
``textual`` wants none. Boxes are on the first image, in the frame of the model's family. Beyond the tagged protocol:

===============================================  ==========================================================
what the model wrote                             what becomes of it
===============================================  ==========================================================
grounded, a thought without boxes                well-formed; the reward of its boxes is 0
grounded, a box or a tag of one in the answer,   no mention of a box; not well-formed
in a call or beside the blocks
textual, a tag of a box anywhere                 not well-formed, so that printed boxes never pay
===============================================  ==========================================================
"""

from collections.abc import Sequence
from dataclasses import replace

from saccade.media.resize import ViewRule
from saccade.protocols.box_text import BoxForm, count_box_tags, find_boxes, has_box_tag
from saccade.protocols.instructions import ANSWER, Style, asked_messages, observation
from saccade.protocols.marked import ONE_TURN, OPENING, MarkInstructions, marked_protocol, written_turn
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.tagged import STOP, parse
from saccade.types import Message, Task, ToolSpec

GROUNDED = "grounded"
TEXTUAL = "textual"

_BOXES = """# Boxes
Say in your reasoning where things are. Each time you name an object that matters for the question, write its box \
right after its name: cup <box>[100,50,200,150]</box>. One tight box for each object, and no box in the answer."""

_WORDS = """# Reasoning
Look carefully at every part of the image that matters, say in plain words what is where, and draw your conclusion \
from it. Write no coordinates."""

_CALLS_TOO = """Boxes are always on image 1, also when you have looked closer with a tool."""

_INSTRUCTIONS = MarkInstructions(
    wording=GROUNDED, word="boxes", section=_BOXES, section_with_tools=f"{_BOXES} {_CALLS_TOO}"
)


def grounded_protocol(
    *, style: Style = "full", max_turns: int | None = None, form: BoxForm = "lenient"
) -> ChatProtocol:
    """iVGR's grounded protocol: one turn of reasoning with boxes, then the answer."""
    return _grounded_protocol(style=style, max_turns=max_turns, form=form, offers_tools=False)


def grounded_with_crop_protocol(
    *, style: Style = "full", max_turns: int | None = None, form: BoxForm = "lenient"
) -> ChatProtocol:
    """iVGR's grounded protocol over several turns with tools to look closer: the paper's future work."""
    return _grounded_protocol(style=style, max_turns=max_turns, form=form, offers_tools=True)


def textual_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """iVGR's textual protocol: one turn of reasoning in plain words, then the answer."""

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        system = "words" if style == "brief" else "\n\n".join([OPENING, ONE_TURN, _WORDS, ANSWER])
        return asked_messages(task, system, view, style=style, wording=TEXTUAL)

    def parse_turn(text: str) -> ParsedTurn:
        parsed = parse(text, offers_tools=False)
        return replace(parsed, is_well_formed=parsed.is_well_formed and not has_box_tag(text))

    return ChatProtocol(
        name=TEXTUAL,
        prompt=prompt,
        parse=parse_turn,
        write=lambda turn: written_turn(turn, parse_turn),
        observe=lambda outcome, images_before: observation(outcome, images_before, style=style),
        stop=STOP,
        offers_tools=False,
        max_turns=max_turns,
        style=style,
    )


def _grounded_protocol(*, style: Style, max_turns: int | None, form: BoxForm, offers_tools: bool) -> ChatProtocol:
    protocol = marked_protocol(
        name=f"{GROUNDED}_with_crop" if offers_tools else GROUNDED,
        marks=MarkInstructions(
            wording=GROUNDED, word="boxes", section=_BOXES, section_with_tools=f"{_BOXES} {_CALLS_TOO}"
        ),
        read=lambda parsed, text: _with_boxes(parsed, text, form),
        style=style,
        max_turns=max_turns,
        offers_tools=offers_tools,
    )
    return replace(protocol, box_form=form)


def _with_boxes(parsed: ParsedTurn, text: str, form: BoxForm) -> ParsedTurn:
    found = find_boxes(parsed.thought, form)
    # Whatever stands outside of the thought is no mention: an answer of boxes must not earn their reward.
    is_elsewhere = count_box_tags(text) != count_box_tags(parsed.thought)
    is_well_formed = parsed.is_well_formed and found.is_well_formed and not is_elsewhere
    return replace(parsed, boxes=found.mentions, is_well_formed=is_well_formed)
