"""The routes of a served agent, as clients of OpenAI's interface know them."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Literal, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from saccade.media.encode import png_bytes
from saccade.services.http.guards import OriginGuard, TokenGate, UploadGuard, UploadLimits
from saccade.serving import replies
from saccade.serving.agent import PlayedEpisode
from saccade.serving.episodes import EpisodesOfRequests
from saccade.serving.episodes import Request as AgentRequest
from saccade.serving.questions import AskedWrongError
from saccade.serving.streams import events
from saccade.types import Json

logger = logging.getLogger(__name__)

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]
Result = TypeVar("Result")

_SMALL_BODY = 1 << 16
_CLIENT_LEFT = 499
"""The status, as nginx counts them, of a request whose client left; nobody reads it."""


def create_agent_app(episodes: EpisodesOfRequests, *, token: str | None, lifespan: Lifespan | None = None) -> Starlette:
    """The application, with its guards."""
    settings = episodes.settings
    limits = UploadLimits(
        most_bytes=lambda path: settings.max_body_mb << 20 if path == "/v1/chat/completions" else _SMALL_BODY,
        together_bytes=settings.uploads_mb << 20,
        within_s=settings.request_s,
    )
    form = replies.openai_error
    guards = [Middleware(OriginGuard, host=settings.host, has_token=token is not None, form=form)]
    if token is not None:
        guards.append(Middleware(TokenGate, token=token, form=form))
    guards.append(Middleware(UploadGuard, limits=limits, form=form))
    # Completions first, since nearly all requests are for them.
    routes = [*_completions(episodes), *_states(episodes), *_models(episodes), *_traces(episodes)]
    return Starlette(
        routes=routes,
        middleware=guards,
        exception_handlers={HTTPException: _http_error, Exception: _server_error},
        lifespan=lifespan,
    )


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, str(error.detail))


async def _server_error(_: Request, error: Exception) -> Response:
    return _error(500, f"the server failed: {type(error).__name__}", code="internal")


def _states(episodes: EpisodesOfRequests) -> list[Route]:
    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "open": episodes.open_count})

    async def metrics(_: Request) -> Response:
        return Response(episodes.meters.text(), media_type="text/plain; version=0.0.4")

    return [Route("/health", health), Route("/metrics", metrics)]


def _models(episodes: EpisodesOfRequests) -> list[Route]:
    name = episodes.settings.name
    model: Json = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "saccade"}

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [model]})

    async def one_model(request: Request) -> Response:
        asked = request.path_params["asked"]
        if asked != name:
            return _error(404, f"there is no model {asked[:80]!r} here; the model is {name!r}", code="model_not_found")
        return JSONResponse(model)

    return [Route("/v1/models", models), Route("/v1/models/{asked:path}", one_model)]


def _completions(episodes: EpisodesOfRequests) -> list[Route]:
    async def complete(request: Request) -> Response:
        began = time.monotonic()
        try:
            response = await _answer(request, episodes)
        except AskedWrongError as error:
            response = _error(error.status, str(error), param=error.param, code=error.code)
            if error.status == 429:
                response.headers["Retry-After"] = "1"
        episodes.meters.requests.labels(str(response.status_code)).inc()
        episodes.meters.seconds.observe(time.monotonic() - began)
        return response

    return [Route("/v1/chat/completions", complete, methods=["POST"])]


async def _answer(request: Request, episodes: EpisodesOfRequests) -> Response:
    async with AsyncExitStack() as opened:
        body = await request.body()
        ready = await _unless_left(request.receive, _asked_and_played(body, episodes, opened))
        if ready is None:
            return Response(status_code=_CLIENT_LEFT)
        asked, played = ready
        if played is None:
            # The stream takes the request's place and its pictures along, and gives them up at its own end.
            return _Stream(events(episodes, asked), opened.pop_all())
        settings = episodes.settings
        return JSONResponse(replies.completion(asked.ident, settings.name, played, settings.reply, asked.asked.stop))


async def _asked_and_played(
    body: bytes, episodes: EpisodesOfRequests, opened: AsyncExitStack
) -> tuple[AgentRequest, list[PlayedEpisode] | None]:
    """The request, which ``opened`` then holds, and what came of it, unless it is to be streamed."""
    asked = await opened.enter_async_context(episodes.request(body))
    return asked, None if asked.asked.streams else await episodes.play(asked)


class _Stream(StreamingResponse):
    """Events that end with their client, and with them what the stream holds, even if it never began."""

    def __init__(self, content: AsyncGenerator[bytes], held: AsyncExitStack) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._content = content
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not as in Starlette, which has a group of two tasks for each stream.
        async with self._held, contextlib.aclosing(self._content):
            await _unless_left(receive, self.stream_response(send))


async def _unless_left(receive: Receive, work: Awaitable[Result]) -> Result | None:
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
    leaving = asyncio.ensure_future(_wait_until_left(receive))
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


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _traces(episodes: EpisodesOfRequests) -> list[Route]:
    async def trace(request: Request) -> Response:
        body = episodes.traces.body(request.path_params["ident"])
        if body is None:
            return _error(404, "no trace has this id; only the last ones are kept", code="no_trace")
        return Response(body, media_type="application/json")

    async def picture(request: Request) -> Response:
        found = episodes.traces.picture(request.path_params["ident"], request.path_params["image_hash"])
        if found is None:
            return _error(404, "no trace of this id has such a picture; only the last traces are kept", code="no_image")
        pictures, image = found
        return Response(png_bytes(pictures.get(image)), media_type="image/png")

    return [Route("/traces/{ident}", trace), Route("/traces/{ident}/images/{image_hash}", picture)]


def _error(status: int, message: str, *, param: str | None = None, code: str | None = None) -> Response:
    return JSONResponse(replies.error_object(status, message, param=param, code=code), status)
