"""The page and its parts as they are sent: the shell, and scripts and styles that a browser keeps.

Each part has an address that changes with its content. Python's standard library alone, as ``early.py`` needs it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from saccade.viewer.scripts import APP, bundle, in_script

FOLDER = "/app/"
_SCRIPT = "viewer.js"
"""All modules as one script: seventeen requests to this process took longer than all else that a page waits for."""
_PARTS = {
    "script": _SCRIPT,
    "style": "app.css",
    "plot": "vendor/uPlot.iife.min.js",
    "plot_style": "vendor/uPlot.min.css",
}
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_CHAT_LINK = '  <a href="#/chat">Chat</a>\n'


@dataclass(frozen=True, kw_only=True, slots=True)
class PageAnswer:
    """What is sent for the page or a part of it."""

    content: bytes
    headers: Mapping[str, str]
    status: int = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A script or style as it is served."""

    name: str
    content: bytes

    @property
    def tag(self) -> str:
        """Changes with the content."""
        return hashlib.blake2b(self.content, digest_size=12).hexdigest()

    @property
    def address(self) -> str:
        return f"{FOLDER}{self.name}?{self.tag}"


def shell(*, csrf: str, has_chat: bool = False, first: str = "null") -> PageAnswer:
    """The page that every view is drawn into; ``first`` is JSON of answers that it brings along."""
    forms = ["bars.html", "mark_form.html", *(["chat_form.html"] if has_chat else [])]
    page = Template(_text("shell.html")).substitute(
        {part: _asset(name).address for part, name in _PARTS.items()},
        csrf=csrf,
        chat_link=_CHAT_LINK if has_chat else "",
        templates="".join(map(_text, forms)),
        first=in_script(first),
    )
    headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
    return PageAnswer(content=page.encode("utf-8"), headers=headers)


def asset_answer(name: str, query: str, known_tag: str | None) -> PageAnswer | None:
    """A part of the page, None for a name that is none.

    Kept for good at the address that names its content; at another the browser asks whether it has changed, and
    brings the tag that it knows.
    """
    if name not in _PARTS.values():
        return None
    one = _asset(name)
    headers = {
        "etag": f'"{one.tag}"',
        "cache-control": "private, max-age=31536000, immutable" if query == one.tag else "no-cache",
    }
    if known_tag == headers["etag"]:
        return PageAnswer(content=b"", headers=headers, status=304)
    return PageAnswer(content=one.content, headers={**headers, "content-type": _TYPES[Path(name).suffix]})


@cache
def _asset(name: str) -> Asset:
    if name == _SCRIPT:
        return Asset(name=name, content=bundle().encode("utf-8"))
    look = (APP.parent / "look.css").read_bytes() if name == _PARTS["style"] else b""
    return Asset(name=name, content=look + (APP / name).read_bytes())


@cache
def _text(name: str) -> str:
    return (APP / name).read_text(encoding="utf-8")
