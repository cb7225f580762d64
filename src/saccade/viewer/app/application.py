"""The viewer's application: the shell, its modules, pictures, JSON and events over a collection."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from saccade.errors import MachineError, UserError
from saccade.services.http.guards import OriginGuard
from saccade.viewer.app.answers import refusal, reply
from saccade.viewer.app.events import Events
from saccade.viewer.app.guards import SafeAnswers, TokenCookie, WriteGuard
from saccade.viewer.app.lists import search_json
from saccade.viewer.app.marks_page import SUBJECTS
from saccade.viewer.app.media import WIDTHS, png_of
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.searching import Search, Searches
from saccade.viewer.words import page_template

FOLDER = Path(__file__).parent
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
MAX_BODY_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RunsViewer:
    """What the routes answer from. ``has_chat`` says whether there is a model to ask."""

    collection: Collection
    events: Events
    csrf: str = field(default_factory=lambda: secrets.token_hex(16))
    searches: dict[str, Searches] = field(default_factory=dict)
    has_chat: bool = False

    def searches_of(self, run: Run) -> Searches:
        return self.searches.setdefault(run.id, Searches(run=run, on_progress=self._tell_search))

    def _tell_search(self, run: Run, search: Search) -> None:
        self.events.tell("search", {"run": run.id, **search_json(search)})


def create_app(
    viewer: RunsViewer, *, host: str, token: str | None, add: Callable[[FastAPI], None] | None = None
) -> FastAPI:
    """The application; ``add`` puts further routes into it."""
    from saccade.viewer.app.routes import add_routes

    app = FastAPI(title="Saccade viewer", docs_url=None, redoc_url=None, openapi_url=None)
    # The last that is added is asked first.
    app.add_middleware(WriteGuard, csrf=viewer.csrf, max_body_bytes=MAX_BODY_BYTES)
    if token is not None:
        app.add_middleware(TokenCookie, token=token)
    app.add_middleware(OriginGuard, host=host, has_token=token is not None)
    app.add_middleware(SafeAnswers)
    _add_errors(app)
    _add_pages(app, viewer)
    add_routes(app, viewer)
    if add is not None:
        add(app)
    else:
        _add_no_chat(app)
    return app


def _add_no_chat(app: FastAPI) -> None:
    @app.get("/api/chat")
    def chat() -> Response:
        return reply({"model": None})


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(GoneError)
    async def gone(_: Request, error: GoneError) -> Response:
        return refusal(404, "not_found", str(error))

    @app.exception_handler(UserError)
    async def wrong(_: Request, error: UserError) -> Response:
        return refusal(422, "request", str(error))

    @app.exception_handler(MachineError)
    async def broken(_: Request, error: MachineError) -> Response:
        return refusal(503, "disk", str(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        places = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:8]]
        return refusal(422, "request", "; ".join(places))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return refusal(error.status_code, "not_found" if error.status_code == 404 else "request", str(error.detail))

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        return refusal(500, "server", f"the viewer made a mistake ({type(error).__name__}); its log has more")


def _add_pages(app: FastAPI, viewer: RunsViewer) -> None:
    @app.get("/")
    def shell() -> Response:
        page = page_template("app/shell.html.jinja").render(
            title="Viewer", csrf=viewer.csrf, has_chat=viewer.has_chat, subjects=SUBJECTS
        )
        return Response(page, media_type="text/html; charset=utf-8", headers={"cache-control": "no-store"})

    @app.get("/app/{name:path}")
    def module(name: str, request: Request) -> Response:
        path = FOLDER / name
        is_ours = path.suffix in _TYPES and path.resolve().is_relative_to(FOLDER.resolve()) and path.is_file()
        if not is_ours:
            raise GoneError(f"there is no page part {name[:80]!r}")
        content = path.read_bytes()
        tag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=_TYPES[path.suffix], headers=headers)

    @app.get("/media/{run}/{name}.png")
    def picture(run: str, name: str, w: Annotated[int | None, Query()] = None) -> Response:
        if w is not None and w not in WIDTHS:
            raise UserError(f"w={w} is none of {', '.join(map(str, WIDTHS))}")
        content = png_of(viewer.collection.run(run), name, w)
        headers = {"cache-control": "private, max-age=31536000, immutable"}
        return Response(content, media_type="image/png", headers=headers)

    @app.get("/api/events")
    async def events(run: Annotated[str | None, Query(max_length=40)] = None) -> Response:
        if viewer.events.is_full:
            return refusal(503, "request", "too many pages listen; close some")
        return StreamingResponse(
            viewer.events.stream(run), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )
