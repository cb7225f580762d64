"""Scripts and styles of the pages, each at an address that changes with its content, so that a browser keeps it."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from saccade.viewer.exported import APP, bundled
from saccade.viewer.store.run import GoneError

_SCRIPT = "viewer.js"
"""All modules as one script: seventeen requests to this process took longer than all else that a page waits for."""
_PARTS = {
    "script": _SCRIPT,
    "style": "app.css",
    "plot": "vendor/uPlot.iife.min.js",
    "plot_style": "vendor/uPlot.min.css",
}
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


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
        return f"/app/{self.name}?{self.tag}"


@cache
def asset(name: str) -> Asset:
    """Read once. GoneError for a name that is none of theirs."""
    if name == _SCRIPT:
        return Asset(name=name, content=bundled().encode("utf-8"))
    if name not in _PARTS.values():
        raise GoneError(f"there is no page part {name[:80]!r}")
    return Asset(name=name, content=(APP / name).read_bytes())


def addresses() -> dict[str, str]:
    """Where each part of a page is."""
    return {part: asset(name).address for part, name in _PARTS.items()}


async def serve_asset(request: Request) -> Response:
    """Kept for good at the address that names its content; at another the browser asks whether it has changed."""
    one = asset(request.path_params["name"])
    is_named = request.url.query == one.tag
    headers = {
        "etag": f'"{one.tag}"',
        "cache-control": "private, max-age=31536000, immutable" if is_named else "no-cache",
    }
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(one.content, media_type=_TYPES[Path(one.name).suffix], headers=headers)
