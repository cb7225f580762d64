"""The tools of any MCP server as ``Tool`` objects, for environments and rollouts."""

import base64
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from PIL import Image

from saccade.errors import MachineError, UserError, missing_extra
from saccade.interop.mcp.images import UnknownImageError
from saccade.interop.mcp.schema import ArgumentChecks, parameters_of_spec, taken_spec
from saccade.media.encode import png_bytes
from saccade.media.store import image_hash
from saccade.tools.arguments import Value, checked_arguments
from saccade.tools.page_search import bounded_search
from saccade.tools.tool import SEARCH_PAGES, BoundCall, Tool, ToolOutput
from saccade.types import ImageRef, Json

try:
    import httpx2
    import mcp_types
    from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport

    from saccade.interop.mcp.connection import McpConnection, tool_output
    from saccade.interop.mcp.server import IMAGE_FORMAT, MARK
except ImportError as error:
    raise missing_extra("interop", "fastmcp", needed_for="the Model Context Protocol") from error

MAX_INLINE_BYTES = 2 << 20
"""Limit of a picture inside a message over HTTP (servers take 4 MiB a message); a larger one is uploaded before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class McpTool(Tool):
    """A tool at a server; its arguments are held against the server's own schema and sent as they are."""

    checks: ArgumentChecks

    def bind(self, arguments: Mapping[str, Json], images: Sequence[ImageRef]) -> BoundCall:
        values = dict(arguments)
        image: ImageRef | None = None
        pictures = [parameter for parameter in self.parameters if parameter.kind == "image"]
        if pictures:
            number = {"image": values.pop("image")} if "image" in values else {}
            index = checked_arguments(number, pictures, len(images)).get("image", 1)
            assert isinstance(index, int)
            image = images[index - 1]
        self.checks.check(values)
        # The server takes any JSON, of which our own kinds of values are a part.
        sent: Mapping[str, Value] = values  # type: ignore[assignment]
        return BoundCall(tool=self, values=sent, image=image)


class McpTools:
    """The tools of one server, from the first use or ``with`` until ``close``; from as many threads as you like.

    ``server`` is a command that starts one on stdio, or the URL of one that runs (``http://host:port/mcp``). ``only``
    chooses tools by name; ``prefix`` is put before every name, where two servers have tools of the same. A picture of
    the episode goes into the argument that ``image_arguments`` names for a tool, as a data URL; servers of ours say
    themselves which it is, and get each picture once. A tool's deadline is what a server of ours says, otherwise
    ``deadline_s``.

    What broke with the connection (the server died, an answer never came) is tried ``retries`` times more over a new
    one, for a tool depends on its arguments alone; use 0 for servers of whose tools that is not true. Then it is a
    ``MachineError``. What the server refuses is a ``ToolError``, shown to the model.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        token: str | None = None,
        environment: Mapping[str, str] | None = None,
        only: Sequence[str] | None = None,
        prefix: str = "",
        image_arguments: Mapping[str, str] | None = None,
        deadline_s: float = 30.0,
        start_s: float = 30.0,
        retries: int = 2,
    ) -> None:
        if not server:
            raise UserError("no MCP server is named; give its URL, or the command that starts it")
        if isinstance(server, str) and not server.startswith(("http://", "https://")):
            raise UserError(f"server={server!r} is no URL; give http://… or, for a command, a list of its words")
        if isinstance(server, str) and environment:
            raise UserError("environment= is for a server that is started here; one with a URL has its own")
        if not (deadline_s > 0 and start_s > 0 and retries >= 0):
            raise UserError(
                f"deadline_s={deadline_s} and start_s={start_s} must be positive, retries={retries} 0 or more"
            )
        self._server = server
        self._token = token
        self._environment = dict(environment) if environment else None
        self._only = None if only is None else tuple(only)
        self._prefix = prefix
        self._image_arguments = dict(image_arguments or {})
        self._deadline_s, self._start_s, self._retries = deadline_s, start_s, retries
        self._connection: McpConnection | None = None
        self._tools: tuple[Tool, ...] | None = None
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, object]) -> "McpTools":
        """A connection is shared, never copied: environments that hold its tools may be copied freely."""
        return self

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The server's tools, in its order. ``MachineError`` when it cannot be reached."""
        with self._lock:
            if self._tools is None:
                listed = self._open().list_tools()
                self._tools = tuple(self._tool(tool) for tool in self._wanted_tools(listed))
            return self._tools

    def close(self) -> None:
        """Ends the connection, and the server where it was started here."""
        with self._lock:
            connection, self._connection, self._tools = self._connection, None, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        try:
            _ = self.tools
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> McpConnection:
        if self._connection is None:
            describe = self._server if isinstance(self._server, str) else " ".join(self._server)
            self._connection = McpConnection(
                self._transport, describe=f"the MCP server {describe}", start_s=self._start_s, retries=self._retries
            )
        return self._connection

    def _transport(self) -> ClientTransport:
        if isinstance(self._server, str):
            return StreamableHttpTransport(self._server, headers=self._headers())
        command, *words = self._server
        return StdioTransport(command, words, env=self._environment, keep_alive=False)

    def _headers(self) -> dict[str, str]:
        return {} if self._token is None else {"Authorization": f"Bearer {self._token}"}

    def _wanted_tools(self, listed: Sequence[mcp_types.Tool]) -> list[mcp_types.Tool]:
        names = [tool.name for tool in listed]
        for name in (*(self._only or ()), *self._image_arguments):
            if name not in names:
                raise UserError(f"the server has no tool {name!r}; it has {', '.join(names) or 'none'}")
        return [tool for tool in listed if self._only is None or tool.name in self._only]

    def _tool(self, listed: mcp_types.Tool) -> Tool:
        mark = (listed.meta or {}).get(MARK)
        image_argument = self._image_arguments.get(listed.name)
        if image_argument is None and isinstance(mark, Mapping):
            image_argument = _own_image_argument(listed.input_schema)
        spec = taken_spec(self._prefix + listed.name, listed.description or "", listed.input_schema, image_argument)
        deadline_s = mark.get("deadline_s") if isinstance(mark, Mapping) else None
        call = _Call(self, listed.name, image_argument, is_ours=isinstance(mark, Mapping), deadline_s=self._deadline_s)
        if isinstance(deadline_s, int | float) and deadline_s > 0:
            # Room for the way there and back, and for sending the picture.
            call.deadline_s = float(deadline_s) + 5.0
        tool = McpTool(
            spec=spec,
            parameters=parameters_of_spec(spec),
            function=call,
            deadline_s=call.deadline_s,
            checks=ArgumentChecks(spec),
        )
        return bounded_search(tool) if isinstance(mark, Mapping) and listed.name == SEARCH_PAGES else tool

    def connection(self) -> McpConnection:
        """The open connection; ``MachineError`` when there is none, or no longer."""
        connection = self._connection
        if connection is None:
            raise MachineError("the MCP server's tools are used after they were closed")
        return connection

    def upload(self, png: bytes) -> None:
        """Sends a picture to a server of ours by itself, outside of a message."""
        assert isinstance(self._server, str)
        try:
            reply = httpx2.post(
                httpx2.URL(self._server).join("/images"), content=png, headers=self._headers(), timeout=self._deadline_s
            )
            reply.raise_for_status()
        except httpx2.HTTPError as error:
            raise MachineError(f"the picture cannot be sent to {self._server}: {error}") from error

    @property
    def is_remote(self) -> bool:
        return isinstance(self._server, str)


class _Call:
    """The function of a tool: one call at the server."""

    def __init__(
        self, tools: McpTools, name: str, image_argument: str | None, *, is_ours: bool, deadline_s: float
    ) -> None:
        self._tools = tools
        self._name = name
        self._image_argument = image_argument
        self._is_ours = is_ours
        self.deadline_s = deadline_s

    def __call__(self, **arguments: object) -> ToolOutput:
        image = arguments.pop("image", None) if self._image_argument is not None else None
        sent: dict[str, Json] = dict(arguments)  # type: ignore[arg-type]  # checked JSON
        if not isinstance(image, Image.Image):
            return self._answer(sent)
        if self._is_ours:
            try:
                return self._answer({**sent, self._argument: image_hash(image)})
            except UnknownImageError:
                pass
        png = png_bytes(image)
        if self._is_ours and self._tools.is_remote and len(png) > MAX_INLINE_BYTES:
            self._tools.upload(png)
            return self._answer({**sent, self._argument: image_hash(image)})
        url = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
        return self._answer({**sent, self._argument: url})

    @property
    def _argument(self) -> str:
        assert self._image_argument is not None
        return self._image_argument

    def _answer(self, arguments: Mapping[str, Json]) -> ToolOutput:
        result = self._tools.connection().call(self._name, arguments, deadline_s=self.deadline_s)
        return tool_output(self._name, result, is_ours=self._is_ours)


def _own_image_argument(schema: Mapping[str, object]) -> str | None:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    marked = [
        key for key, value in properties.items() if isinstance(value, Mapping) and value.get("format") == IMAGE_FORMAT
    ]
    return str(marked[0]) if marked else None
