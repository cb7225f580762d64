"""The protocols by name: for the command line, and for checkpoints that say how they are asked."""

from typing import Literal, get_args

from saccade.errors import UserError
from saccade.protocols.bare import bare_protocol
from saccade.protocols.baselines import baseline_protocol
from saccade.protocols.box_text import BoxForm
from saccade.protocols.code import code_protocol
from saccade.protocols.described import described_protocol
from saccade.protocols.instructions import Style
from saccade.protocols.linguistic_tools import ToolboxSource
from saccade.protocols.pointed import pointed_protocol, pointed_with_tools_protocol
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.protocols.toolchain import toolchain_protocol
from saccade.protocols.two_streams import grounded_protocol, grounded_with_crop_protocol, textual_protocol

ProtocolName = Literal[
    "tagged",
    "direct",
    "bare",
    "code",
    "grounded",
    "textual",
    "grounded_with_crop",
    "pointed",
    "pointed_with_tools",
    "described",
    "toolchain",
    "vanilla",
    "structured",
    "tree_of_thoughts",
    "graph_of_thoughts",
    "evidence_first",
]

PROTOCOLS: tuple[ProtocolName, ...] = get_args(ProtocolName)


def protocol_named(
    name: ProtocolName,
    *,
    style: Style,
    max_turns: int | None,
    box_form: BoxForm = "lenient",
    toolbox: ToolboxSource | None = None,
) -> ChatProtocol:
    """The protocol of this name; ``box_form`` matters where boxes are read, ``toolbox`` to chains, which need one.

    UserError for chains without a toolbox.
    """
    match name:
        case "tagged":
            return tagged_protocol(style=style, max_turns=max_turns)
        case "direct":
            return direct_protocol(style=style, max_turns=max_turns)
        case "bare":
            return bare_protocol(style=style)
        case "code":
            return code_protocol(style=style, max_turns=max_turns)
        case "textual":
            return textual_protocol(style=style, max_turns=max_turns)
        case "grounded":
            return grounded_protocol(style=style, max_turns=max_turns, form=box_form)
        case "grounded_with_crop":
            return grounded_with_crop_protocol(style=style, max_turns=max_turns, form=box_form)
        case "pointed":
            return pointed_protocol(style=style, max_turns=max_turns)
        case "pointed_with_tools":
            return pointed_with_tools_protocol(style=style, max_turns=max_turns)
        case "described":
            return described_protocol(style=style)
        case "toolchain":
            if toolbox is None:
                raise UserError(
                    "the protocol toolchain needs a toolbox of linguistic tools, but none is given; give its file "
                    "(--toolbox FILE), which saccade curate tools writes"
                )
            return toolchain_protocol(toolbox=toolbox, style=style)
        case "vanilla" | "structured" | "tree_of_thoughts" | "graph_of_thoughts" | "evidence_first":
            return baseline_protocol(name, style=style)


def name_of(protocol: ChatProtocol) -> ProtocolName | None:
    """The name by which ``protocol_named`` gives the same protocol; None for one of somebody's own.

    One that was made from ours and asks, reads or shows otherwise is somebody's own too.
    """
    parts = (protocol.prompt, protocol.parse, protocol.observe)
    if not all(getattr(part, "__module__", "").startswith("saccade.protocols.") for part in parts):
        return None
    return known_name(protocol.name)


def known_name(text: str) -> ProtocolName | None:
    """The text as the name of a protocol; None for an unknown one."""
    return next((name for name in PROTOCOLS if name == text), None)
