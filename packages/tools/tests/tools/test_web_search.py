"""Recorded searches of the web as tools: what lies there is shown, in an episode that of its question alone."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import ToolError, UserError
from saccade.media.store import MediaStore
from saccade.testing import TINY_VIEW
from saccade.testing.tiny_specialists import tiny_recording
from saccade.tools.catalogue.catalogue import build_tool
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.tool import Episode, Tool
from saccade.types import Task

MEDIA = MediaStore()
PAGE = "https://example.org/final"


def tool(name: str, folder: Path, question: str | None = None, **options: int) -> Tool:
    """The tool of a configuration, in an episode where a question is named."""
    made = build_tool(ToolSettings(name=name, options={"recording": str(folder), **options}))
    episode = Episode(images=(), media=MEDIA, view=TINY_VIEW, seed=0, document=question)
    return made if question is None else made.within(episode)


def said(one: Tool, **arguments: str) -> str:
    return one.call(arguments, (), MEDIA).text


def test_a_recorded_search_and_its_page_are_shown(tmp_path: Path) -> None:
    folder = tiny_recording(tmp_path)
    search = tool("search_web", folder, "agentic-mme/0009")
    assert said(search, query=" when  is the FINAL ") == f"1. The final\n   {PAGE}\n   It is on 11 August."
    assert said(tool("read_web_page", folder, "agentic-mme/0009"), address=PAGE) == "The final is on 11 August 2024."
    assert said(tool("read_web_page", folder, "agentic-mme/0009", max_chars=9), address=PAGE) == "The final"
    assert search.origin == tool("search_web", folder).origin != {}


@pytest.mark.parametrize("question", ["agentic-mme/0010", "agentic-mme/", ""])
def test_what_was_recorded_for_another_question_is_not_shown(question: str, tmp_path: Path) -> None:
    folder = tiny_recording(tmp_path)
    with pytest.raises(ToolError, match="nothing was recorded for the argument query"):
        said(tool("search_web", folder, question), query="When is the final")
    with pytest.raises(ToolError, match="nothing was recorded for the argument address"):
        said(tool("read_web_page", folder, question), address=PAGE)


@pytest.mark.parametrize("query", ["when is the final?", "final", "", "0009", "*"])
def test_a_query_that_was_never_asked_is_refused(query: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="nothing was recorded for the argument query"):
        said(tool("search_web", tiny_recording(tmp_path), "agentic-mme/0009"), query=query)


def test_of_a_response_what_agentic_mme_shows_is_shown(tmp_path: Path) -> None:
    response = {
        "knowledgeGraph": {"title": "Chevrolet", "website": "https://c.org", "description": "A maker of cars"},
        "organic": [{"title": f"T{place}", "link": f"https://{place}.org", "snippet": "S"} for place in range(9)],
        "peopleAlsoAsk": [{"question": "Since when?", "snippet": "1911"}, "no object"],
        "credits": 1,
    }
    (tmp_path / "0009").mkdir()
    recorded = {"request": {"q": "cars"}, "response": response}
    (tmp_path / "0009/serper_search_1.json").write_text(json.dumps(recorded))
    lines = said(tool("search_web", tmp_path), query="cars").splitlines()
    assert [line for line in lines if line[0] != " "] == [
        "1. Chevrolet",
        *(f"{n + 2}. T{n}" for n in range(5)),
        "7. Since when?",
    ]
    assert lines[-2:] == ["   Since when?", "   1911"]


def test_mmsearchs_release_is_a_recording(tmp_path: Path) -> None:
    sites = {
        f"website{place}_info": {"title": f"T{place}", "snippet": "S", "url": f"https://{place}.org"}
        for place in range(8)
    }
    shots = {f"website{place}_head_screenshot": {"bytes": b"x"} for place in range(8)}
    pq.write_table(pa.Table.from_pylist([{"sample_id": "s_1", **sites, **shots}]), tmp_path / "rerank.parquet")
    page = {"sample_id": "s_1", "website_title": "T3", "website_retrieved_content": "On 11 August."}
    pq.write_table(pa.Table.from_pylist([page]), tmp_path / "summarization.parquet")
    search, read = (tool(name, tmp_path, "mmsearch/s_1") for name in ("search_web", "read_web_page"))
    assert said(search, query="anything").splitlines()[:2] == ["1. T0", "   https://0.org"]
    assert said(read, address="https://3.org") == "On 11 August."
    for address in ("https://2.org", "T3", ""):
        with pytest.raises(ToolError, match="nothing was recorded for the argument address"):
            said(read, address=address)
    with pytest.raises(ToolError, match="nothing was recorded for the argument query"):
        said(tool("search_web", tmp_path, "mmsearch/s_2"), query="anything")


def test_an_episode_searches_what_was_recorded_for_its_question(tmp_path: Path) -> None:
    folder = tiny_recording(tmp_path)
    tools = tuple(tool(name, folder) for name in ("search_web", "read_web_page"))
    env = VisualReasoningEnv(tools=tools, media=MEDIA, view=TINY_VIEW)

    def observed(document: str, *calls: str) -> list[str]:
        task = Task(id="t", family="f", question="When?", answer="a", answer_kind="exact", images=(), document=document)
        env.reset(options={"task": task})
        for call in calls:
            env.step(f"<tool_call>{call}</tool_call>")
        return [turn.observation.text for turn in env.turns if turn.observation is not None]

    asked = '{"name": "search_web", "arguments": {"query": "When is the final"}}'
    read = f'{{"name": "read_web_page", "arguments": {{"address": "{PAGE}"}}}}'
    found, page = observed("agentic-mme/0009", asked, read)
    assert PAGE in found
    assert "11 August 2024" in page
    assert all(
        "nothing was recorded" in one and "August" not in one for one in observed("agentic-mme/0010", asked, read)
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "cannot be read as JSON"), ("[]", "must be an object with the objects request and response")],
)
def test_a_damaged_recording_is_named(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\[tools.search_web\]: recording: .* holds no recorded search"):
        tool("search_web", tmp_path)
    (tiny_recording(tmp_path) / "0009/serper_search_2.json").write_text(text)
    with pytest.raises(UserError, match=f"serper_search_2.json: {why}"):
        tool("search_web", tmp_path)
