"""Search for pages as a tool: bounded by the question, each picture once, and nothing that pays but searching."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, ToolError, UserError
from saccade.media.store import MediaStore
from saccade.retrieval import PageRetriever, build_index, open_index, retrieved_pages
from saccade.testing import TINY_VIEW, check_tool
from saccade.testing.color_encoder import COLORS, ColorEncoder
from saccade.tools import SearchTool, bounded_search, search_tool
from saccade.tools.tool import Episode, Tool
from saccade.types import ImageRef, Json, Page, Task, ToolResult


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for document, colors in {"a": ("red", "green", "blue"), "b": ("red", "yellow"), "c\nd": ("black",)}.items():
        (folder / document).mkdir()
        for number, color in enumerate(colors):
            side = 60 + 4 * number + 20 * (document == "b")
            Image.new("RGB", (side, 64), COLORS[color]).save(folder / document / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def pages(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> PageRetriever:
    index = tmp_path_factory.mktemp("index")
    build_index(folder, ColorEncoder(), index)
    return PageRetriever(open_index(index), ColorEncoder())


def found(tool: Tool, media: MediaStore, seen: Sequence[ImageRef] = (), **arguments: Json) -> ToolResult:
    return tool.call(arguments, seen, media)


def asked(document: str | None = None, corpus: str | None = None) -> Task:
    return Task(
        id="one",
        family="pages",
        question="green or red",
        answer="secret",
        answer_kind="text",
        images=(),
        corpus=corpus,
        document=document,
        gold_pages=(Page(document="a", number=2),),
    )


def within(tool: SearchTool, task: Task) -> SearchTool:
    episode = Episode(images=(), media=MediaStore(), view=TINY_VIEW, seed=0, corpus=task.corpus, document=task.document)
    return tool.within(episode)


def names(result: ToolResult) -> list[str]:
    listed = result.data["pages"]
    assert isinstance(listed, Sequence)
    return [str(one["page"]) for one in listed]  # type: ignore[index, call-overload]


def test_the_best_pages_come_as_images_under_their_names(pages: PageRetriever) -> None:
    media, tool = MediaStore(), search_tool(pages)
    result = found(tool, media, query="green", k=2)
    assert result.text.splitlines()[0] == "a#2: image 1"
    assert [media.get(image).size for image in result.images] == [
        pages.index.picture(Page.read(name)).size for name in names(result)
    ]
    assert names(found(tool, media, query="black", k=1)) == ["c\nd#1"]
    assert found(tool, media, query="black", k=1).text == "c\\nd#1: image 1"
    assert names(found(tool, media, query="red", document="b", k=10)) == ["b#1", "b#2"]
    check_tool(tool, [{"query": "green"}, {"query": "red", "k": 2, "document": "a"}])


def test_a_page_that_was_shown_is_named_by_its_image(pages: PageRetriever) -> None:
    media, tool = MediaStore(), search_tool(pages)
    first = found(tool, media, query="green", k=1)
    crop = media.add(Image.new("RGB", (5, 5)))
    again = found(tool, media, (crop, *first.images), query="green or blue", k=2, document="a")
    assert again.text == "a#3: image 3\na#2: image 2, shown before"
    assert len(again.images) == 1
    assert [one["is_new"] for one in again.data["pages"]] == [True, False]  # type: ignore[union-attr, index, call-overload]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "the argument query is missing"),
        ({"query": " \n"}, "the argument query is empty"),
        ({"query": "x" * 501}, "the argument query is"),
        ({"query": "green", "k": 0}, "the argument k is 0, but it must be from 1 to 5"),
        ({"query": "green", "k": 6}, "must be from 1 to 5"),
        ({"query": "green", "document": "A"}, "the argument document names no document .* mean a?"),
    ],
)
def test_a_bad_query_is_an_observation(pages: PageRetriever, arguments: dict[str, Json], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        search_tool(pages, max_pages=5).call(arguments, (), MediaStore())


def test_no_words_lead_out_of_the_questions_document(pages: PageRetriever) -> None:
    tool = within(search_tool(pages), asked("b"))
    assert set(names(found(tool, MediaStore(), query="green", k=10))) == {"b#1", "b#2"}
    assert names(found(tool, MediaStore(), query="yellow", k=1, document="b")) == ["b#2"]
    with pytest.raises(ToolError, match="the argument document may only be b here"):
        found(tool, MediaStore(), query="green", document="a")
    assert len(names(found(within(search_tool(pages), asked()), MediaStore(), query="green", k=10))) == 6


def test_a_scope_that_is_not_searched_is_an_error_before_the_first_call(pages: PageRetriever) -> None:
    with pytest.raises(UserError, match="'z', which the index of search_pages does not have"):
        within(search_tool(pages), asked("z"))
    with pytest.raises(UserError, match="needs the corpus 'decks', but search_pages has 'reports'"):
        within(search_tool(pages, corpus="reports"), asked(corpus="decks"))
    assert within(search_tool(pages, corpus="decks"), asked(corpus="decks")).document is None
    with pytest.raises(UserError, match="max_pages=17 is out of range"):
        search_tool(pages, max_pages=17)


class Breaking(ColorEncoder):
    """Refuses one query, and cannot do another."""

    def encode_questions(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        if texts[0] == "refuse":
            raise UserError("answers 400: too long")
        if texts[0] == "break":
            raise RuntimeError("out of memory")
        if texts[0] == "?" and self.pages:
            raise MachineError("the server is gone")
        return super().encode_questions(texts)


def test_the_encoders_refusal_is_the_querys_and_its_failure_the_machines(pages: PageRetriever) -> None:
    tool = search_tool(PageRetriever(pages.index, Breaking()))
    with pytest.raises(ToolError, match="the argument query cannot be searched for"):
        found(tool, MediaStore(), query="refuse")
    with pytest.raises(MachineError, match="out of memory"):
        found(tool, MediaStore(), query="break")
    gone = Breaking()
    gone.pages = 1
    with pytest.raises(MachineError, match="the server is gone"):
        search_tool(PageRetriever(pages.index, gone))


def test_an_episode_searches_its_document_and_goes_on_in_a_copy(pages: PageRetriever) -> None:
    media = MediaStore()
    (task,) = retrieved_pages([asked("a")], pages.index, pages.encoder, 1, media=media)
    env = VisualReasoningEnv(tools=(search_tool(pages),), media=media, view=TINY_VIEW)
    env.reset(options={"task": task})
    assert all("secret" not in str(message) and "a#2" not in str(message) for message in env.prompt)
    other = copy.deepcopy(env)

    def search(env: VisualReasoningEnv, query: str, document: str = "") -> str:
        arguments = f'{{"query": "{query}", "k": 2, "document": "{document}"}}'
        env.step(f'<tool_call>{{"name": "search_pages", "arguments": {arguments}}}</tool_call>')
        shown = env.turns[-1].observation
        assert shown is not None
        return shown.text

    assert "shown before" in search(env, "green red")
    assert len(env.images) == 2
    assert "may only be a here" in search(env, "green", "b")
    assert "image 2" in search(other, "blue red")
    assert {image.width for image in env.images} <= {60, 64, 68}


def test_a_search_from_afar_is_bounded_here(pages: PageRetriever) -> None:
    served = search_tool(pages).search
    tool = bounded_search(served)
    assert names(found(within(tool, asked("b")), MediaStore(), query="green", k=9)) == ["b#2", "b#1"]
    with pytest.raises(MachineError, match="cannot find the question's document"):
        found(within(tool, asked("z")), MediaStore(), query="green")
    lying = bounded_search(replace(served, function=lambda **_: "no pages"))
    assert found(lying, MediaStore(), query="green").text == "no page was found"
    lying = bounded_search(replace(served, function=lambda **_: Image.new("RGB", (9, 9))))
    with pytest.raises(MachineError, match="returned 1 images for 0 pages"):
        found(lying, MediaStore(), query="green")


def test_copies_of_a_page_fill_no_places(tmp_path: Path) -> None:
    for document, color in (("first", "red"), ("second", "red"), ("third", "red"), ("other", "green")):
        (tmp_path / "pages" / document).mkdir(parents=True)
        Image.new("RGB", (60, 64), COLORS[color]).save(tmp_path / "pages" / document / "0.png")
    build_index(tmp_path / "pages", ColorEncoder(), tmp_path / "index")
    pages = PageRetriever(open_index(tmp_path / "index"), ColorEncoder())
    assert names(found(search_tool(pages), MediaStore(), query="red", k=2)) == ["first#1", "other#1"]
    assert [len(pages.search("red", k)) for k in (1, 2, 4)] == [1, 2, 2]
    assert names(found(search_tool(pages), MediaStore(), query="red", k=2, document="third")) == ["third#1"]
