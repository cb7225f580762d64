"""What an MCP server answered, as what a tool of ours gives: text, pictures, data, or whose mistake it was."""

import base64
import binascii
import json
from collections.abc import Mapping

import mcp_types
from PIL import Image

from saccade.errors import MachineError, ToolError
from saccade.interop.mcp.images import SERVER_LIMITS, UnknownImageError
from saccade.interop.mcp.server import MARK
from saccade.media.decode import MediaError, decode_image
from saccade.tools.tool import ToolOutput
from saccade.types import Json


def tool_output(name: str, result: mcp_types.CallToolResult, *, is_ours: bool) -> ToolOutput:
    """The result of a call.

    ``ToolError`` when the server refused it, as MCP's error results do, ``MachineError`` when what came is broken or a
    server of ours says that its machine failed.
    """
    if result.is_error:
        raise _failure(name, result)
    structured: Mapping[str, Json] = result.structured_content or {}
    images = tuple(_picture(name, block) for block in result.content if isinstance(block, mcp_types.ImageContent))
    if is_ours:
        data = structured.get("data")
        return ToolOutput(
            text=str(structured.get("text", "")), images=images, data=data if isinstance(data, Mapping) else {}
        )
    text = _text(result)
    if not text and not images:
        text = json.dumps(structured, ensure_ascii=False) if structured else "done, without a result"
    return ToolOutput(text=text, images=images, data=structured)


def _failure(name: str, result: mcp_types.CallToolResult) -> ToolError | MachineError:
    text = _text(result) or "the tool refused the call and did not say why"
    mark = (result.meta or {}).get(MARK)
    match mark.get("failure") if isinstance(mark, Mapping) else None:
        case "machine":
            return MachineError(f"tool {name} at its server: {text}")
        case "unknown_image":
            return UnknownImageError(text)
        case _:
            return ToolError(text)


def _text(result: mcp_types.CallToolResult) -> str:
    return "\n".join(filter(None, (_block_text(block) for block in result.content)))


def _block_text(block: mcp_types.ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents() as resource):
            return resource.text
        case mcp_types.EmbeddedResource():
            return f"[resource {block.resource.uri}, not text]"
        case mcp_types.ResourceLink():
            return f"[resource {block.name}: {block.uri}]"
        case mcp_types.AudioContent():
            return "[sound, which cannot be heard here]"
        case _:
            return ""


def _picture(name: str, block: mcp_types.ImageContent) -> Image.Image:
    try:
        raw = base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MachineError(f"tool {name} gave a picture that is not base64 ({error})") from error
    try:
        return decode_image(raw, f"the picture of tool {name}", SERVER_LIMITS)
    except MediaError as error:
        raise MachineError(str(error)) from error
