"""Chat in a browser: a picture by drop and by paste, a stream, a stop, an edited turn, several samples, keys alone."""

import io
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from chat_servers import chatting, streaming_server
from hostile_texts import HOSTILE_TEXTS
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from viewer_browser import Watched, launched

from saccade.models import base_checkpoint
from saccade.runs.records import read_records
from saccade.types import Attempt

CALL = '<think>closer</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'
ANSWER = "<think>It is red.</think><answer>red</answer>"


LOOKED_AT = threading.Event()


def until_looked_at() -> Iterator[str]:
    """A reply that stands still in the middle until the test has looked at it."""
    yield from ("<think>", "word " * 20, "word " * 20)
    LOOKED_AT.wait(300)
    yield "</think><answer>red</answer>"


def without_end() -> Iterator[str]:
    """A reply that goes on until its client leaves."""
    yield "<think>"
    while True:
        yield "word " * 12


def reply(asked: str) -> str | Iterator[str]:
    """By what the question says: endless, waiting, hostile, or a crop and then an answer."""
    if "wait for me" in asked:
        return until_looked_at()
    if "endlessly" in asked:
        return without_end()
    if "hostile" in asked:
        return "<think>" + " \n".join(HOSTILE_TEXTS) + "</think><answer><img src=x onerror=window.__pwned=1></answer>"
    return ANSWER if "<think>closer</think>" in asked else CALL


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chat") / "run"


@pytest.fixture(scope="module")
def chat(out: Path) -> Iterator[str]:
    with streaming_server(reply) as server, chatting(out, server, "--server-model", "m", "--turns", "2") as address:
        yield address


def png(color: str = "red", size: tuple[int, int] = (64, 48)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, "PNG")
    return buffer.getvalue()


def record_files(out: Path) -> list[Path]:
    """Of all questions, without one that is still being written."""
    return sorted((out / "trajectories" / "chat").glob("step-*.jsonl"))


def records_of(out: Path) -> list[Attempt]:
    """Of the newest question."""
    return list(read_records(record_files(out)[-1]))


def ask(page: Page, question: str, samples: int = 1) -> None:
    # What was asked before is shown again to a page that is opened.
    page.locator(".lanes").evaluate("place => place.replaceChildren()")
    page.fill("textarea[name=question]", question)
    page.fill("input[name=samples]", str(samples))
    page.get_by_role("button", name="Ask", exact=True).click()


def until_kept(page: Page, count: int = 1) -> None:
    page.locator("a", has_text="open record").nth(count - 1).wait_for()


FOCUSED = "(({ ariaLabel, name, textContent }) => ariaLabel || name || textContent)(document.activeElement)"

DROP = """([bytes, how]) => {
  const file = new File([new Uint8Array(bytes)], "mine.png", { type: "image/png" });
  const carried = new DataTransfer();
  carried.items.add(file);
  const [target, event] = how === "drop"
    ? [document.querySelector(".drop"), new DragEvent("drop", { dataTransfer: carried, cancelable: true })]
    : [document, new ClipboardEvent("paste", { clipboardData: carried })];
  target.dispatchEvent(event);
}"""


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_a_picture_is_asked_about_and_its_crop_appears_where_it_came_from(
    browser: Browser, chat: str, out: Path, how: str
) -> None:
    watched = Watched.of(browser)
    page = watched.open(chat)
    page.locator(".chat-picture").evaluate("place => place.replaceChildren()")
    page.evaluate(DROP, [list(png("red" if how == "drop" else "green")), how])
    page.locator(".chat-picture img").wait_for()
    ask(page, f"What colour is it? ({how})")
    until_kept(page)
    assert "answered red" in " ".join(page.locator(".lanes .verdict").inner_text().split())
    assert page.locator(".lanes .look button.thumb").count() == 2
    assert page.locator(".lanes svg.drawing .region.asked").count() == 1
    [attempt] = records_of(out)
    assert attempt.trajectory.status == "answered"
    assert [turn.text for turn in attempt.trajectory.turns] == [CALL, ANSWER]
    page.locator("a", has_text="open record").click()
    page.locator(".page.trajectory .turn").nth(1).wait_for()
    assert watched.messages == []
    page.close()


def test_words_stream_and_a_stop_ends_the_trajectory_at_once_with_what_was_said(
    browser: Browser, chat: str, out: Path
) -> None:
    watched = Watched.of(browser)
    page = watched.open(chat)
    ask(page, "Talk endlessly.")
    live = page.locator(".live")
    watched.until(lambda: len(live.inner_text()) > 60)
    first = live.inner_text()
    watched.until(lambda: len(live.inner_text()) > len(first) + 60)
    assert live.inner_text().startswith(first.rstrip())
    page.get_by_role("button", name="Stop", exact=True).click()
    until_kept(page)
    assert "stopped by hand" in page.locator(".lanes").inner_text()
    [attempt] = records_of(out)
    assert attempt.trajectory.status == "token_limit"
    assert len(first) - 40 < len(attempt.trajectory.turns[0].text)
    assert page.get_by_role("button", name="Stop", exact=True).is_disabled()
    assert watched.messages == []
    page.close()


def test_axe_finds_nothing_while_words_stream(browser: Browser, chat: str) -> None:
    watched = Watched.of(browser)
    page = watched.open(chat)
    ask(page, "Talk, and wait for me.", samples=2)
    for lane in (0, 1):
        watched.until(lambda lane=lane: page.locator(".live").nth(lane).inner_text().count("word") == 40)  # type: ignore[misc]
    for width, scheme in ((1400, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert not watched.is_wider_than_the_window
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.get_by_role("button", name="Stop", exact=True).is_enabled()
    assert page.get_by_role("status").filter(has_text="2 samples running.").count() == 1
    LOOKED_AT.set()
    until_kept(page, 2)
    assert watched.messages == []
    page.close()


def test_a_page_that_leaves_ends_its_samples_and_one_that_is_loaded_again_goes_on(
    browser: Browser, chat: str, out: Path
) -> None:
    watched = Watched.of(browser)
    page = watched.open(chat)
    ask(page, "Talk endlessly, and I reload.")
    watched.until(lambda: len(page.locator(".live").inner_text()) > 60)
    page.reload()
    watched.settled()
    watched.until(lambda: len(page.locator(".live").inner_text()) > 120)
    assert page.locator("textarea[name=question]").input_value() == "Talk endlessly, and I reload."
    before = len(record_files(out))
    page.goto("about:blank")
    watched.until(lambda: len(record_files(out)) == before + 1)
    [left] = records_of(out)
    assert "stopped by hand" in left.trajectory.failure, left
    page.close()


def test_a_turn_is_edited_and_the_rest_is_sampled_again_twice(browser: Browser, chat: str, out: Path) -> None:
    watched = Watched.of(browser)
    page = watched.open(chat)
    page.set_input_files("input[type=file]", {"name": "p.png", "mimeType": "image/png", "buffer": png()})
    page.locator(".chat-picture img").wait_for()
    ask(page, "What colour is the edited one?")
    until_kept(page)
    page.locator("summary", has_text="Edit a turn").click()
    edited = CALL.replace("500, 500", "900, 250")
    page.get_by_label("Turn 1", exact=True).fill(edited)
    page.fill("input[name=samples]", "2")
    page.get_by_role("button", name="Continue after turn 1").click()
    until_kept(page, 2)
    assert page.locator(".lanes > article").count() == 2
    both = records_of(out)
    assert [one.trajectory.turns[0].text for one in both] == [edited] * 2
    assert [one.trajectory.turns[-1].text for one in both] == [ANSWER] * 2
    assert [one.trajectory.sample for one in both] == [0, 1]
    boxes = [box.bounding_box() for box in page.locator(".lanes > article").all()]
    places = [(box["x"], box["y"]) for box in boxes if box]
    assert places == sorted(places)
    assert len({y for _, y in places}) == 1
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert watched.messages == []
    page.close()


def test_hostile_words_are_words_while_they_stream_and_after(browser: Browser, chat: str, out: Path) -> None:
    watched = Watched.of(browser, width=390, scheme="dark")
    page = watched.open(chat)
    ask(page, "Be hostile.")
    watched.until(lambda: "<" in page.locator(".live").inner_text())
    until_kept(page)
    assert page.evaluate("window.__pwned") is None
    assert page.locator(".lanes .words img, .lanes script, .lanes iframe, .lanes .words svg").count() == 0
    assert not watched.is_wider_than_the_window
    assert "⟨U+202E⟩" in page.locator(".lanes").inner_text()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert watched.messages == []
    assert len(records_of(out)) == 1
    page.close()


def test_the_keyboard_alone_asks_a_checkpoint_that_streams_its_own_tokens(browser: Browser, tmp_path: Path) -> None:
    """The untrained base model: it rambles up to its limit, with log-probabilities that the record keeps."""
    path = tmp_path / "mine.png"
    path.write_bytes(png())
    out = tmp_path / "run"
    short = ("--turns", "1", "--set", "rollout.max_turn_tokens=48", "--temperature", "1")
    with chatting(out, str(base_checkpoint()), "--picture", str(path), *short) as address:
        watched = Watched.of(browser)
        page = watched.open(address)

        def tab_to(name: str) -> None:
            for _ in range(60):
                page.keyboard.press("Tab")
                focused = page.evaluate(FOCUSED)
                if focused == name:
                    return
            raise AssertionError(f"Tab never came to {name}")

        tab_to("use this picture")
        page.keyboard.press("Enter")
        tab_to("question")
        page.keyboard.type("What is it?")
        tab_to("samples")
        page.keyboard.press("ArrowUp")
        tab_to("Ask")
        page.keyboard.press("Enter")
        watched.until(lambda: page.locator(".lanes > article").count() == 2)
        until_kept(page, 2)
        assert watched.messages == []
        page.close()
    both = records_of(out)
    assert len(both) == 2
    # Two draws may come out alike; each is made with a seed of its own.
    assert both[0].trajectory.seed != both[1].trajectory.seed
    actions = [one for attempt in both for one in attempt.trajectory.segments if one.role == "action"]
    assert all(len(one.ids) == len(one.logprobs) > 0 for one in actions)
    assert json.loads((out / "run.json").read_text())["status"] == "finished"
    assert re.search(r"\d", (out / "checkpoints" / "chat" / "tokenizer.json").read_text())
    assert (out / "index" / "trajectories" / "chat" / "step-000001.arrow").exists()
