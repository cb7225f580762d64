"""Tools of a server as ``Tool`` objects, for environments and rollouts in any number of threads.

with RemoteTools("http://127.0.0.1:8400", token) as remote:
    env = VisualReasoningEnv(tools=remote.tools, family="attributes")

The server is another machine: its answers are checked before they are used.
"""

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from saccade.codec.text import parsed_whole
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import MachineError, SaccadeError, ToolError, UserError
from saccade.media.store import MediaStore
from saccade.services.client.exchange import Exchange
from saccade.services.messages import MESSAGES, PictureBody, ResultBody, ServedTool, ToolsBody
from saccade.tools.arguments import Value
from saccade.tools.page_search import bounded_search
from saccade.tools.tool import SEARCH_PAGES, BoundCall, Returned, Tool
from saccade.types import ImageRef, Json, ToolResult, ToolSpec

MARGIN_S = 5.0
"""Margin of a tool's own deadline over the client's patience: the caller of the tool must not give up first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteCall(BoundCall):
    """A call that passed its checks here and is run elsewhere."""

    exchange: Exchange
    arguments: Mapping[str, Json]

    def run(self, media: MediaStore) -> ToolResult:
        """As ``BoundCall.run``; ``MachineError`` too when the server cannot be reached."""
        arguments = dict(self.arguments)
        images = list(self.images)
        # Only the image that is meant is sent, and then it is the first; unless the tool takes all of them.
        if self.image is not None and not images:
            images.append(self.image)
            arguments["image"] = 1
        answer = self.exchange.call(self.tool.name, arguments, images, media, call_id=uuid.uuid4().hex)
        return result_of(answer, media, self.exchange)


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteTool(Tool):
    """A ``Tool`` whose calls are run by a server."""

    exchange: Exchange

    def bind(self, arguments: Mapping[str, Json], images: Sequence[ImageRef]) -> RemoteCall:
        """The call, checked here by the same rules as at the server; ``ToolError`` when refused."""
        bound = Tool.bind(self, arguments, images)
        return RemoteCall(
            tool=self,
            values=bound.values,
            image=bound.image,
            images=bound.images,
            exchange=self.exchange,
            arguments=arguments,
        )


def _never_called(**values: Value) -> Returned:
    raise ToolError("a remote tool is called through its server")


class RemoteTools:
    """The tools of one server; safe to use from many threads, and to copy and pickle with an environment.

    ``token`` is what the server was started with. A call may take ``patience_s`` with all of its tries: a busy server
    and one that starts anew are waited for. ``names`` takes only these tools.
    """

    def __init__(
        self, url: str, token: str | None = None, *, patience_s: float = 60.0, names: Sequence[str] | None = None
    ) -> None:
        """Asks for the tools, and waits for a server that is starting; ``UserError``, ``MachineError``."""
        self._exchange = Exchange(url, token, patience_s=patience_s)
        try:
            served = tools_of(self._exchange.get("/tools"))
            unknown = sorted(set(names or ()) - {one.name for one in served})
            if unknown:
                known = ", ".join(one.name for one in served)
                raise UserError(f"{url} serves no tool {unknown[0]!r}; it serves {known}")
        except BaseException:
            self._exchange.close()
            raise
        remote = [
            RemoteTool(
                spec=ToolSpec(name=one.name, description=one.description, parameters=one.parameters),
                parameters=one.arguments,
                function=_never_called,
                deadline_s=patience_s + MARGIN_S,
                exchange=self._exchange,
                origin={"service": self._exchange.url},
            )
            for one in served
            if names is None or one.name in names
        ]
        self.tools: tuple[Tool, ...] = tuple(
            bounded_search(tool) if tool.name == SEARCH_PAGES else tool for tool in remote
        )

    def tool(self, name: str) -> Tool:
        """The tool of this name; ``UserError`` when it is not among ``tools``."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise UserError(f"there is no tool {name!r} here; there are {', '.join(tool.name for tool in self.tools)}")

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._exchange.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Knowing(Protocol):
    """A record of which images the server has."""

    def has_image(self, key: str) -> None: ...


def result_of(answer: bytes, media: MediaStore, server: Knowing) -> ToolResult:
    """The result, its pictures kept in ``media``; ``ToolError`` when the call was refused."""
    try:
        sent = MESSAGES.read(ResultBody, answer, "the result")
    except BrokenRecordError as error:
        raise MachineError(f"the server's result cannot be read: {error}") from error
    if sent.refused is not None:
        raise ToolError(sent.text)
    pictures = tuple(_picture(one, media) for one in sent.images)
    for picture in pictures:
        server.has_image(picture.hash)
    return ToolResult(text=sent.text, images=pictures, data=sent.data, is_ok=sent.is_ok)


def tools_of(answer: bytes) -> tuple[ServedTool, ...]:
    """The tools in a server's list; ``MachineError`` when it cannot be read."""
    try:
        parsed_whole(answer)
        return MESSAGES.read(ToolsBody, answer, "the list").tools
    except (BrokenRecordError, ValueError, RecursionError) as error:
        raise MachineError(f"the server's list of tools cannot be read: {error}; is it of another version?") from error


def _picture(sent: PictureBody, media: MediaStore) -> ImageRef:
    try:
        image = media.add_encoded(base64.b64decode(sent.png, validate=True), "a picture of a tool server")
    except (SaccadeError, ValueError) as error:
        raise MachineError(f"a picture of the server cannot be read: {error}") from error
    if image.hash != sent.hash:
        raise MachineError(f"the server sent the picture {image.hash} as {sent.hash}")
    return image
