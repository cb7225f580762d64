"""Our tools as a server of the Model Context Protocol.

A tool's schema is its own but for ``image``: a client has no numbered pictures, so it names one by data URL, content
hash or path (``images.py``). Coordinates are in pixels of that picture. A result is its text, its pictures as PNG,
and structured content ``{"text", "data", "images": [{"hash", "width", "height"}]}``. A refused call is an error
result with the sentence that teaches; a tool that broke is one too, marked ``machine`` in its metadata.
"""

import asyncio
import base64
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence

from saccade.distribution import __version__
from saccade.errors import MachineError, ToolError, UserError, missing_extra
from saccade.interop.mcp.images import ReceivedImages, UnknownImageError
from saccade.media.store import MediaStore
from saccade.tools.arguments import checked_arguments
from saccade.tools.tool import Tool, check_names
from saccade.types import ImageRef, Json, ToolResult

try:
    import mcp_types
    from fastmcp import FastMCP
    from fastmcp.tools.base import Tool as McpTool
    from fastmcp.tools.base import ToolResult as McpResult
    from pydantic import PrivateAttr
    from starlette.requests import Request
    from starlette.responses import JSONResponse
except ImportError as error:
    raise missing_extra("interop", "fastmcp", needed_for="the Model Context Protocol") from error

MARK = "saccade"
"""The key of our metadata on tools and results; a client of ours reads it."""

IMAGE_FORMAT = "image"
"""The ``format`` of an argument that is a picture."""

MAX_RUNNING = 16
"""Tools at work at the same time; further calls wait, inside of their deadlines."""

RESULT_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "data": {"type": "object", "description": "what the tool found, for programs"},
        "images": {
            "type": "array",
            "description": "the pictures of the result; a hash names one in a later call",
            "items": {
                "type": "object",
                "properties": {"hash": {"type": "string"}, "width": {"type": "integer"}, "height": {"type": "integer"}},
                "required": ["hash", "width", "height"],
            },
        },
    },
    "required": ["text", "data", "images"],
}


def mcp_server(tools: Sequence[Tool], *, images: ReceivedImages | None = None, name: str = "saccade") -> FastMCP:
    """A server that offers ``tools``; by default it reads no paths.

    Over HTTP, ``POST /images`` takes a picture's bytes and answers its hash. ``UserError`` when there is no
    tool, or two of one name.
    """
    if not tools:
        raise UserError("there is no tool to offer; configure at least one")
    check_names(tools)
    received = images or ReceivedImages()
    server = FastMCP(name, instructions=_instructions(received), version=__version__)
    places = asyncio.Semaphore(MAX_RUNNING)
    for tool in tools:
        server.add_tool(_served_tool(tool, received, places))

    @server.custom_route("/images", methods=["POST"])
    async def take_image(request: Request) -> JSONResponse:
        """A picture too large for a message: its bytes as they are, answered by its hash."""
        raw = bytearray()
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > received.max_image_bytes:
                return JSONResponse({"error": f"more than {received.max_image_bytes} bytes"}, status_code=413)
        try:
            # In a thread: a large one would hold up all that the server does, and may wait for its share of memory.
            async with places:
                image = await asyncio.to_thread(received.add_encoded, received.store(), bytes(raw))
        except ToolError as error:
            return JSONResponse({"error": str(error)}, status_code=422)
        return JSONResponse(_image_fields(image))

    return server


class _Served(McpTool):
    """One tool of ours as the protocol's."""

    _tool: Tool = PrivateAttr()
    _images: ReceivedImages = PrivateAttr()
    _places: asyncio.Semaphore = PrivateAttr()

    async def run(self, arguments: dict[str, object]) -> McpResult:
        try:
            async with asyncio.timeout(self._tool.deadline_s):
                return await _in_thread(lambda: self._answer(arguments), self._places)
        except UnknownImageError as refusal:
            return _failure_result(str(refusal), "unknown_image")
        except ToolError as refusal:
            return _failure_result(str(refusal), "refused")
        except TimeoutError:
            return _failure_result(f"tool {self.name} took longer than {self._tool.deadline_s:g} s", "machine")
        except MachineError as failure:
            return _failure_result(str(failure), "machine")

    def _answer(self, arguments: Mapping[str, object]) -> McpResult:
        media = self._images.store()
        given: dict[str, Json] = dict(arguments)  # type: ignore[arg-type]  # they came as JSON
        shown_images: tuple[ImageRef, ...] = ()
        if _takes_image(self._tool):
            # The other arguments first: their errors are cheaper than decoding.
            others = [parameter for parameter in self._tool.parameters if parameter.kind != "image"]
            if "image" not in given:
                raise ToolError(f"the argument image is missing; it is {self._images.forms}")
            picture = given.pop("image")
            checked_arguments(given, others, 0)
            shown_images = (self._images.add_to(media, picture),)
        return self._result(self._tool.call(given, shown_images, media), media)

    def _result(self, result: ToolResult, media: MediaStore) -> McpResult:
        if not result.is_ok:
            raise ToolError(result.text)
        content: list[mcp_types.ContentBlock] = []
        if result.text:
            content.append(mcp_types.TextContent(type="text", text=result.text))
        for image in result.images:
            encoded = base64.b64encode(self._images.png(media, image)).decode("ascii")
            content.append(mcp_types.ImageContent(type="image", data=encoded, mime_type="image/png"))
            # Models mostly see no structured content, and need the hash to go on with the picture.
            content.append(mcp_types.TextContent(type="text", text=f"the picture's hash is {image.hash}"))
        structured = {
            "text": result.text,
            "data": dict(result.data),
            "images": [_image_fields(image) for image in result.images],
        }
        return McpResult(content=content, structured_content=structured)


def _served_tool(tool: Tool, images: ReceivedImages, places: asyncio.Semaphore) -> _Served:
    served = _Served(
        name=tool.name,
        description=tool.spec.description,
        parameters=_parameters(tool, images),
        output_schema=dict(RESULT_SCHEMA),
        # A tool of ours depends on its arguments alone and changes nothing.
        annotations=mcp_types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        meta={MARK: {"deadline_s": tool.deadline_s}},
    )
    served._tool, served._images, served._places = tool, images, places
    return served


def _parameters(tool: Tool, images: ReceivedImages) -> dict[str, object]:
    schema: dict[str, object] = dict(tool.spec.parameters)
    if not _takes_image(tool):
        return schema
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, Mapping)
    assert isinstance(required, Sequence)
    picture = {"type": "string", "format": IMAGE_FORMAT, "description": images.forms}
    return {**schema, "properties": {**properties, "image": picture}, "required": ["image", *required]}


def _takes_image(tool: Tool) -> bool:
    return any(parameter.kind == "image" for parameter in tool.parameters)


def _instructions(images: ReceivedImages) -> str:
    return (
        f"Tools that look at a picture. The argument image is {images.forms}. Points are [x, y] and boxes "
        "[x1, y1, x2, y2] in pixels of that picture; x grows to the right, y downwards."
    )


def _image_fields(image: ImageRef) -> dict[str, object]:
    return {"hash": image.hash, "width": image.width, "height": image.height}


def _failure_result(message: str, kind: str) -> McpResult:
    text = mcp_types.TextContent(type="text", text=message)
    return McpResult(content=[text], is_error=True, meta={MARK: {"failure": kind}})


async def _in_thread(operation: Callable[[], McpResult], places: asyncio.Semaphore) -> McpResult:
    """The result of ``operation``, without holding the loop up.

    In a daemon's thread, so that one that hangs does not keep the server from ending; it keeps its place until it ends.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[McpResult] = loop.create_future()
    await places.acquire()

    def settle(result: McpResult | None, failure: Exception | None) -> None:
        places.release()
        if future.cancelled():
            return
        if failure is not None:
            future.set_exception(failure)
        elif result is not None:
            future.set_result(result)

    def work() -> None:
        try:
            result, failure = operation(), None
        except Exception as error:
            result, failure = None, error
        # No call waits when the loop has ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="saccade-mcp-tool", daemon=True).start()
    return await future
