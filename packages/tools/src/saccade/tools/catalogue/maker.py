"""The maker of the catalogue's tools."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from saccade.chat.chat_model import API_KEY_VARIABLE
from saccade.codec.fields import Fields
from saccade.errors import UserError
from saccade.tools.catalogue.catalogue import build_tool, toolset
from saccade.tools.catalogue.settings import Backend, ToolSettings, read_tools_file
from saccade.tools.making import ToolBench, ToolMaker
from saccade.tools.reaches import Reach, option_reaches
from saccade.tools.tool import Tool


class CatalogueMaker(ToolMaker):
    """Makes tools of the catalogue, by name or of a ``tools.toml``."""

    def make(self, name: str, origin: Fields, bench: ToolBench, allowed: frozenset[str] | None = None) -> Tool:
        made = origin.fields("catalogue")
        backend, options = made.option("backend", get_args(Backend)), made.mapping("options")
        settings = ToolSettings(name=name, backend=backend, options=options, allowed=allowed)
        return build_tool(settings, _folder(made))

    def reaches(self, origin: Fields) -> Iterator[Reach]:
        made = origin.fields("catalogue")
        backend, options = made.text("backend"), made.mapping("options")
        yield from option_reaches(backend, options, _folder(made))
        if backend == "openai" and "api_key_env" not in options:
            yield Reach(kind="variable", value=API_KEY_VARIABLE, is_needed=False)

    def wished(self, wish: str, bench: ToolBench) -> Sequence[Tool]:
        if not wish.endswith(".toml"):
            return (build_tool(ToolSettings(name=wish)),)
        configured = toolset(read_tools_file(Path(wish)))
        for name, why in configured.left_out.items():
            raise UserError(f"--tools {wish}: {name} cannot be made: {why}")
        return configured.ready


def _folder(made: Fields) -> Path:
    return Path(made.text("folder") if made.has("folder") else ".")
