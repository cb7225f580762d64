"""A run that lives, dies and goes away while it is looked at; a picture zoomed to pixels; a box drawn on it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from viewer_browser import Watched, launched, served
from viewer_fake_run import make_run, write_step

from warm import VIEWER, WarmProcess

TRAINER = """
import sys, time
from pathlib import Path
from saccade.runs.directory import RunDirectory
with RunDirectory.create(Path(sys.argv[1]), resume=True, settings={}, judge=lambda changes: ()) as run:
    print("writing", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


def opened_run(watched: Watched, address: str) -> tuple[Page, str]:
    """The run's list, and the run's id."""
    page = watched.open(f"{address}/#/")
    link = page.locator("tbody th a").first
    run = (link.get_attribute("href") or "").rpartition("/")[2]
    return page, run


def test_a_run_that_is_killed_and_resumed_grows_without_a_jump_or_a_reload(browser: Browser, tmp_path: Path) -> None:
    root = make_run(tmp_path / "runs" / "one", n=24, status="running")
    for step in range(31, 37):
        write_step(root, step)
    with served(tmp_path / "runs", tmp_path / "cache") as address:
        watched = Watched.of(browser)
        page, run = opened_run(watched, address)
        trainer = [sys.executable, "-c", TRAINER, str(root)]
        with WarmProcess(trainer, imported=VIEWER, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            watched.open(f"{address}/#/run/{run}/list?stage=rl")
            page.evaluate("window.isTheSamePage = true")
            watched.until_indexed()
            scroller = page.locator(".scroller")
            scroller.evaluate("place => { place.scrollTop = 400; }")
            watched.until(lambda: page.locator(".row-item a").count() > 3)
            shown = first_in_sight(page)
            before = matched(page)
            write_step(root, 41)
            watched.until(lambda: matched(page) == before + 4)
            assert first_in_sight(page) == shown
            process.send_signal(signal.SIGKILL)
        with WarmProcess(trainer, imported=VIEWER, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            write_step(root, 42)
            watched.until(lambda: matched(page) == before + 8)
            assert first_in_sight(page) == shown
            assert page.evaluate("window.isTheSamePage")
            process.kill()
        assert watched.messages == []
        page.close()


def matched(page: Page) -> int:
    return int(page.locator(".matched").inner_text().split()[0].replace(",", ""))


def first_in_sight(page: Page) -> tuple[str | None, int]:
    """Which trajectory is the first in the list's window, and how far down it begins."""
    found = page.evaluate(
        """() => {
          const top = document.querySelector(".scroller").getBoundingClientRect().top;
          const all = [...document.querySelectorAll(".row-item")];
          const rows = all.map((row) => [row, row.getBoundingClientRect().top - top]);
          const [row, at] = rows.filter(([, at]) => at >= 0).sort((a, b) => a[1] - b[1])[0];
          return [row.querySelector("a")?.getAttribute("href"), Math.round(at)];
        }"""
    )
    return found[0], found[1]


def test_a_folder_that_is_deleted_and_a_viewer_that_ends_are_said_in_words(browser: Browser, tmp_path: Path) -> None:
    root = make_run(tmp_path / "runs" / "one", n=24)
    make_run(tmp_path / "runs" / "two", n=24)
    watched = Watched.of(browser)
    with served(tmp_path / "runs", tmp_path / "cache") as address:
        page, run = opened_run(watched, address)
        if page.locator("tbody th a").first.inner_text() != "one":
            run = (page.locator("tbody th a").last.get_attribute("href") or "").rpartition("/")[2]
        watched.open(f"{address}/#/run/{run}/list")
        row = page.locator(".row-item a").first
        row.wait_for()
        shutil.rmtree(root)
        page.locator(".note", has_text="is no longer there").wait_for()
        row.click()
        page.locator(".page.trouble").wait_for()
        assert "is no longer there" in page.locator(".page.trouble").inner_text()
        # The browser itself says in its console that an answer was 404.
        assert [one for one in watched.messages if "404" not in one] == []
    page.get_by_role("button", name="Try again").click()
    page.locator(".trouble", has_text="saccade view").wait_for()
    assert "does not answer" in page.locator(".page.trouble").inner_text()
    page.close()


def test_a_viewer_that_is_killed_and_started_again_is_found_by_its_page(browser: Browser, tmp_path: Path) -> None:
    root = make_run(tmp_path / "runs" / "one", n=24)
    port = free_port()
    watched = Watched.of(browser)
    with viewer_at(port, tmp_path) as process:
        page, run = opened_run(watched, f"http://127.0.0.1:{port}")
        watched.open(f"http://127.0.0.1:{port}/#/run/{run}/list?stage=rl")
        watched.until_indexed()
        before = matched(page)
        page.evaluate("window.isTheSamePage = true")
        process.send_signal(signal.SIGKILL)
        process.wait(180)
        page.locator(".note", has_text="does not answer").wait_for()
    write_step(root, 41)
    with viewer_at(port, tmp_path):
        watched.until(lambda: matched(page) == before + 4)
        assert page.evaluate("window.isTheSamePage")
        assert page.locator(".note", has_text="does not answer").count() == 0
        page.close()


def test_zooming_reaches_pixels_and_a_box_is_drawn_where_the_pointer_was(browser: Browser, tmp_path: Path) -> None:
    root = make_run(tmp_path / "runs" / "one", n=24)
    with served(tmp_path / "runs", tmp_path / "cache") as address:
        watched = Watched.of(browser)
        page, run = opened_run(watched, address)
        watched.open(f"{address}/#/run/{run}/list?stage=after_rl&tool=crop")
        page.locator(".row-item a").first.click()
        stage = page.locator(".look .stage").first
        stage.wait_for()
        page.locator("summary", has_text="Add a mark").click()
        page.get_by_role("button", name="Draw the correct box").click()
        stage.scroll_into_view_if_needed()
        start, end = (10.0, 12.0), (40.0, 30.0)
        (x1, y1), (x2, y2) = (on_screen(page, *point) for point in (start, end))
        page.mouse.move(x1, y1)
        page.mouse.down()
        page.mouse.move((x1 + x2) / 2, (y1 + y2) / 2)
        page.mouse.move(x2, y2)
        page.mouse.up()
        page.get_by_label("your name").fill("Ada")
        page.get_by_role("button", name="Mark", exact=True).click()
        page.wait_for_selector(".annotations li")
        [line] = (root / "annotations.jsonl").read_text().splitlines()
        box = json.loads(line)["box"]
        assert [box[side] for side in ("x1", "y1", "x2", "y2")] == [10, 12, 40, 30]
        stage.focus()
        for _ in range(20):
            page.keyboard.press("+")
        (left, top), (right, bottom) = (on_screen(page, *point) for point in ((0.0, 0.0), (1.0, 1.0)))
        assert right - left > 20
        assert abs((right - left) - (bottom - top)) < 0.01
        assert page.locator("svg.drawing.pixelated").count() == 1
        x, y = on_screen(page, *centre_pixel(page))
        page.mouse.move(x, y)
        wanted = "pixel {:.0f}, {:.0f}".format(*(side - 0.5 for side in centre_pixel(page)))
        assert page.locator(".readout").first.inner_text().startswith(wanted)
        assert (
            page.evaluate("getComputedStyle(document.querySelector('svg.drawing image')).imageRendering") == "pixelated"
        )
        assert watched.messages == []
        page.close()


def on_screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a place of the picture, in its pixels, stands in the window, by the browser's own geometry."""
    found = page.evaluate(
        """([x, y]) => {
          const drawing = document.querySelector("svg.drawing");
          const at = new DOMPoint(x, y).matrixTransform(drawing.getScreenCTM());
          return [at.x, at.y];
        }""",
        [x, y],
    )
    return found[0], found[1]


def centre_pixel(page: Page) -> tuple[float, float]:
    """The middle of the pixel in the middle of what is in sight."""
    x, y, width, height = (
        float(one) for one in (page.locator("svg.drawing").first.get_attribute("viewBox") or "").split()
    )
    return int(x + width / 2) + 0.5, int(y + height / 2) + 0.5


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def viewer_at(port: int, folder: Path) -> Iterator[WarmProcess]:
    command = [sys.executable, "-m", "saccade", "view", str(folder / "runs"), "--port", str(port), "--no-open"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    with WarmProcess(
        command, imported=VIEWER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Viewer: ")
        try:
            yield process
        finally:
            process.kill()
