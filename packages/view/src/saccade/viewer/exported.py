"""One file with everything that works without a server: the pages' own modules, the records chosen, their pictures.

The same modules run from the server and from the file: in the file, answers, rows and pictures come out of a block of
JSON. Scripts and styles are named by their hashes in the file's content-security policy; nothing else may run.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from saccade.types import Json
from saccade.viewer.scripts import APP, bundle, in_script
from saccade.viewer.templates import page_template


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
    scripts = [(APP / "vendor" / "uPlot.iife.min.js").read_text(encoding="utf-8"), bundle()]
    look = report_style() if report else app_style("look.css")
    styles = [app_style("app/vendor/uPlot.min.css"), look, app_style("app/app.css")]
    return page_template("app/export.html.jinja").render(
        title=title,
        scripts=scripts,
        styles=styles,
        policy=_policy(scripts, styles),
        carried=in_script(json.dumps(asdict(carried), allow_nan=False)),
        report=report,
        pages=links,
    )


def data_address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def app_style(name: str) -> str:
    return (APP.parent / name).read_text(encoding="utf-8")


def report_style() -> str:
    return app_style("look.css") + app_style("report.css")


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    named = {"script-src": scripts, "style-src": styles}
    parts = [f"{name} {' '.join(map(source_of, texts))}" for name, texts in named.items()]
    return "; ".join(["default-src 'none'", "img-src data: blob:", "base-uri 'none'", "form-action 'none'", *parts])


def source_of(text: str) -> str:
    """The hash by which a content-security policy lets an inline script or style pass."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
