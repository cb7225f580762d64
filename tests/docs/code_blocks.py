"""Code of the README and the documentation: blocks with the test that runs them, and lines of commands.

Above each block of Python or bash stands ``<!-- run by tests/FILE.py -->`` or ``<!-- not run: needs ... -->``.
``<!-- all run by tests/FILE.py -->`` speaks of every block of its page. Run as a script, this prints the table.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(ROOT.glob("packages/*/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
_BLOCK = re.compile(r"(?:^<!-- (?P<marker>[^>]*) -->\n+)?^```(?P<language>python|bash)\n(?P<code>.*?)^```", re.M | re.S)
_WHOLE_PAGE = re.compile(r"^<!-- all (run by [^>]*) -->$", re.M)
_PROGRAM = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?(?:saccade|python|make|pip) ")
_SHELL = re.compile(r"\s(?:&&|\|\|?|;|&|>|>>|2>|<)(?=\s|$)")


@dataclass(frozen=True)
class Block:
    """A block of code, and what its page says of it."""

    page: Path
    line: int
    language: str
    code: str
    marker: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def test(self) -> str | None:
        """The file that runs it."""
        return self.marker.removeprefix("run by ") if self.marker and self.marker.startswith("run by ") else None

    @property
    def needs(self) -> str | None:
        """What it would need to be run."""
        prefix = "not run: needs "
        return self.marker.removeprefix(prefix) if self.marker and self.marker.startswith(prefix) else None


def blocks() -> Iterator[Block]:
    """All blocks of Python and bash."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        of_page = _WHOLE_PAGE.search(text)
        for found in _BLOCK.finditer(text):
            line = text[: found.start("language")].count("\n") + 1
            marker = found["marker"] or (of_page[1] if of_page else None)
            yield Block(page, line, found["language"], found["code"], marker)


def python_of(page: str) -> list[str]:
    """The blocks of Python of a page below ``docs``."""
    return [block.code for block in blocks() if block.page == ROOT / "docs" / page and block.language == "python"]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Where a command stands, and its words: indented lines and lines of bash, without comments and what follows it."""
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        fence = ""
        for number, line in enumerate(lines, 1):
            if line.startswith("```"):
                fence = "" if fence else line
                continue
            is_code = fence == "```bash" or (not fence and line.startswith("    "))
            if not is_code or not _PROGRAM.match(line.strip()):
                continue
            whole, at = line.strip(), number
            while whole.endswith("\\") and at < len(lines):
                whole, at = whole.removesuffix("\\") + lines[at].strip(), at + 1
            first = _SHELL.split(whole.removeprefix("$ "))[0]
            words = shlex.split(first, comments=True)
            while "=" in words[0] and words[0].split("=")[0].isupper():
                words = words[1:]
            yield f"{page.relative_to(ROOT)}:{number}", words


if __name__ == "__main__":
    for block in blocks():
        print(f"{block.place:<34} {block.language:<7} {block.marker}")
