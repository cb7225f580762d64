from collections.abc import Iterator
from pathlib import Path

import pytest

from saccade.testing.chat_server import ChatServer, expert_reply
from saccade.testing.tiny_specialists import write_tools_file
from saccade.tools.catalogue.catalogue import toolset
from saccade.tools.catalogue.settings import ToolsFile, read_tools_file
from saccade.tools.tool import Tool


@pytest.fixture(scope="session")
def expert_server() -> Iterator[ChatServer]:
    with ChatServer(expert_reply) as server:
        yield server


@pytest.fixture(scope="session")
def tools_path(tmp_path_factory: pytest.TempPathFactory, expert_server: ChatServer) -> Path:
    return write_tools_file(tmp_path_factory.mktemp("tools"), expert_server.url)


@pytest.fixture(scope="session")
def tools_file(tools_path: Path) -> ToolsFile:
    return read_tools_file(tools_path)


@pytest.fixture(scope="session")
def all_tools(tools_file: ToolsFile) -> dict[str, Tool]:
    """Every tool that can be made, by name."""
    return {tool.name: tool for tool in toolset(tools_file).ready}
