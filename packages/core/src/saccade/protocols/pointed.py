"""Argos' way to ask: each thing that matters is pointed at in the reasoning, in a picture or in a frame of a video.

Turns are read as the tagged protocol does, points of the thought as ``points`` says. Points are on the question's own
pictures, in the frame of the model's family. Beyond the tagged protocol:

===============================================  ==========================================================
what the model wrote                             what becomes of it
===============================================  ==========================================================
a thought without points                         well-formed; the reward of its points is 0
a point, or a tag of one, in the answer, in a    no mention of a point; not well-formed
call or beside the blocks
===============================================  ==========================================================
"""

from dataclasses import replace

from saccade.protocols.instructions import Style
from saccade.protocols.marked import MarkInstructions, marked_protocol
from saccade.protocols.points import count_point_tags, find_points
from saccade.protocols.protocol import ChatProtocol, ParsedTurn

POINTED = "pointed"

_POINTS = """# Points
Say in your reasoning where things are. Each time you name an object that matters for the question, point at it: \
<points x1="150" y1="100" alt="cup">cup</points>. Number further points on: x2 and y2 for the next one. In a video, \
say in the same sentence which frame or time you mean, for example "frame 5" or "3.20 seconds"; say from when to \
when for what lasts. With several images, say in the same sentence which one you mean. Write no point in the answer."""

_CALLS_TOO = """Points are always on the images of the question, also when you have looked closer with a tool."""

_INSTRUCTIONS = MarkInstructions(
    wording=POINTED, word="points", section=_POINTS, section_with_tools=f"{_POINTS} {_CALLS_TOO}"
)


def pointed_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """Argos' protocol: one turn of reasoning with points, then the answer."""
    return _pointed_protocol(style=style, max_turns=max_turns, offers_tools=False)


def pointed_with_tools_protocol(*, style: Style = "full", max_turns: int | None = None) -> ChatProtocol:
    """Argos' protocol over several turns, with tools."""
    return _pointed_protocol(style=style, max_turns=max_turns, offers_tools=True)


def _pointed_protocol(*, style: Style, max_turns: int | None, offers_tools: bool) -> ChatProtocol:
    return marked_protocol(
        name=f"{POINTED}_with_tools" if offers_tools else POINTED,
        marks=MarkInstructions(
            wording=POINTED, word="points", section=_POINTS, section_with_tools=f"{_POINTS} {_CALLS_TOO}"
        ),
        read=_with_points,
        style=style,
        max_turns=max_turns,
        offers_tools=offers_tools,
    )


def _with_points(parsed: ParsedTurn, text: str) -> ParsedTurn:
    found = find_points(parsed.thought)
    # Whatever stands outside of the thought is no mention: an answer of points must not earn their reward.
    is_elsewhere = count_point_tags(text) != count_point_tags(parsed.thought)
    is_well_formed = parsed.is_well_formed and found.is_well_formed and not is_elsewhere
    return replace(parsed, points=tuple(found), is_well_formed=is_well_formed)
