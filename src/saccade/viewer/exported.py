"""One file with everything that works without a server: the pages' own modules, the records chosen, their pictures.

The same modules run from the server and from the file: in the file, answers, rows and pictures come out of a block of
JSON. Scripts and styles are named by their hashes in the file's content-security policy; nothing else may run.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from saccade.types import Json
from saccade.viewer.words import page_template

APP = Path(__file__).parent / "app"
_ENTRY = "main.js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_COMMENT = re.compile(r"/\*[\s\S]*?\*/|^\s*//.*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """What a file carries for its pages."""

    answers: Mapping[str, Json] = field(default_factory=dict)
    """Answers of the server, by their address."""
    rows: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    """Rows of the list, by run."""
    images: Mapping[str, str] = field(default_factory=dict)
    """Pictures by their hash, as ``data:`` addresses."""
    home: str = "/"
    """Address that is shown first."""
    note: str = ""
    """Words above the list: what the file leaves out."""


def exported_page(title: str, carried: Carried, *, report: str = "", links: Sequence[tuple[str, str]] = ()) -> str:
    """The file's text; ``report`` is safe markup that is shown first, ``links`` go beside the name at the top."""
    scripts = [(APP / "vendor" / "uPlot.iife.min.js").read_text(encoding="utf-8"), bundled()]
    styles = [(APP / "vendor" / "uPlot.min.css").read_text(encoding="utf-8"), *_styles(bool(report))]
    return page_template("app/export.html.jinja").render(
        title=title,
        scripts=scripts,
        styles=styles,
        policy=_policy(scripts, styles),
        carried=in_script(json.dumps(asdict(carried), allow_nan=False)),
        report=report,
        pages=links,
    )


def bundled(entry: str = _ENTRY) -> str:
    """All modules that the entry imports as one script, each after those that it needs.

    Modules import by name and from siblings alone, and no two have a name at their top in common.
    """
    pieces = [_IMPORT.sub("", source) for source in _ordered(entry, [])]
    plain = "\n".join(re.sub(r"^export ", "", piece, flags=re.MULTILINE) for piece in pieces)
    return f'(() => {{\n"use strict";\n{without_comments(plain)}\n}})();'


def without_comments(source: str) -> str:
    """The source as a browser needs it: no comments, no indentation."""
    lines = (line.strip() for line in _COMMENT.sub("", source).splitlines())
    return "\n".join(line for line in lines if line)


def data_address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _ordered(name: str, seen: list[str]) -> Iterator[str]:
    if name in seen:
        return
    seen.append(name)
    source = (APP / name).read_text(encoding="utf-8")
    for needed in _IMPORT.findall(source):
        yield from _ordered(needed, seen)
    yield source


def _styles(has_report: bool) -> list[str]:
    return [*([report_style()] if has_report else []), (APP / "app.css").read_text(encoding="utf-8")]


def report_style() -> str:
    return (APP.parent / "report.css").read_text(encoding="utf-8")


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    named = {"script-src": scripts, "style-src": styles}
    parts = [f"{name} {' '.join(map(source_of, texts))}" for name, texts in named.items()]
    return "; ".join(["default-src 'none'", "img-src data: blob:", "base-uri 'none'", "form-action 'none'", *parts])


def source_of(text: str) -> str:
    """The hash by which a content-security policy lets an inline script or style pass."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def in_script(json_text: str) -> str:
    """JSON that cannot end its script element, whatever a model wrote."""
    return json_text.replace("<", "\\u003c")
