"""Pictures of the viewer's pages for docs/viewer.md, taken from runs of the demo, CodeDance, iVGR and VISTA-R1.

    .venv/bin/python benchmarks/viewer_screens.py --runs runs --out docs/screens

``--runs`` holds the folders ``demo``, ``codedance``, ``ivgr`` and ``vista_r1``. Needs a Chromium: ``make chromium``.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

_COLORS = 200
_WIDTH_PX = 1100


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """One picture: the page of a run, at a window's size."""

    name: str
    run: str
    route: str
    """``{id}`` is the first trajectory of ``filter``."""
    filter: str = ""
    width: int = 1400
    height: int = 950
    scheme: str = "light"
    heat: str = ""
    heading: str = ""
    """Words of the heading that stands at the top of the picture."""
    checked: str = ""
    """Label of a box that is ticked."""


SCREENS = (
    Screen(name="list", run="demo", route="list?right=0&stage=rl", height=760),
    Screen(name="wrong", run="demo", route="t/{id}", filter="right=0&tool=crop&stage=rl&sort=-advantage"),
    Screen(
        name="heat", run="demo", route="t/{id}", filter="right=0&tool=crop&stage=rl&step_max=10", heat="probability"
    ),
    Screen(
        name="evidence",
        run="demo",
        route="t/{id}",
        filter="right=0&tool=crop&stage=after_rl",
        height=1060,
        checked="darken what no call returned",
    ),
    Screen(name="phone", run="demo", route="t/{id}", filter="right=0&tool=crop&stage=rl", width=390, scheme="dark"),
    Screen(name="curves", run="demo", route="", height=1100),
    Screen(name="evaluations", run="demo", route="", height=620),
    Screen(name="codedance", run="codedance", route="t/{id}", filter="right=0&tool=execute_python_code&sort=-turns"),
    Screen(name="ivgr", run="ivgr", route="group/{id}", filter="stage=rl&sort=-reward"),
    Screen(
        name="reference",
        run="ivgr",
        route="group/{id}",
        filter="stage=rl&stream=textual&term.consistency_min=0",
        heading="Streams side by side",
    ),
    Screen(name="vista", run="vista_r1", route="t/{id}", filter="right=0", scheme="dark"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="by default all pictures, and the chat")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with served(arguments.runs) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        runs = {one["name"]: one["id"] for one in asked(f"{address}/api/runs")["runs"]}
        for screen in SCREENS:
            if screen.run in runs and (not arguments.only or screen.name in arguments.only):
                size = taken(browser, address, runs[screen.run], screen, arguments.out / f"{screen.name}.png")
                sys.stdout.write(f"{screen.name}: {size:,} bytes\n")
        checkpoints = sorted((arguments.runs / "demo" / "checkpoints").glob("rl-*"))
        if checkpoints and (not arguments.only or "chat" in arguments.only):
            sys.stdout.write(f"chat: {chat_taken(browser, checkpoints[-1], arguments.runs, arguments.out):,} bytes\n")
        browser.close()


def chat_taken(browser: Browser, checkpoint: Path, runs: Path, out: Path) -> int:
    """The page of ``saccade chat`` after a question about a picture of the demo, answered twice."""
    rows = next((runs / "demo" / "trajectories" / "rl").glob("*.jsonl")).read_text().splitlines()
    task = next(one for one in map(json.loads, rows) if one["kind"] == "task")
    picture = runs / "demo" / "media" / f"{task['images'][0]['hash']}.png"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "saccade", "chat", str(checkpoint), "--picture", str(picture)]
        command += ["--out", f"{folder}/run", "--port", "0", "--no-open"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            page = browser.new_page(viewport={"width": 1400, "height": 1150})
            page.set_default_timeout(180_000)
            page.goto(process.stdout.readline().removeprefix("Chat: ").strip())
            page.get_by_label("use this picture").click()
            page.fill("textarea[name=question]", task["question"])
            page.fill("input[name=samples]", "2")
            page.get_by_role("button", name="Ask", exact=True).click()
            page.locator("a", has_text="open record").nth(1).wait_for()
            size = kept(page.screenshot(), out / "chat.png")
            page.close()
            process.terminate()
    return size


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a viewer on the folder, its index complete."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "saccade", "view", str(folder), "--port", "0", "--no-open"]
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("Viewer: ").strip().rstrip("/")
            while any(one["indexing"] for one in asked(f"{address}/api/runs")["runs"]):
                pass
            yield address
            process.terminate()


def asked(address: str) -> dict[str, list[dict[str, str]]]:
    with urllib.request.urlopen(address) as answer:
        found: dict[str, list[dict[str, str]]] = json.load(answer)
        return found


def taken(browser: Browser, address: str, run: str, screen: Screen, path: Path) -> int:
    """Takes one picture and says its size in bytes."""
    rows = asked(f"{address}/api/runs/{run}/trajectories?limit=1&facets=0&{screen.filter}")["rows"]
    if not rows and "{id}" in screen.route:
        sys.stdout.write(f"{screen.name}: no trajectory of {screen.run} passes {screen.filter}\n")
        return 0
    route = screen.route.format(id=rows[0]["id"] if rows else "")
    target = f"#/run/{run}/{route}".rstrip("/")
    if screen.name == "evaluations":
        target = f"#/evaluations?a={run}/after_sft&b={run}/after_rl"
    page = browser.new_page(
        viewport={"width": screen.width, "height": screen.height},
        color_scheme="dark" if screen.scheme == "dark" else "light",
    )
    page.goto(f"{address}/{target}")
    page.wait_for_selector("#view:not([aria-busy]) .page")
    if screen.heat:
        page.get_by_label("Heat on tokens").select_option(screen.heat)
    if screen.checked:
        page.get_by_label(screen.checked).check()
    if screen.heading:
        page.get_by_role("heading", name=screen.heading).evaluate("one => one.scrollIntoView()")
    page.wait_for_timeout(800)
    size = kept(page.screenshot(), path)
    page.close()
    return size


def kept(screenshot: bytes, path: Path) -> int:
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    picture.thumbnail((_WIDTH_PX, 2000), Image.Resampling.LANCZOS)
    picture.quantize(_COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


if __name__ == "__main__":
    main()
