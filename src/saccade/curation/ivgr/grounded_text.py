"""What an assistant said in a data set, as an expert's turn: its reasoning with boxes, and its answer.

===============================================  ==========================================================
what stands there                                what becomes of it
===============================================  ==========================================================
``</think>`` without ``<think>``                 read all the same: a template had opened it
words outside of reasoning and answer            left out; with a box among them the row cannot be used
no reasoning, no answer, several answers         the row cannot be used
a box over the edge by a pixel at most           cut off at the edge, as rounding made it
a box further outside, inverted, empty or        the row cannot be used
unreadable; over ``MAX_BOXES`` boxes; a tag
that is not closed
===============================================  ==========================================================

Boxes are in pixels of the original of the first image.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from saccade.errors import UserError
from saccade.protocols.box_text import MAX_BOXES, find_boxes, has_box_tag, written_box
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import parse
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.tasks.readers.fields import short
from saccade.tasks.readers.rows import RowError
from saccade.tasks.readers.targets import inside
from saccade.types import Answer, BoxMention, ExpertTurn, ImageRef, Malformed

StreamName = Literal["grounded", "textual"]

_OPENED, _CLOSED = "<box>", "</box>"

_PROTOCOLS: Mapping[StreamName, ChatProtocol] = MappingProxyType(
    {"grounded": grounded_protocol(), "textual": textual_protocol()}
)


def stream_of(thought: str) -> StreamName:
    """``grounded`` when a box is named in it."""
    return "grounded" if has_box_tag(thought) else "textual"


def read_reply(text: str, key: str) -> ExpertTurn:
    """The turn of an assistant's text, its boxes unchecked; ``RowError`` names ``key``."""
    parsed = parse(text, offers_tools=False)
    if isinstance(parsed.action, Malformed):
        raise RowError(key, f"{parsed.action.why}; it is {short(text)}")
    assert isinstance(parsed.action, Answer)
    if not parsed.thought:
        raise RowError(key, f"has no reasoning before </think>: {short(text)}")
    if text.count(_OPENED) != parsed.thought.count(_OPENED):
        outside = text.replace(parsed.thought, "", 1)
        raise RowError(key, f"has a box outside of the reasoning: {short(outside)}")
    return ExpertTurn(thought=parsed.thought, action=parsed.action)


def imitable(turn: ExpertTurn, image: ImageRef, key: str) -> ExpertTurn:
    """The turn with its boxes inside the image; ``RowError`` when its stream's protocol cannot write it."""
    turn = ExpertTurn(thought=_inside(turn.thought, image, key), action=turn.action)
    try:
        _PROTOCOLS[stream_of(turn.thought)].write(turn)
    except UserError as error:
        raise RowError(key, str(error)) from error
    return turn


def _inside(thought: str, image: ImageRef, key: str) -> str:
    found = find_boxes(thought)
    unreadable = next((mention for mention in found.mentions if mention.box is None), None)
    if unreadable is not None:
        raise RowError(key, f"the box {short(unreadable.text)} is not four numbers in brackets")
    if not found.is_well_formed:
        raise RowError(key, f"has a tag of a box that is not closed or opened, or more than {MAX_BOXES} boxes")
    pieces, start = [], 0
    for mention in found.mentions:
        opened = thought.index(_OPENED, start)
        pieces += [thought[start:opened], _written(mention, image, key)]
        start = thought.index(_CLOSED, opened) + len(_CLOSED)
    return "".join([*pieces, thought[start:]])


def _written(mention: BoxMention, image: ImageRef, key: str) -> str:
    """The box as it stands there, unless the edge cuts it off."""
    assert mention.box is not None
    clipped = inside(mention.box, image, key)
    return f"{_OPENED}{mention.text}{_CLOSED}" if clipped == mention.box else written_box(clipped)
