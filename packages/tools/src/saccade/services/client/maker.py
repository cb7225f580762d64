"""The maker of a tool service's tools."""

import os
from collections.abc import Iterator, Sequence

from saccade.codec.fields import Fields
from saccade.services.client.configured import TOKEN_VARIABLE
from saccade.services.client.remote_tools import RemoteTools
from saccade.tools.making import ToolBench, ToolMaker
from saccade.tools.reaches import Reach
from saccade.tools.tool import Tool


class ServiceMaker(ToolMaker):
    """Makes tools of the service at an address, which is asked for its tools once in a run.

    It gets the token if the user's own command, or a run of his, has named it, or he allows it.
    """

    def make(self, name: str, origin: Fields, bench: ToolBench, allowed: frozenset[str] | None = None) -> Tool:
        with_token = allowed is None or f"env:{TOKEN_VARIABLE}" in allowed
        return _service(origin.text("service"), bench, with_token=with_token).tool(name)

    def reaches(self, origin: Fields) -> Iterator[Reach]:
        yield Reach(kind="address", value=origin.text("service"))
        yield Reach(kind="variable", value=TOKEN_VARIABLE, is_needed=False)

    def wished(self, wish: str, bench: ToolBench) -> Sequence[Tool]:
        is_address = wish.startswith(("http://", "https://"))
        return _service(wish, bench, with_token=True).tools if is_address else ()


def _service(url: str, bench: ToolBench, *, with_token: bool) -> RemoteTools:
    token = os.environ.get(TOKEN_VARIABLE) if with_token else None
    return bench.shared(RemoteTools, f"{with_token} {url}", lambda: RemoteTools(url, token))
