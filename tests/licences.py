"""The licences of what is installed with Saccade: `make licences` writes docs/licences.tsv and a table of the page.

pip downloads the metadata of every package in constraints.txt and installs nothing; the licence is what they say.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from places import ROOT, SOURCES

PAGE = ROOT / "docs/licences.md"
ALL = ROOT / "docs/licences.tsv"
PROJECT, *PACKAGES = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (ROOT, *(source.parent for source in SOURCES))
)
_OWN: Mapping[str, list[str]] = {
    one["name"]: [
        *one["dependencies"],
        *(
            f"{need} and extra == '{extra}'" if ";" in need else f"{need}; extra == '{extra}'"
            for extra, needs in one.get("optional-dependencies", {}).items()
            for need in needs
        ),
    ]
    for one in PACKAGES
}
"""What each package of Saccade asks for, as its metadata will say it."""
EXTRAS: Mapping[str, list[str]] = PROJECT["optional-dependencies"]
LINES = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
LOCKED = {canonicalize_name(name): pin for name, _, pin in (line.partition("==") for line in LINES if line)}
NOT_STATED = "not stated"
STRONG = re.compile(r"\bA?GPL|(?<!Lesser )(?<!Library or Lesser )General Public License")
"""GPL and AGPL, under which what is handed on with such a part in it must be; LGPL asks for less."""
_WEAK = re.compile(r"LGPL|Lesser General Public|\bMPL\b|Mozilla|\bEPL\b|Eclipse")
TABLE = "## What asks for more than a notice, or states nothing"
HEAD = ("Package", "Version", "Licence", "Installed by")


def closure(roots: Iterable[str], needs: Callable[[str], list[str] | None]) -> set[str]:
    """Names of all that the requirements bring here, directly or not; ``needs`` is None for what is not here."""
    found: set[str] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(text, frozenset({""})) for text in roots]
    while waiting:
        text, extras = waiting.pop()
        one = Requirement(text)
        place = (canonicalize_name(one.name), frozenset(one.extras))
        holds = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
        if not holds or place in seen:
            continue
        seen.add(place)
        further = _OWN.get(place[0]) or needs(place[0])
        if further is not None:
            found |= {place[0]} - _OWN.keys()
            waiting += [(text, place[1] or frozenset({""})) for text in further]
    return found


def installed_alone() -> set[str]:
    """Packages that `make setup` installs without what they ask for."""
    words = " ".join(re.findall(r"\$\(PIP\) --no-deps (.+)", (ROOT / "Makefile").read_text(encoding="utf-8"))).split()
    return {canonicalize_name(word) for word in words}


def licence(expression: str | None, free_text: str | None, classifiers: Iterable[str]) -> str:
    """What a package's metadata states: the SPDX expression, else one line of free text, else the classifiers."""
    named = [one.split(" :: ")[-1] for one in classifiers if one.startswith("License :: ")]
    line = (free_text or "").strip()
    if expression or (line not in ("", "UNKNOWN") and len(line) < 60 and "\n" not in line):
        return expression or line
    return "; ".join(one for one in named if one != "OSI Approved") or NOT_STATED


def reported() -> dict[str, dict[str, object]]:
    """The metadata of each locked package, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--report", str(report)]
        pip = [sys.executable, "-m", "pip", "install", *options, "--requirement", str(ROOT / "constraints.txt")]
        subprocess.run(pip, check=True)
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {canonicalize_name(one["metadata"]["name"]): one["metadata"] for one in installs}


def main() -> None:
    metadata = reported()

    def needs(name: str) -> list[str] | None:
        return metadata[name].get("requires_dist", []) if name in metadata else None

    core = closure(PROJECT["dependencies"], needs)
    brought = {extra: closure(texts, needs) for extra, texts in sorted(EXTRAS.items())}
    brought["dev"] |= installed_alone() | {"pip"}
    rows = []
    for name, pin in sorted(LOCKED.items()):
        one = metadata[name]
        stated = licence(one.get("license_expression"), one.get("license"), one.get("classifier", []))
        extras = ["core"] if name in core else [extra for extra, names in brought.items() if name in names]
        rows.append((name, pin, stated.replace("|", "/"), ", ".join(extras) or "other Pythons or systems"))
    special = [row for row in rows if STRONG.search(row[2]) or _WEAK.search(row[2]) or row[2] == NOT_STATED]
    words, _, _ = PAGE.read_text(encoding="utf-8").partition(TABLE)
    PAGE.write_text(f"{words}{TABLE}\n\n{_table(special)}", encoding="utf-8")
    lines = ["\t".join(row) for row in (HEAD, *rows)]
    ALL.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _table(rows: Iterable[tuple[str, str, str, str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEAD, ("---",) * 4, *rows)) + "\n"


if __name__ == "__main__":
    main()
