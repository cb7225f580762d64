"""One connection to an MCP server that all threads of a run share, made again when it breaks; its results read."""

import asyncio
import base64
import binascii
import contextlib
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import TypeVar

import mcp_types
from fastmcp import Client
from fastmcp.client.transports import ClientTransport
from PIL import Image

from mcp.shared.exceptions import MCPError
from saccade.errors import BrokenToolError, MachineError, ToolError
from saccade.interop.mcp.images import SERVER_LIMITS, UnknownImageError
from saccade.interop.mcp.server import MARK
from saccade.media.decode import MediaError, decode_image
from saccade.tools.tool import ToolOutput
from saccade.types import Json

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_POLICY_CODES = (mcp_types.INVALID_PARAMS, mcp_types.METHOD_NOT_FOUND)
"""By which servers answer calls that they do not understand."""

MAX_SILENCES = 3
"""Calls in a row, of any thread, without an answer: then the server is given up and connected to anew."""

FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 2.0
"""Before a broken call is repeated."""


class McpConnection:
    """Calls from any thread, answered by one event loop in a thread of its own; closed once, for good.

    ``describe`` names the server in errors. A call that broke with the connection is repeated up to ``retries`` times
    inside of its deadline, over a new connection.
    """

    def __init__(
        self, transport: Callable[[], ClientTransport], *, describe: str, start_s: float, retries: int
    ) -> None:
        self.describe = describe
        self._transport = transport
        self._start_s = start_s
        self._retries = retries
        self._opening: asyncio.Task[Client[ClientTransport]] | None = None
        """The connection, or the making of one."""
        self._closings: set[asyncio.Task[None]] = set()
        self._silences = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="saccade-mcp", daemon=True)
        self._thread.start()
        self._is_closed = False
        self._closing = threading.Lock()

    def list_tools(self) -> list[mcp_types.Tool]:
        """All tools, over all pages."""

        async def list_with(client: "Client[ClientTransport]") -> list[mcp_types.Tool]:
            return await client.list_tools()

        return self._with_retries(list_with, deadline_s=self._start_s)

    def call(self, name: str, arguments: Mapping[str, Json], *, deadline_s: float) -> mcp_types.CallToolResult:
        """``MachineError`` when no answer came in time, ``ToolError`` when the server does not understand the call."""

        async def call_with(client: "Client[ClientTransport]") -> mcp_types.CallToolResult:
            return await client.call_tool_mcp(name, dict(arguments))

        return self._with_retries(call_with, deadline_s=deadline_s)

    def close(self) -> None:
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        with contextlib.suppress(TimeoutError):
            self._submit(self._wind_up()).result(timeout=10.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _with_retries(
        self, operation: Callable[["Client[ClientTransport]"], Coroutine[None, None, Result]], *, deadline_s: float
    ) -> Result:
        if self._is_closed:
            raise MachineError(f"the connection to {self.describe} is closed")
        until = time.monotonic() + deadline_s
        wait_s = FIRST_WAIT_S
        for left in range(self._retries, -1, -1):
            try:
                return self._submit(self._once(operation, until)).result()
            except MachineError as error:
                if left == 0 or time.monotonic() + wait_s > until:
                    raise
                logger.info("%s; trying again", error)
            time.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise AssertionError("the last attempt returns or raises")

    async def _once(
        self, operation: Callable[["Client[ClientTransport]"], Coroutine[None, None, Result]], until: float
    ) -> Result:
        """``MachineError`` for whatever is not an answer; a connection that broke is dropped."""
        client: Client[ClientTransport] | None = None
        try:
            async with asyncio.timeout(until - time.monotonic()):
                client = await self._shared_client()
                result = await operation(client)
                self._silences = 0
                return result
        except TimeoutError as error:
            # The server may be busy with this call alone: the others keep their connection, unless it answers none.
            if client is None:
                raise MachineError(f"{self.describe} has not started yet") from error
            self._silences += 1
            if self._silences >= MAX_SILENCES:
                self._drop(client)
            raise MachineError(f"{self.describe} did not answer in time") from error
        except MCPError as error:
            if error.code in _POLICY_CODES:
                raise ToolError(error.message) from error
            self._drop(client)
            raise MachineError(f"{self.describe}: {error.message} (code {error.code})") from error
        except MachineError:
            raise
        # What a broken pipe, a refused connection or a dying process raise is for their packages to choose.
        except Exception as error:
            self._drop(client)
            raise MachineError(f"{self.describe}: {type(error).__name__}: {error}") from error

    async def _shared_client(self) -> "Client[ClientTransport]":
        """The client that all share. Starting a server may take longer than one call has: it goes on without it."""
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.create_task(self._open_client())
        return await asyncio.shield(opening)

    async def _open_client(self) -> "Client[ClientTransport]":
        client = Client(self._transport(), init_timeout=self._start_s)
        try:
            async with asyncio.timeout(self._start_s):
                await client.__aenter__()  # type: ignore[no-untyped-call]
        except TimeoutError as error:
            raise MachineError(f"{self.describe} did not start within {self._start_s:g} s") from error
        return client

    def _drop(self, client: "Client[ClientTransport] | None") -> None:
        """Only the connection that broke: another thread may have made a new one meanwhile."""
        opening = self._opening
        if client is None or opening is None or not opening.done() or opening.result() is not client:
            return
        self._opening = None
        self._silences = 0
        # Ending a process that does not listen takes seconds, for which no call waits.
        closing = asyncio.create_task(_close_client(client))
        self._closings.add(closing)
        closing.add_done_callback(self._closings.discard)

    async def _wind_up(self) -> None:
        if self._opening is not None:
            with contextlib.suppress(Exception):
                self._drop(await self._opening)
        await asyncio.gather(*self._closings)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _submit(self, operation: Coroutine[None, None, Result]) -> "Future[Result]":
        return asyncio.run_coroutine_threadsafe(operation, self._loop)


async def _close_client(client: "Client[ClientTransport]") -> None:
    with contextlib.suppress(Exception):
        await client.close()  # type: ignore[no-untyped-call]


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
        raise BrokenToolError(f"{error}; change the call") from error
