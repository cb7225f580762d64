"""Tools of a server as ``Tool`` objects, for environments and rollouts in any number of threads.

with RemoteTools("http://127.0.0.1:8400", token) as remote:
    env = VisualReasoningEnv(tools=remote.tools, family="attributes")
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from saccade.errors import ToolError, UserError
from saccade.media.store import MediaStore
from saccade.services.client.exchange import Exchange
from saccade.services.client.results import result_of, tools_of
from saccade.tools.arguments import Value
from saccade.tools.tool import BoundCall, Returned, Tool
from saccade.types import ImageRef, Json, ToolResult

MARGIN_S = 5.0
"""Margin of a tool's own deadline over the client's patience: the caller of the tool must not give up first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteCall(BoundCall):
    """A call that passed its checks here and is run elsewhere."""

    exchange: Exchange
    arguments: Mapping[str, Json]

    def run(self, media: MediaStore) -> ToolResult:
        """As ``BoundCall.run``; ``MachineError`` too when the server cannot be had."""
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
        self.tools: tuple[Tool, ...] = tuple(
            RemoteTool(
                spec=spec,
                parameters=parameters,
                function=_never_called,
                deadline_s=patience_s + MARGIN_S,
                exchange=self._exchange,
            )
            for spec, parameters in described
            if names is None or spec.name in names
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
