"""Links of the README and the documentation that leave the project. Run by hand, for tests have no network:

    python tests/docs/external_links.py

asks each page once and prints those that do not answer.
"""

import re
import sys
from collections.abc import Iterator

import httpx2

from places import ROOT

PAGES = (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md")))
HOSTS = {"arxiv.org", "github.com"}
"""Where a link may lead; a new one is added here on purpose."""
_LINK = re.compile(r"\]\((https?://[^)\s]+)\)|<(https?://[^>\s]+)>|^(?:\[[^\]]+\]:\s+)(https?://\S+)$", re.M)


def links() -> Iterator[tuple[str, str]]:
    """Page and address of each link; addresses in code are no links."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```|^    .*$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for found in _LINK.finditer(text):
            yield str(page.relative_to(ROOT)), next(one for one in found.groups() if one)


def main() -> None:
    broken = 0
    with httpx2.Client(follow_redirects=True, timeout=20.0) as client:
        for url, page in {url: page for page, url in links()}.items():
            try:
                status = client.head(url).status_code
                status = client.get(url).status_code if status in (403, 405) else status
                said = f"{status}" if status >= 400 else ""
            except httpx2.HTTPError as error:
                said = f"{type(error).__name__}: {error}"
            if said:
                broken += 1
                print(f"{page}: {url}: {said}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
