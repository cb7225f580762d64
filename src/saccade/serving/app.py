"""The routes of a served agent, as clients of OpenAI's interface know them."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Literal, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from saccade import __version__
from saccade.media.store import png_bytes
from saccade.services.http.guards import OriginGuard, TokenGate, UploadGuard, UploadLimits
from saccade.serving import replies
from saccade.serving.episodes import EpisodesOfRequests
from saccade.serving.questions import AskedWrongError
from saccade.serving.streams import events
from saccade.types import Json

logger = logging.getLogger(__name__)

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]
Result = TypeVar("Result")

_SMALL_BODY = 1 << 16
_CLIENT_LEFT = 499
"""The status, as nginx counts them, of a request whose client left; nobody reads it."""


def create_agent_app(episodes: EpisodesOfRequests, *, token: str | None, lifespan: Lifespan | None = None) -> FastAPI:
    """The application, with its guards."""
    settings = episodes.settings
    app = FastAPI(title="Saccade agent", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    limits = UploadLimits(
        most_bytes=lambda path: settings.max_body_mb << 20 if path == "/v1/chat/completions" else _SMALL_BODY,
        together_bytes=settings.uploads_mb << 20,
        within_s=settings.request_s,
    )
    # The last that is added is asked first.
    app.add_middleware(UploadGuard, limits=limits, form=replies.openai_error)
    if token is not None:
        app.add_middleware(TokenGate, token=token, form=replies.openai_error)
    app.add_middleware(OriginGuard, host=settings.host, has_token=token is not None, form=replies.openai_error)
    _add_errors(app)
    # First, since nearly all requests are for it.
    _add_completions(app, episodes)
    _add_states(app, episodes)
    _add_models(app, episodes)
    _add_traces(app, episodes)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return _error(error.status_code, str(error.detail))

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        return _error(500, f"the server failed: {type(error).__name__}", code="internal")


def _add_states(app: FastAPI, episodes: EpisodesOfRequests) -> None:
    @app.get("/health", summary="Whether the server is up")
    async def health() -> Response:
        return JSONResponse({"status": "ok", "open": episodes.open_count})

    @app.get("/metrics", summary="Numbers, in Prometheus' text format")
    async def metrics() -> Response:
        return Response(episodes.meters.text(), media_type="text/plain; version=0.0.4")


def _add_models(app: FastAPI, episodes: EpisodesOfRequests) -> None:
    name = episodes.settings.name
    model: Json = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "saccade"}

    @app.get("/v1/models", summary="The one model of this server")
    async def models() -> Response:
        return JSONResponse({"object": "list", "data": [model]})

    @app.get("/v1/models/{asked:path}", summary="Information about the model")
    async def one_model(asked: str) -> Response:
        if asked != name:
            return _error(404, f"there is no model {asked[:80]!r} here; the model is {name!r}", code="model_not_found")
        return JSONResponse(model)


def _add_completions(app: FastAPI, episodes: EpisodesOfRequests) -> None:
    async def complete(request: Request) -> Response:
        began = time.monotonic()
        try:
            response = await _answered(request, episodes)
        except AskedWrongError as error:
            response = _error(error.status, str(error), param=error.param, code=error.code)
            if error.status == 429:
                response.headers["Retry-After"] = "1"
        episodes.meters.requests.labels(str(response.status_code)).inc()
        episodes.meters.seconds.observe(time.monotonic() - began)
        return response

    # A plain route: FastAPI has nothing to read here, and would look for it in each request.
    app.router.routes.append(Route("/v1/chat/completions", complete, methods=["POST"]))


async def _answered(request: Request, episodes: EpisodesOfRequests) -> Response:
    async with AsyncExitStack() as opened:
        asked = await opened.enter_async_context(episodes.request(await request.body()))
        if asked.asked.streams:
            # The stream takes the request's place and its pictures along, and gives them up at its own end.
            taken = opened.pop_all()

            async def stream() -> AsyncIterator[bytes]:
                async with taken, contextlib.aclosing(events(episodes, asked)) as told:
                    async for event in told:
                        yield event

            return _Stream(stream(), taken)
        played = await _unless_left(request, episodes.play(asked))
        if played is None:
            return Response(status_code=_CLIENT_LEFT)
        settings = episodes.settings
        return JSONResponse(replies.completion(asked.ident, settings.name, played, settings.reply, asked.asked.stop))


class _Stream(StreamingResponse):
    """Also gives up what a stream holds whose client left before it began."""

    def __init__(self, content: AsyncIterator[bytes], held: AsyncExitStack) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._held = held

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._held.aclose()


async def _unless_left(request: Request, work: Awaitable[Result]) -> Result | None:
    """The result; None, with the work cancelled, when the client leaves before it is there."""
    working = asyncio.current_task()
    assert working is not None
    state: Literal["at work", "left", "over"] = "at work"

    def leave(_: asyncio.Future[None]) -> None:
        nonlocal state
        if state == "at work":
            state = "left"
            working.cancel()

    # Here and not in a task of its own: each is woken by the loop one more time for every request.
    leaving = asyncio.ensure_future(_left(request))
    leaving.add_done_callback(leave)
    try:
        return await work
    except asyncio.CancelledError:
        if state != "left" or working.uncancel() > 0:
            raise
        return None
    finally:
        state = "over"
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _add_traces(app: FastAPI, episodes: EpisodesOfRequests) -> None:
    @app.get("/traces/{ident}", summary="The task and the trajectories of a completion")
    async def trace(ident: str) -> Response:
        body = episodes.traces.body(ident)
        if body is None:
            return _error(404, "no trace has this id; only the last ones are kept", code="no_trace")
        return Response(body, media_type="application/json")

    @app.get("/traces/{ident}/images/{image_hash}", summary="A picture of a trajectory, as PNG")
    async def picture(ident: str, image_hash: str) -> Response:
        found = episodes.traces.picture(ident, image_hash)
        if found is None:
            return _error(404, "no trace of this id has such a picture; only the last traces are kept", code="no_image")
        pictures, image = found
        return Response(png_bytes(pictures.get(image)), media_type="image/png")


def _error(status: int, message: str, *, param: str | None = None, code: str | None = None) -> Response:
    return JSONResponse(replies.error_object(status, message, param=param, code=code), status)
