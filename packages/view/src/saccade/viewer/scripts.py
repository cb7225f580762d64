"""The pages' own modules as one script, and JSON inside of a page.

Python's standard library alone: the first page is sent before anything else is imported.
"""

import re
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).parent / "app"
_ENTRY = "main.js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_COMMENT = re.compile(r"/\*[\s\S]*?\*/|^\s*//.*$", re.MULTILINE)


def bundle(entry: str = _ENTRY) -> str:
    """All modules that the entry imports as one script, each after those that it needs.

    Modules import by name and from siblings alone, and no two have a name at their top in common.
    """
    pieces = [_IMPORT.sub("", source) for source in _modules_in_order(entry, [])]
    plain = "\n".join(re.sub(r"^export ", "", piece, flags=re.MULTILINE) for piece in pieces)
    return f'(() => {{\n"use strict";\n{without_comments(plain)}\n}})();'


def without_comments(source: str) -> str:
    """The source as a browser needs it: no comments, no indentation."""
    lines = (line.strip() for line in _COMMENT.sub("", source).splitlines())
    return "\n".join(line for line in lines if line)


def _modules_in_order(name: str, seen: list[str]) -> Iterator[str]:
    if name in seen:
        return
    seen.append(name)
    source = (APP / name).read_text(encoding="utf-8")
    for needed in _IMPORT.findall(source):
        yield from _modules_in_order(needed, seen)
    yield source


def in_script(json_text: str) -> str:
    """JSON that cannot end its script element, whatever a model wrote."""
    return json_text.replace("<", "\\u003c")
