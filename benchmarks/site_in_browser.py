"""Every page of the documentation's site in a browser: width, messages, pictures, contrast; and pictures of all pages.

    make docs && python benchmarks/site_in_browser.py [--json docs/results/site.json] [--screens DIR]

Opens each page of ``build/site`` in Chromium at 1400 and 390 px, in the light and the dark colours, over a server on
loopback. A page fails when it scrolls sideways, when the console says something, when a file cannot be fetched, when a
picture is not drawn, or when axe finds a serious fault (such as contrast; at 1400 px, in both colours). Faults of the
theme's own header and navigation are counted apart. ``--screens`` keeps sheets of all pages' tops, and each top.
``--keep`` names a file of what was seen, from which a stopped run goes on. Exit status 1 when a page fails.
"""

import argparse
import functools
import http.server
import io
import json
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from PIL import Image, ImageDraw
from playwright.sync_api import BrowserContext, Page, ViewportSize, sync_playwright

SITE = Path(__file__).resolve().parents[1] / "build" / "site"
LOOKS = ((1400, "light"), (390, "light"), (1400, "dark"), (390, "dark"))
AXE_WIDTH = 1400
HEIGHT_PX = 900
THUMBNAIL_PX = 300
COLUMNS = 6
ROWS = 4
NOT_DRAWN = "[...document.images].filter(one => !one.complete || one.naturalWidth === 0).map(one => one.src)"
TOO_WIDE = """() => {
  const limit = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= limit) return [];
  const inside = one => { for (let p = one.parentElement; p; p = p.parentElement)
    if (getComputedStyle(p).overflowX !== 'visible') return true; return false; };
  return [...document.querySelectorAll('article *')]
    .filter(one => one.getBoundingClientRect().right > limit + 1 && !inside(one))
    .slice(0, 3).map(one => one.outerHTML.slice(0, 120));
}"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was found on a page in one look."""

    page: str
    width: int
    scheme: str
    scrolls_sideways: bool
    too_wide: list[str]
    messages: list[str]
    not_fetched: list[str]
    not_drawn: list[str]
    faults: list[str]
    """Faults that axe finds in the page's article, as rule and element."""
    theme_faults: int
    """Those that it finds outside of it."""

    @property
    def is_good(self) -> bool:
        return not (self.scrolls_sideways or self.messages or self.not_fetched or self.not_drawn or self.faults)


@dataclass(kw_only=True)
class Heard:
    """Messages of a page and files that it did not get."""

    messages: list[str] = field(default_factory=list)
    not_fetched: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("console", lambda one: self.messages.append(one.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("requestfailed", lambda one: self.not_fetched.append(one.url))
        page.on("response", lambda one: self.not_fetched.append(one.url) if one.status >= 400 else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--screens", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--pages", default="", help="only pages whose path has this regular expression")
    parser.add_argument("--looks", help="some of them, such as 390-light,1400-dark")
    arguments = parser.parse_args()
    names = sorted(str(one.relative_to(arguments.site).parent) for one in arguments.site.rglob("index.html"))
    names = [one for one in names if re.search(arguments.pages, one)]
    chosen = [one for one in LOOKS if arguments.looks is None or f"{one[0]}-{one[1]}" in arguments.looks.split(",")]
    if not names:
        sys.exit(f"{arguments.site} has no such page; build it with: make docs")
    found = read_seen(arguments.keep)
    known = {(one.page, one.width, one.scheme) for one in found}
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with served(arguments.site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for width, scheme in chosen:
            is_dark = scheme == "dark"
            size: ViewportSize = {"width": width, "height": HEIGHT_PX}
            context = browser.new_context(viewport=size, color_scheme="dark" if is_dark else "light")
            for name in names:
                if (name, width, scheme) not in known:
                    seen, top = looked_at(context, address, name, width, scheme)
                    found.append(seen)
                    keep(seen, top, arguments.keep, arguments.screens)
            context.close()
            if arguments.screens:
                sheets(names, arguments.screens, f"{width}-{scheme}")
        browser.close()
    told = summary(found, names)
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": f"python {' '.join(sys.argv)}", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps({**head, **told}, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if all(one.is_good for one in found) else 1)


def read_seen(path: Path | None) -> list[Seen]:
    if path is None or not path.is_file():
        return []
    return [Seen(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def keep(seen: Seen, top: bytes, lines: Path | None, screens: Path | None) -> None:
    """Writes down what was seen, and says what is wrong."""
    if not seen.is_good:
        print(json.dumps({key: value for key, value in asdict(seen).items() if value}), flush=True)
    if screens is not None:
        screens.mkdir(parents=True, exist_ok=True)
        screen(screens, seen.page, f"{seen.width}-{seen.scheme}").write_bytes(top)
    if lines is not None:
        with lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(seen)) + "\n")


def screen(folder: Path, name: str, look: str) -> Path:
    return folder / f"{'index' if name == '.' else name.replace('/', '_')}-{look}.png"


def looked_at(context: BrowserContext, address: str, name: str, width: int, scheme: str) -> tuple[Seen, bytes]:
    """A page in one look, and the picture of its top."""
    page, heard = context.new_page(), Heard()
    page.set_default_timeout(120_000)
    heard.listen(page)
    page.goto(f"{address}/{'' if name == '.' else name + '/'}", wait_until="load")
    # Pictures below the fold may be fetched late.
    page.evaluate("[...document.images].forEach(one => one.loading = 'eager')")
    page.wait_for_function("[...document.images].every(one => one.complete)")
    faults, theme_faults = axe_faults(page) if width == AXE_WIDTH else ([], 0)
    seen = Seen(
        page=name,
        width=width,
        scheme=scheme,
        scrolls_sideways=bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth")),
        too_wide=page.evaluate(TOO_WIDE),
        messages=heard.messages,
        not_fetched=heard.not_fetched,
        not_drawn=page.evaluate(NOT_DRAWN),
        faults=faults,
        theme_faults=theme_faults,
    )
    top = page.screenshot()
    page.close()
    return seen, top


def axe_faults(page: Page) -> tuple[list[str], int]:
    """Serious faults in the article, and the number of those elsewhere."""
    response = Axe().run(page).response
    inside: list[str] = []
    elsewhere = 0
    for rule in response["violations"]:
        if rule["impact"] not in ("serious", "critical"):
            continue
        for node in rule["nodes"]:
            if page.locator(str(node["target"][0])).first.evaluate("one => !!one.closest('article')"):
                inside.append(f"{rule['id']}: {node['html'][:120]}")
            else:
                elsewhere += 1
    return inside, elsewhere


def summary(found: Sequence[Seen], names: Sequence[str]) -> dict[str, object]:
    rules = Counter(fault.split(":")[0] for one in found for fault in one.faults)
    return {
        "pages": len(names),
        "looks": len(found),
        "good": sum(one.is_good for one in found),
        "scroll_sideways": sum(one.scrolls_sideways for one in found),
        "messages": sum(len(one.messages) for one in found),
        "not_fetched": sum(len(one.not_fetched) for one in found),
        "not_drawn": sum(len(one.not_drawn) for one in found),
        "faults": dict(rules),
        "theme_faults": sum(one.theme_faults for one in found),
        "not_good": sorted({one.page for one in found if not one.is_good}),
    }


def sheets(names: Sequence[str], folder: Path, look: str) -> None:
    """Contact sheets of pages' tops, with their names."""
    per_sheet = COLUMNS * ROWS
    for start in range(0, len(names), per_sheet):
        small = [(name, shrunk(screen(folder, name, look).read_bytes())) for name in names[start : start + per_sheet]]
        height = max(one.height for _, one in small) + 16
        sheet = Image.new("RGB", (COLUMNS * (THUMBNAIL_PX + 8), ROWS * height), "white")
        draw = ImageDraw.Draw(sheet)
        for index, (name, one) in enumerate(small):
            left, top = index % COLUMNS * (THUMBNAIL_PX + 8), index // COLUMNS * height
            draw.text((left + 2, top + 2), name, fill="black")
            sheet.paste(one, (left, top + 14))
        sheet.save(folder / f"sheet-{look}-{start // per_sheet}.png")


def shrunk(raw: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(raw)).convert("RGB")
    return image.resize((THUMBNAIL_PX, round(image.height * THUMBNAIL_PX / image.width)))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The site's address on loopback."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that writes no log."""

    def log_message(self, *said: object) -> None:
        del said


if __name__ == "__main__":
    main()
