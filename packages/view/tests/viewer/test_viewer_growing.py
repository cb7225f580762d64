"""Pages that grow while they are read by keys: the focus stays, stages and runs appear, nothing comes too late."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright
from viewer_browser import Watched, launched, served
from viewer_fake_run import make_run, write_step

FIRST_STEP = 31


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


def focused(page: Page) -> str:
    """The address of the link, or the id of the field, that has the focus."""
    return str(page.evaluate("document.activeElement.getAttribute('href') ?? document.activeElement.id"))


def test_rows_below_the_first_page_keep_sight_and_focus_while_the_list_grows(browser: Browser, tmp_path: Path) -> None:
    root = make_run(tmp_path / "runs" / "one", n=24, status="running")
    for step in range(FIRST_STEP, FIRST_STEP + 4):
        write_step(root, step, group=60)
    with served(tmp_path / "runs", tmp_path / "cache") as address:
        watched = Watched.of(browser)
        page = watched.open(f"{address}/#/")
        href = page.locator("tbody th a").get_attribute("href")
        watched.open(f"{address}/{href}/list?stage=rl")
        watched.until_indexed()
        words = page.locator(".matched")
        before = int(words.inner_text().split()[0])
        assert before > 200
        page.locator(".row-item a").first.focus()
        page.keyboard.press("End")
        watched.until(lambda: focused(page).startswith("#/run/"))
        last = focused(page)
        place = page.evaluate("document.activeElement.closest('[data-place]').dataset.place")
        assert int(place) == before - 1
        write_step(root, FIRST_STEP + 4)
        watched.until(lambda: int(words.inner_text().split()[0]) == before + 4)
        assert focused(page) == last
        watched.until(lambda: page.locator(".row-item .loading").count() == 0)
        assert focused(page) == last
        place = page.evaluate("document.activeElement.closest('[data-place]').dataset.place")
        assert int(place) == before + 3
        assert watched.messages == []
        page.close()


def test_a_stage_that_begins_later_gets_its_curves_and_a_run_its_line(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with served(tmp_path / "runs", tmp_path / "cache") as address:
        watched = Watched.of(browser)
        page = watched.open(f"{address}/#/")
        assert "nothing was found" in page.locator("#view").inner_text()
        assert not page.locator("table").is_visible()
        root = make_run(tmp_path / "runs" / "one", n=24, status="running")
        link = page.locator("tbody th a")
        link.wait_for()
        box = page.get_by_label("compare one")
        box.focus()
        seen = page.locator("tbody td.numbers").inner_text()
        write_step(root, FIRST_STEP)
        watched.until(lambda: page.locator("tbody td.numbers").inner_text() != seen)
        assert focused(page).startswith("choose-")

        link.click()
        watched.settled()
        headings = page.locator(".all-curves h2")
        watched.until(lambda: "rl" in headings.all_inner_texts())
        page.evaluate("document.querySelector('.all-curves section').isTheSame = true")
        count = headings.count()
        write_step(root, 1, stage="rl_again")
        watched.until(lambda: headings.count() == count + 1)
        assert headings.last.inner_text() == "rl again"
        page.locator(".all-curves section").last.locator("canvas").first.wait_for()
        assert page.evaluate("document.querySelector('.all-curves section').isTheSame")
        assert watched.messages == []
        page.close()


def slowly(route: Route) -> None:
    time.sleep(0.6)
    route.continue_()


def test_enter_and_space_keep_a_mention_lit_and_a_late_search_leaves_another_page_alone(
    browser: Browser, tmp_path: Path
) -> None:
    root = make_run(tmp_path / "runs" / "one", n=24)
    write_step(root, FIRST_STEP)
    with served(tmp_path / "runs", tmp_path / "cache") as address:
        watched = Watched.of(browser)
        page = watched.open(f"{address}/#/")
        href = page.locator("tbody th a").get_attribute("href")
        watched.open(f"{address}/{href}/list?tool=crop")
        opened = page.locator(".row-item a").first.get_attribute("href")
        # The search is due while the page that follows is still being waited for.
        page.route(re.compile(r"/trajectories/[^/?]+$"), slowly)
        page.get_by_role("searchbox").press_sequentially("no")
        page.evaluate("address => { location.hash = address; }", opened)
        page.wait_for_selector(".scene-head")
        page.wait_for_timeout(600)
        assert page.evaluate("location.hash") == opened

        mention = page.locator(".mention").first
        region = page.locator(f".drawing [data-region='{mention.get_attribute('data-region')}']")
        for key in ("Enter", " "):
            mention.focus()
            page.keyboard.press(key)
            page.locator(".stage").focus()
            assert "lit" in (region.get_attribute("class") or "").split(), key
            page.keyboard.press("Escape")
            assert "lit" not in (region.get_attribute("class") or "").split(), key
        assert watched.messages == []
        page.close()
