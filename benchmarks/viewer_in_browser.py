"""First rows on the screen of a new tab, and frames a second of a scrolled list, each beside an empty page.

    python benchmarks/viewer_in_browser.py --run FOLDER/run-100000 --cache FOLDER/cache --json RESULT.json
    ... --python before=OLD/bin/python --python now=NEW/bin/python    # two installations, interleaved

``FOLDER`` is what ``benchmarks/viewer_scale.py`` leaves, index included. A headless Chromium with one window is
running. For each start, ``saccade view`` is launched, a tab is opened as soon as it prints its address, as its own
opening of a browser would, and the time runs from the launch until the second frame after the first row is there. The
floor is the same for ``python -m http.server`` and a page of one line. Then the wheel turns over the list of
trajectories, and over an empty list of the same height. CPU seconds are of the browser with all its processes; of a
start they include the three seconds after it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page
from viewer_peers import chromium, cpu_s, scrolled
from viewer_start import write_spreads

ROW = ".row-item a"
PAINTED = """
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    if (!document.querySelector(SELECTOR)) return false;
    // What the first frame draws is painted when the second begins.
    const note = () => { window.paintedAt = performance.timeOrigin + performance.now(); };
    requestAnimationFrame(() => requestAnimationFrame(note));
    return true;
  };
  if (!look()) {
    const watch = new MutationObserver(() => look() && watch.disconnect());
    watch.observe(document, { childList: true, subtree: true });
  }
});
"""
"""Noted by the page itself: a browser that is asked again and again whether a row is there takes longer to show it."""
_SETTLES_S = 3.0
EMPTY_LIST = (
    "<!doctype html><title>empty</title><style>body { margin: 0 } div { height: 750px; overflow-y: auto } "
    "ol { margin: 0; height: 7600000px }</style><div tabindex=-1><ol><li>one</ol></div>"
)

Told = dict[str, float]


@contextmanager
def launched(
    command: Sequence[str], environment: dict[str, str], folder: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
        cwd=folder,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    """The address in the first line that a server prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return next(word.strip("()") for word in line.split() if "http://" in word)


def first_view(
    window: BrowserContext, command: Sequence[str], environment: dict[str, str], route: str, row: str
) -> Told:
    """From the launch of a server to what ``row`` selects being painted in a new tab."""
    before_s, started_s = browser_cpu_s(), time.time()
    with launched(command, environment) as process:
        address = address_of(process)
        told = {"announced_s": time.time() - started_s}
        page = window.new_page()
        page.add_init_script(PAINTED.replace("SELECTOR", json.dumps(row)))
        told["tab_s"] = time.time() - started_s
        page.goto(f"{address}{route}", wait_until="commit")
        told["page_s"] = time.time() - started_s
        page.wait_for_timeout(1000 * _SETTLES_S)
        painted_ms = float(page.evaluate("window.paintedAt"))
        told["painted_s"] = painted_ms / 1000 - started_s
        told["in_the_tab_s"] = (painted_ms - float(page.evaluate("performance.timeOrigin"))) / 1000
        told["browser_cpu_s"] = browser_cpu_s() - before_s
        page.close()
    return told


def browser_cpu_s() -> float:
    """CPU seconds of all processes of the browser below this one."""
    return sum(
        cpu_s(int(child)) for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    )


def frames(page: Page, row: str) -> Told:
    """Frames a second, and the browser's CPU time for each."""
    before_s = browser_cpu_s()
    found = scrolled(page, row)
    return {"frames_per_s": found, "cpu_ms_per_frame": 1000 * (browser_cpu_s() - before_s) / max(5 * found, 1)}


def scrolls(window: BrowserContext, python: str, run: Path, cache: dict[str, str], route: str) -> Told:
    with launched(view_command(python, run), cache) as process:
        page = window.new_page()
        page.goto(f"{address_of(process)}{route}")
        page.wait_for_selector(ROW)
        page.wait_for_timeout(2000)
        told = frames(page, ROW)
        page.close()
    return told


def empty_scrolls(window: BrowserContext) -> Told:
    page = window.new_page()
    page.set_content(EMPTY_LIST)
    told = frames(page, "li")
    page.close()
    return told


def view_command(python: str, run: Path) -> list[str]:
    return [python, "-m", "saccade", "view", str(run), "--port", "0", "--no-open"]


def route_of(python: str, run: Path, cache: dict[str, str]) -> str:
    """The list's place in an address; the index is complete then."""
    import urllib.request

    with launched(view_command(python, run), cache) as process:
        address = address_of(process)
        while True:
            with urllib.request.urlopen(f"{address}api/runs", timeout=120) as answer:
                [one] = json.load(answer)["runs"]
            if not one["indexing"]:
                return f"#/run/{one['id']}/list"
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where its index is")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PYTHON", help="by default this one")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--scrolls", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pythons = dict(pair.split("=", 1) for pair in options.python) or {"now": sys.executable}
    run, cache = options.run.absolute(), {"XDG_CACHE_HOME": str(options.cache.absolute())}
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        # A tab of a window that is open: a new window also loads Chromium's own page, some 300 modules, beside ours.
        window = browser.new_context(viewport={"width": 1400, "height": 900})
        window.new_page().wait_for_timeout(5000)
        (Path(folder) / "index.html").write_text("<!doctype html><title>empty</title><p>one line</p>")
        static = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder]
        route = route_of(next(iter(pythons.values())), run, cache)
        views: dict[str, Callable[[], Told]] = {
            "empty": lambda: first_view(window, static, {}, "", "p"),
            **{
                name: lambda python=python: first_view(window, view_command(python, run), cache, route, ROW)
                for name, python in pythons.items()
            },
        }
        moves: dict[str, Callable[[], Told]] = {
            "empty": lambda: empty_scrolls(window),
            **{
                name: lambda python=python: scrolls(window, python, run, cache, route)
                for name, python in pythons.items()
            },
        }
        for number in range(options.times + 1):
            for name, measure in views.items():
                # The first round fills the caches of the disk.
                for what, value in measure().items() if number else ():
                    found[name][what].append(value)
        for _ in range(options.scrolls):
            for name, measure in moves.items():
                for what, value in measure().items():
                    found[name][what].append(value)
    write_spreads({"run": run.name, "times": options.times, "scrolls": options.scrolls}, found, options.json)


if __name__ == "__main__":
    main()
