"""Tools of a server as ``Tool`` objects, for environments and rollouts in any number of threads.

with RemoteTools("http://127.0.0.1:8400", token) as remote:
    env = VisualReasoningEnv(tools=remote.tools, family="attributes")

The server is another machine: its answers are checked before they are used.
"""

import base64
import binascii
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, get_args

from saccade.errors import MachineError, SaccadeError, ToolError, UserError
from saccade.media.store import MediaStore
from saccade.services.client.exchange import Exchange
from saccade.tools.arguments import Value
from saccade.tools.page_search import SEARCH_PAGES, bounded_search
from saccade.tools.schema import Parameter, ParameterKind
from saccade.tools.tool import BoundCall, Returned, Tool
from saccade.types import ImageRef, Json, ToolResult, ToolSpec

MARGIN_S = 5.0
"""Margin of a tool's own deadline over the client's patience: the caller of the tool must not give up first."""

Described = tuple[ToolSpec, tuple[Parameter, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteCall(BoundCall):
    """A call that passed its checks here and is run elsewhere."""

    exchange: Exchange
    arguments: Mapping[str, Json]

    def run(self, media: MediaStore) -> ToolResult:
        """As ``BoundCall.run``; ``MachineError`` too when the server cannot be reached."""
        arguments = dict(self.arguments)
        images: list[ImageRef] = []
        # Only the image that is meant is sent, and then it is the first.
        if self.image is not None:
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
            tool=self, values=bound.values, image=bound.image, exchange=self.exchange, arguments=arguments
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
            described = tools_of(self._exchange.get_json("/tools"))
            unknown = sorted(set(names or ()) - {spec.name for spec, _ in described})
            if unknown:
                known = ", ".join(spec.name for spec, _ in described)
                raise UserError(f"{url} serves no tool {unknown[0]!r}; it serves {known}")
        except BaseException:
            self._exchange.close()
            raise
        remote = [
            RemoteTool(
                spec=spec,
                parameters=parameters,
                function=_never_called,
                deadline_s=patience_s + MARGIN_S,
                exchange=self._exchange,
            )
            for spec, parameters in described
            if names is None or spec.name in names
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Knowing(Protocol):
    """A record of which images the server has."""

    def has_image(self, key: str) -> None: ...


def result_of(answer: Json, media: MediaStore, server: Knowing) -> ToolResult:
    """The result, its pictures kept in ``media``; ``ToolError`` when the call was refused."""
    try:
        content = _table(answer)
        text = str(content["text"])
        if content["refused"] is not None:
            raise ToolError(text)
        data = _table(content["data"])
        pictures = tuple(_picture(_table(one), media) for one in _list(content["images"]))
        is_ok = content["is_ok"] is True
    except (KeyError, TypeError, ValueError) as error:
        raise MachineError(f"the server's result cannot be read: {error!r}") from error
    for picture in pictures:
        server.has_image(picture.hash)
    return ToolResult(text=text, images=pictures, data=data, is_ok=is_ok)


def tools_of(answer: Json) -> list[Described]:
    """The tools in a server's list; ``MachineError`` when it cannot be read."""
    try:
        return [_tool(_table(one)) for one in _list(_table(answer)["tools"])]
    except (KeyError, TypeError, ValueError) as error:
        raise MachineError(
            f"the server's list of tools cannot be read: {error!r}; is it of another version?"
        ) from error


def _tool(about: Mapping[str, Json]) -> Described:
    spec = ToolSpec(
        name=str(about["name"]), description=str(about["description"]), parameters=_table(about["parameters"])
    )
    return spec, tuple(_parameter(_table(one)) for one in _list(about["arguments"]))


def _parameter(about: Mapping[str, Json]) -> Parameter:
    kinds: dict[str, ParameterKind] = {kind: kind for kind in get_args(ParameterKind)}
    return Parameter(
        name=str(about["name"]),
        kind=kinds[str(about["kind"])],
        choices=tuple(str(choice) for choice in _list(about["choices"])),
        description=str(about["description"]),
        is_required=about["is_required"] is True,
        default=about["default"],
        max_chars=int(str(about["max_chars"])),
    )


def _picture(about: Mapping[str, Json], media: MediaStore) -> ImageRef:
    try:
        raw = base64.b64decode(str(about["png"]), validate=True)
        image = media.add_encoded(raw, "a picture of a tool server")
    except (SaccadeError, binascii.Error) as error:
        raise MachineError(f"a picture of the server cannot be read: {error}") from error
    if image.hash != about["hash"]:
        raise MachineError(f"the server sent the picture {image.hash} as {about['hash']}")
    return image


def _table(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{str(value)[:80]!r} is no object")
    return value


def _list(value: Json) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{str(value)[:80]!r} is no list")
    return value
