"""Pages searched at a server: the catalogue's tool there, bounded by the question here."""

from pathlib import Path

import pytest
from PIL import Image
from served import Served

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, ToolError
from saccade.media.store import MediaStore
from saccade.services.client.remote_tools import RemoteTools
from saccade.testing import TINY_VIEW
from saccade.testing.tiny_specialists import write_tools_file
from saccade.tools.making import origin_of
from saccade.types import Task

QUESTION = Task(id="one", family="pages", question="?", answer="x", answer_kind="text", images=(), document="page2.png")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tmp_path_factory.mktemp("pages")
    written = write_tools_file(folder, "http://127.0.0.1:9").read_text()
    served = Served(folder)
    section = next(part for part in written.split("\n\n") if part.startswith("[tools.search_pages]"))
    served.file.write_text(f"[server]\nport = 0\n\n{section}\nmax_pages = 3\n")
    return served


def test_a_servers_pages_come_here_and_stay_in_the_questions_document(served: Served) -> None:
    media = MediaStore()
    with served, RemoteTools(served.url) as remote, RemoteTools(served.url, patience_s=0.3) as hasty:
        tool, soon_gone = remote.tool("search_pages"), hasty.tool("search_pages")
        assert origin_of(tool) == {"service": served.url}
        found = tool.call({"query": "a red circle", "k": 2}, (), media)
        assert len(found.images) == 2
        assert all(isinstance(media.get(image), Image.Image) for image in found.images)
        assert found.text.count("image") == 2
        for refused in ({"query": " "}, {"query": "red", "k": 4}, {"query": "red", "document": "none"}):
            with pytest.raises(ToolError):
                tool.call(refused, (), media)
        env = VisualReasoningEnv(tools=remote.tools, media=media, view=TINY_VIEW)
        env.reset(options={"task": QUESTION})
        for _ in range(2):
            env.step('<tool_call>{"name": "search_pages", "arguments": {"query": "red", "k": 3}}</tool_call>')
        first, again = [turn.observation for turn in env.turns]
        assert first is not None
        assert again is not None
        assert len(first.images) == 1
        assert "page2.png#1: image 1" in first.text
        assert not again.images
        assert "page2.png#1: image 1, shown before" in again.text
    with pytest.raises(MachineError):
        soon_gone.call({"query": "red"}, (), media)


def test_the_tools_file_says_what_the_index_lacks(served: Served, tmp_path: Path) -> None:
    from saccade.tools.catalogue import ToolSettings, build_tool, why_not

    folder = served.file.parent
    for options, said in (
        ({}, "needs index"),
        ({"index": str(tmp_path)}, "is no index of pages"),
        ({"index": "index", "encoder": "dino"}, "no encoder of pages|is no"),
        ({"index": "index", "first_stage": "32-int8"}, "--first-stage"),
    ):
        settings = ToolSettings(name="search_pages", options=options)
        why = why_not(settings, folder)
        if why is None:
            with pytest.raises(ValueError, match=rf"\[tools.search_pages\]: .*({said})"):
                build_tool(settings, folder)
        else:
            assert said in why
