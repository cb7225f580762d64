"""The viewer's application: the shell, its modules, pictures, JSON and events over a collection."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from saccade.errors import MachineError, UserError
from saccade.strict_json import strict_json
from saccade.viewer.app.answers import refusal, reply
from saccade.viewer.app.asked import number_of, text_of
from saccade.viewer.app.assets import FOLDER, PageAnswer, asset_answer, shell
from saccade.viewer.app.events import Events
from saccade.viewer.app.guards import WriteGuard, guarded
from saccade.viewer.app.lists import search_json
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.searching import Search, Searches

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


Added = Callable[[RunsViewer], Sequence[Route]]
"""Further routes over the same collection."""


def create_app(viewer: RunsViewer, *, host: str, token: str | None, add: Added | None = None) -> Starlette:
    """The application, with the routes of ``add`` beside its own.

    Plain Starlette: importing FastAPI takes longer than everything else that the first answer needs.
    """
    from saccade.viewer.app.routes import viewer_routes

    further = _no_chat() if add is None else add(viewer)
    app = Starlette(routes=[*_pages(viewer), *viewer_routes(viewer), *further])
    # The last that is added is asked first.
    app.add_middleware(WriteGuard, csrf=viewer.csrf, max_body_bytes=MAX_BODY_BYTES)
    app.add_middleware(guarded, host=host, token=token)
    _add_errors(app)
    return app


def _no_chat() -> list[Route]:
    def chat(_: Request) -> Response:
        return reply({"model": None})

    return [Route("/api/chat", chat)]


def _add_errors(app: Starlette) -> None:
    async def gone(_: Request, error: Exception) -> Response:
        return refusal(404, "not_found", str(error))

    async def wrong(_: Request, error: Exception) -> Response:
        return refusal(422, "request", str(error))

    async def broken(_: Request, error: Exception) -> Response:
        return refusal(503, "disk", str(error))

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return refusal(error.status_code, "not_found" if error.status_code == 404 else "request", str(error.detail))

    async def failed(_: Request, error: Exception) -> Response:
        return refusal(500, "server", f"internal error ({type(error).__name__}); the viewer's log has the details")

    app.add_exception_handler(GoneError, gone)
    app.add_exception_handler(UserError, wrong)
    app.add_exception_handler(MachineError, broken)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, failed)


def _pages(viewer: RunsViewer) -> list[Route]:
    def page(_: Request) -> Response:
        from saccade.viewer.app.first_answers import first_answers

        return _response(shell(csrf=viewer.csrf, has_chat=viewer.has_chat, first=strict_json(first_answers(viewer))))

    async def part(request: Request) -> Response:
        name = request.path_params["name"]
        answer = asset_answer(name, request.url.query, request.headers.get("if-none-match"))
        if answer is None:
            raise GoneError(f"there is no page part {name[:80]!r}")
        return _response(answer)

    def picture(request: Request) -> Response:
        from saccade.viewer.app.media import WIDTHS, png_of, seen_png

        run, name = viewer.collection.run(request.path_params["run"]), request.path_params["name"]
        if "seen" in request.query_params:
            return Response(seen_png(run, name), media_type="image/png", headers={"cache-control": "no-store"})
        width = number_of(request, "w", 0, least=0, most=max(WIDTHS)) if "w" in request.query_params else None
        if width is not None and width not in WIDTHS:
            raise UserError(f"w={width} is none of {', '.join(map(str, WIDTHS))}")
        headers = {"cache-control": "private, max-age=31536000, immutable"}
        return Response(png_of(run, name, width), media_type="image/png", headers=headers)

    async def events(request: Request) -> Response:
        run = text_of(request, "run", "", longest=40) or None
        if viewer.events.is_full:
            return refusal(503, "request", "too many pages listen; close some")
        return StreamingResponse(
            viewer.events.stream(run), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    return [
        Route("/", page),
        Route(f"{FOLDER}{{name:path}}", part),
        Route("/media/{run}/{name}.png", picture),
        Route("/api/events", events),
    ]


def _response(answer: PageAnswer) -> Response:
    return Response(answer.content, answer.status, headers=answer.headers)
