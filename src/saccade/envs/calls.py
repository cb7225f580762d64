"""A model's call, taken from its own frame through the checks to the tool and its deadline."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from saccade.envs.deadline import run_within
from saccade.envs.latency import ToolLatencies
from saccade.errors import ToolError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.coordinates import call_to_original
from saccade.tools.tool import Tool, cut, find_tool
from saccade.types import ImageRef, ToolCall, ToolResult


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOutcome:
    """What became of a call."""

    result: ToolResult | None
    """None when the call was refused before the tool ran."""
    shown: ToolResult
    """What the model is to be shown: the result, or why the call was refused."""


def in_original_pixels(call: ToolCall, tools: Sequence[Tool], images: Sequence[ImageRef], view: ViewRule) -> ToolCall:
    """The call with its coordinates in pixels of the original; unchanged when there is no such tool."""
    spec = next((tool.spec for tool in tools if tool.name == call.name), None)
    return call if spec is None else call_to_original(call, spec, images, view)


def run_call(
    call: ToolCall,
    tools: Sequence[Tool],
    images: Sequence[ImageRef],
    media: MediaStore,
    latencies: ToolLatencies | None = None,
) -> CallOutcome:
    """Check and run a call that is in original pixels; ``latencies`` is told how long the tool took, if it ran.

    ``MachineError`` when the tool breaks or passes its deadline; the policy's mistakes are outcomes.
    """
    try:
        tool = find_tool(call.name, tools)
        bound = tool.bind(call.arguments, images)
    except ToolError as error:
        return CallOutcome(result=None, shown=_failed(error))
    try:
        with nullcontext() if latencies is None else latencies.timing(tool.name):
            result = run_within(lambda: bound.run(media), deadline_s=tool.deadline_s, what=f"tool {tool.name}")
    except ToolError as error:
        result = _failed(error)
    return CallOutcome(result=result, shown=result)


def _failed(error: ToolError) -> ToolResult:
    return ToolResult(text=cut(str(error)), is_ok=False)
