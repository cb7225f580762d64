"""A folder of pages, indexed by the command line and searched from clients of the Model Context Protocol."""

import asyncio
import base64
import io
import os
import sys
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from PIL import Image
from test_mcp_server import free_port, wait_for

from saccade.errors import ToolError
from saccade.interop.mcp.client import McpTools
from saccade.media.store import MediaStore
from saccade.testing import TINY_VIEW
from saccade.testing.tiny_page_encoders import colqwen2
from saccade.tools import SearchTool
from saccade.tools.tool import Episode
from warm import WarmProcess, run_warm

SACCADE = [sys.executable, "-m", "saccade"]


@pytest.fixture(scope="module")
def tools_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp pages")
    (folder / "reports").mkdir()
    pages = [Image.new("RGB", (60, 80), color) for color in ("red", "green", "blue")]
    pages[0].save(folder / "reports/colours.pdf", save_all=True, append_images=pages[1:])
    pages[1].save(folder / "reports/green.png")
    colqwen2(folder / "encoder")
    command = [*SACCADE, "index", "reports", "--encoder", "encoder", "--out", "index"]
    run_warm(command, cwd=folder, check=True)
    (folder / "tools.toml").write_text('[tools.search_pages]\nindex = "index"\n')
    return folder / "tools.toml"


def test_a_foreign_client_is_shown_the_pages(tools_file: Path) -> None:
    async def searched() -> None:
        transport = StdioTransport(
            SACCADE[0], [*SACCADE[1:], "mcp", str(tools_file)], env=dict(os.environ), keep_alive=False
        )
        async with Client(transport) as client:
            (offered,) = await client.list_tools()
            assert offered.name == "search_pages"
            assert list(offered.input_schema["properties"]) == ["query", "k", "document"]
            found = await client.call_tool_mcp("search_pages", {"query": "green", "k": 2, "document": "colours.pdf"})
            text, *rest = found.content
            assert sorted(line.partition(":")[0][:-1] for line in text.text.splitlines()) == ["colours.pdf#"] * 2
            pictures = [one for one in rest if one.type == "image"]
            assert [Image.open(io.BytesIO(base64.b64decode(one.data))).size for one in pictures] == [(120, 160)] * 2
            refused = await client.call_tool_mcp("search_pages", {"query": "  "})
            assert refused.is_error
            assert "the argument query is empty" in refused.content[0].text

    asyncio.run(searched())


def test_our_client_keeps_to_the_questions_document(tools_file: Path) -> None:
    port = free_port()
    with WarmProcess([*SACCADE, "mcp", str(tools_file), "--http", "--port", str(port)]) as process:
        wait_for(port)
        with McpTools(f"http://127.0.0.1:{port}/mcp") as server:
            (tool,) = server.tools
            assert isinstance(tool, SearchTool)
            episode = Episode(images=(), media=MediaStore(), view=TINY_VIEW, seed=0, document="green.png")
            found = tool.within(episode).call({"query": "red", "k": 3}, (), episode.media)
            assert found.text == "green.png#1: image 1"
            with pytest.raises(ToolError, match=r"may only be green\.png here"):
                tool.within(episode).call({"query": "red", "document": "colours.pdf"}, (), episode.media)
        process.kill()


def test_a_server_without_its_index_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "tools.toml").write_text('[tools.search_pages]\nindex = "index"\n')
    done = run_warm([*SACCADE, "mcp", str(tmp_path / "tools.toml")])
    assert done.returncode == 2
    assert "is no index of pages" in done.stderr
