"""Protocols: how a task is put to a model as chat messages, and how the model's turns are read back.

Start in ``protocol.py``, then ``tagged.py`` (thought, tool call, answer, each in a tag). ``code.py`` has Python instead
of tool calls, ``two_streams.py`` the two ways of iVGR, ``pointed.py`` that of Argos, ``described.py`` and
``toolchain.py`` those of Lang2Act, ``baselines.py`` what they are held against. What cannot be read is the value
``Malformed``, never an error.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.protocols.baselines import BASELINES, BaselineName, baseline_protocol
    from saccade.protocols.box_text import BoxForm
    from saccade.protocols.code import EVALUATION_TURNS, TRAINING_TURNS, code_protocol
    from saccade.protocols.code_words import PYTHON_TOOL
    from saccade.protocols.described import DESCRIBED, described_protocol
    from saccade.protocols.instructions import Style
    from saccade.protocols.linguistic_tools import LinguisticTool, LinguisticToolbox, ToolboxSource, read_toolbox
    from saccade.protocols.named import PROTOCOLS, ProtocolName, known_name, protocol_named
    from saccade.protocols.pointed import POINTED, pointed_protocol, pointed_with_tools_protocol
    from saccade.protocols.points import find_points
    from saccade.protocols.protocol import ChatProtocol, ParsedTurn
    from saccade.protocols.tagged import direct_protocol, tagged_protocol
    from saccade.protocols.tool_tags import ChainCall
    from saccade.protocols.toolchain import TOOLCHAIN, Chain, ChainError, chain_thought, read_chain, toolchain_protocol
    from saccade.protocols.two_streams import (
        GROUNDED,
        TEXTUAL,
        grounded_protocol,
        grounded_with_crop_protocol,
        textual_protocol,
    )
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "BASELINES",
    "DESCRIBED",
    "EVALUATION_TURNS",
    "GROUNDED",
    "POINTED",
    "PROTOCOLS",
    "PYTHON_TOOL",
    "TEXTUAL",
    "TOOLCHAIN",
    "TRAINING_TURNS",
    "BaselineName",
    "BoxForm",
    "Chain",
    "ChainCall",
    "ChainError",
    "ChatProtocol",
    "LinguisticTool",
    "LinguisticToolbox",
    "ParsedTurn",
    "ProtocolName",
    "Style",
    "ToolboxSource",
    "baseline_protocol",
    "chain_thought",
    "code_protocol",
    "described_protocol",
    "direct_protocol",
    "find_points",
    "grounded_protocol",
    "grounded_with_crop_protocol",
    "known_name",
    "pointed_protocol",
    "pointed_with_tools_protocol",
    "protocol_named",
    "read_chain",
    "read_toolbox",
    "tagged_protocol",
    "textual_protocol",
    "toolchain_protocol",
]
