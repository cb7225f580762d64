"""Protocols: how a task is put to a model as chat messages, and how the model's turns are read back.

Start in ``protocol.py``, then ``tagged.py`` (thought, tool call, answer, each in a tag). ``code.py`` has Python instead
of tool calls, ``two_streams.py`` the two ways of iVGR, ``pointed.py`` that of Argos, ``described.py`` and
``toolchain.py`` those of Lang2Act, ``baselines.py`` what they are held against; ``readings.py`` reads any of them
leniently. What cannot be read is the value ``Malformed``, never an error.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.protocols.baselines import BASELINES as BASELINES
    from saccade.protocols.baselines import BaselineName as BaselineName
    from saccade.protocols.baselines import baseline_protocol as baseline_protocol
    from saccade.protocols.box_text import BoxForm as BoxForm
    from saccade.protocols.code import EVALUATION_TURNS as EVALUATION_TURNS
    from saccade.protocols.code import TRAINING_TURNS as TRAINING_TURNS
    from saccade.protocols.code import code_protocol as code_protocol
    from saccade.protocols.code_words import PYTHON_TOOL as PYTHON_TOOL
    from saccade.protocols.described import DESCRIBED as DESCRIBED
    from saccade.protocols.described import described_protocol as described_protocol
    from saccade.protocols.instructions import Style as Style
    from saccade.protocols.linguistic_tools import LinguisticTool as LinguisticTool
    from saccade.protocols.linguistic_tools import LinguisticToolbox as LinguisticToolbox
    from saccade.protocols.linguistic_tools import ToolboxSource as ToolboxSource
    from saccade.protocols.linguistic_tools import read_toolbox as read_toolbox
    from saccade.protocols.named import PROTOCOLS as PROTOCOLS
    from saccade.protocols.named import ProtocolName as ProtocolName
    from saccade.protocols.named import known_name as known_name
    from saccade.protocols.named import protocol_named as protocol_named
    from saccade.protocols.pointed import POINTED as POINTED
    from saccade.protocols.pointed import pointed_protocol as pointed_protocol
    from saccade.protocols.pointed import pointed_with_tools_protocol as pointed_with_tools_protocol
    from saccade.protocols.points import find_points as find_points
    from saccade.protocols.protocol import ChatProtocol as ChatProtocol
    from saccade.protocols.protocol import ParsedTurn as ParsedTurn
    from saccade.protocols.protocol import Reading as Reading
    from saccade.protocols.protocol import with_instructions as with_instructions
    from saccade.protocols.readings import TrainedReading as TrainedReading
    from saccade.protocols.readings import with_reading as with_reading
    from saccade.protocols.tagged import direct_protocol as direct_protocol
    from saccade.protocols.tagged import tagged_protocol as tagged_protocol
    from saccade.protocols.tool_tags import ChainCall as ChainCall
    from saccade.protocols.two_streams import GROUNDED as GROUNDED
    from saccade.protocols.two_streams import TEXTUAL as TEXTUAL
    from saccade.protocols.two_streams import grounded_protocol as grounded_protocol
    from saccade.protocols.two_streams import grounded_with_crop_protocol as grounded_with_crop_protocol
    from saccade.protocols.two_streams import textual_protocol as textual_protocol
else:
    __getattr__, __dir__ = names_on_use(__name__)
