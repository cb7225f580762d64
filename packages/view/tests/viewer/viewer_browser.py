"""A browser without a window, and a viewer's own process, for tests of pages."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright

from warm import VIEWER, WarmProcess

CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
WAIT_MS = 180_000


def launched(playwright: Playwright) -> Browser:
    """The system's Chromium. Without one a user's machine skips these tests; continuous integration fails."""
    found = next((path for path in CHROMIUM if Path(path).exists()), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("continuous integration needs a Chromium: make chromium")
        pytest.skip("no Chromium on this machine: make chromium")
    return playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])


@contextmanager
def served(folder: Path, cache: Path) -> Iterator[str]:
    """The address of ``saccade view`` on a folder."""
    command = [sys.executable, "-m", "saccade", "view", str(folder), "--port", "0", "--no-open"]
    with WarmProcess(
        command,
        imported=VIEWER,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert line.startswith("Viewer: "), line
        try:
            yield line.removeprefix("Viewer: ").strip().rstrip("/")
        finally:
            process.terminate()
            process.wait(180)
            process.stdout.close()


@dataclass(kw_only=True)
class Watched:
    """A page whose messages and errors are kept."""

    page: Page
    messages: list[str] = field(default_factory=list)

    @staticmethod
    def of(browser: Browser, *, width: int = 1400, scheme: str = "light", has_touch: bool = False) -> "Watched":
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            has_touch=has_touch,
        )
        page.set_default_timeout(WAIT_MS)
        watched = Watched(page=page)
        page.on("console", lambda message: watched.messages.append(message.text))
        page.on("pageerror", lambda error: watched.messages.append(str(error)))
        page.on("dialog", lambda dialog: watched.messages.append(f"a dialog: {dialog.message}"))
        return watched

    def open(self, address: str) -> Page:
        self.page.goto(address)
        self.settled()
        return self.page

    def settled(self) -> None:
        """Until the page of the address is drawn."""
        self.page.wait_for_selector("#view:not([aria-busy])", state="attached")
        self.page.wait_for_selector("#view .page, #report", state="attached")

    def until(self, condition: Callable[[], bool]) -> None:
        """Asked again and again from here: a page's policy lets no text be evaluated in it."""
        for _ in range(WAIT_MS // 50):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("it never came to be")

    def until_indexed(self) -> None:
        """Until the list counts every file of its run: before that it counts those that have been read."""
        self.until(lambda: "indexing" not in self.page.locator(".matched").inner_text())

    @property
    def is_wider_than_the_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
