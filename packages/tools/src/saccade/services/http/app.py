"""The HTTP contract: images, calls, and what the machines around a server ask."""

import asyncio
import math
import uuid
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from saccade.codec.codecs import PLAIN_CODEC
from saccade.codec.wrong import BrokenRecordError
from saccade.distribution import __version__
from saccade.media.decode import MediaError
from saccade.services.http.guards import OriginGuard, TokenGate, UploadGuard, UploadLimits
from saccade.services.http.openapi import JSON, Documented, describe, errors, in_json
from saccade.services.http.service import Reply, ToolService
from saccade.services.images import WrongHashError
from saccade.services.messages import (
    HASH_PATTERN,
    MESSAGES,
    CallBody,
    HealthBody,
    ReadyBody,
    ResultBody,
    StoredBody,
    ToolsBody,
)
from saccade.services.refusals import error_bytes
from saccade.services.settings import ToolServerSettings

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

PathHash = Annotated[
    str, Path(pattern=HASH_PATTERN.removesuffix(r"(?!\n)"), description="SHA-256 of the image's pixels")
]

_IMAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ("image/png", "image/jpeg")},
    }
}


_IMAGE_ERRORS = errors(
    s408="The body took too long",
    s503="Too many bytes are being sent at the same time",
    s413="The image is too large",
    s422="The image cannot be read",
)
_CALL_ERRORS = errors(
    s400="The body cannot be parsed",
    s404="There is no such tool",
    s408="The body took too long",
    s409="Images are missing, or another call had this id",
    s410="The call was run, and its result is no longer kept",
    s413="The body is too large",
    s422="The request is not what this document says",
    s429="Too many calls are waiting; try again after Retry-After",
    s500="The tool broke, or the call ended two workers",
    s503="The server is stopping, the tool has no worker yet, or too many bytes are being sent at the same time",
    s504="No result within the deadline",
)


def create_app(
    service: Callable[[], ToolService],
    *,
    tool_names: list[str],
    token: str | None,
    settings: ToolServerSettings,
    lifespan: Lifespan | None = None,
) -> FastAPI:
    """The application. ``service`` is asked for at each request, since it is made once the event loop runs."""
    app = FastAPI(title="Saccade tools", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    # The last that is added is asked first.
    app.add_middleware(UploadGuard, limits=_upload_limits(settings))
    if token is not None:
        app.add_middleware(TokenGate, token=token)
    app.add_middleware(OriginGuard, host=settings.host, has_token=token is not None)
    _add_errors(app)
    _add_states(app, service)
    _add_images(app, service)
    _add_calls(app, service)
    describe(app, tool_names=tool_names, has_token=token is not None)
    return app


def _upload_limits(settings: ToolServerSettings) -> UploadLimits:
    return UploadLimits(
        most_bytes=lambda path: (
            settings.max_image_mb << 20 if path.startswith("/images") else settings.max_call_kb << 10
        ),
        together_bytes=settings.uploads_mb << 20,
        within_s=settings.request_s,
    )


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong_request(_: Request, error: RequestValidationError) -> Response:
        places = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:8]]
        return Response(error_bytes("request", "; ".join(places)[:2000]), 422, media_type=JSON)

    @app.exception_handler(BrokenRecordError)
    async def wrong_body(_: Request, error: BrokenRecordError) -> Response:
        return Response(error_bytes("request", str(error)[:2000]), 422, media_type=JSON)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        body = error_bytes("request", error.detail)
        return Response(body, error.status_code, headers=error.headers, media_type=JSON)


def _json_response(message: object, status: int = 200) -> Response:
    return Response(PLAIN_CODEC.text(message), status, media_type=JSON)


def _add_states(app: FastAPI, service: Callable[[], ToolService]) -> None:
    @app.get("/health", summary="Whether the server is up", responses={200: in_json(HealthBody)})
    async def health() -> Response:
        return _json_response(HealthBody(status="ok"))

    @app.get(
        "/ready",
        summary="Whether every tool has a worker",
        responses={200: in_json(ReadyBody), 503: {**in_json(ReadyBody), "description": "Not yet"}},
    )
    async def ready() -> Response:
        waiting = tuple(service().not_ready)
        return _json_response(
            ReadyBody(status="starting" if waiting else "ready", waiting_for=waiting), 503 if waiting else 200
        )

    @app.get(
        "/metrics",
        summary="Numbers, in Prometheus' text format",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        return Response(service().metrics.text(), media_type="text/plain; version=0.0.4")

    listed: Documented = {200: in_json(ToolsBody), **errors(s503="The workers are starting")}

    @app.get("/tools", summary="The tools and their schemas", responses=listed)
    async def tools() -> Response:
        found = service().tools()
        if len(found) < len(service().tool_names):
            raise HTTPException(503, "the workers are starting; see /ready", headers={"Retry-After": "1"})
        return _json_response(ToolsBody(tools=found))


def _add_images(app: FastAPI, service: Callable[[], ToolService]) -> None:
    kept = {**in_json(StoredBody), "description": "Kept"}
    put: Documented = {
        200: {**in_json(StoredBody), "description": "It was here"},
        201: kept,
        **errors(s409="The body is another image"),
        **_IMAGE_ERRORS,
    }

    @app.put("/images/{image_hash}", summary="Keep an image under its hash", responses=put, openapi_extra=_IMAGE_BODY)
    async def put_image(image_hash: PathHash, request: Request) -> Response:
        was_here = not service().shelf.missing([image_hash])
        try:
            key, width, height = await service().add_image(await request.body(), image_hash)
        except WrongHashError as error:
            return Response(error_bytes("hash", str(error)), 409, media_type=JSON)
        except MediaError as error:
            return Response(error_bytes("image", str(error)), 422, media_type=JSON)
        return _json_response(StoredBody(hash=key, width=width, height=height), 200 if was_here else 201)

    @app.post(
        "/images",
        summary="Keep an image and learn its hash",
        status_code=201,
        responses={201: kept, **_IMAGE_ERRORS},
        openapi_extra=_IMAGE_BODY,
    )
    async def post_image(request: Request) -> Response:
        try:
            key, width, height = await service().add_image(await request.body())
        except MediaError as error:
            return Response(error_bytes("image", str(error)), 422, media_type=JSON)
        return _json_response(StoredBody(hash=key, width=width, height=height), 201)

    @app.get(
        "/images/{image_hash}",
        summary="An image's file",
        response_class=Response,
        responses={
            200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
            **errors(s404="It is not here", s422="That is no hash"),
        },
    )
    async def get_image(image_hash: PathHash) -> Response:
        raw = service().shelf.read(image_hash)
        if raw is None:
            return Response(error_bytes("no_image", f"the image {image_hash} is not here"), 404, media_type=JSON)
        return Response(raw, media_type="application/octet-stream")


async def _unless_left(request: Request, calling: Coroutine[None, None, Reply]) -> Reply | None:
    """What the call gives; None when its client has left meanwhile, and waits no more."""

    async def wait_until_left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    call, leaving = asyncio.ensure_future(calling), asyncio.ensure_future(wait_until_left())
    try:
        await asyncio.wait((call, leaving), return_when=asyncio.FIRST_COMPLETED)
        return call.result() if call.done() else None
    finally:
        for task in (call, leaving):
            task.cancel()
        await asyncio.gather(call, leaving, return_exceptions=True)


def _add_calls(app: FastAPI, service: Callable[[], ToolService]) -> None:
    @app.post(
        "/tools/{name}",
        summary="Call a tool",
        responses={200: in_json(ResultBody), **_CALL_ERRORS},
        openapi_extra={"requestBody": {**in_json(CallBody), "required": True}},
    )
    async def call_tool(name: str, request: Request) -> Response:
        # A page of another site may send a form without asking; JSON it may not.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise BrokenRecordError(f"the body must be sent as {JSON}")
        body = MESSAGES.read(CallBody, await request.body(), "the body")
        calling = service().call(
            name,
            arguments=body.arguments,
            images=body.images,
            call_id=body.call_id or uuid.uuid4().hex,
            deadline_s=body.deadline_s,
        )
        reply = await _unless_left(request, calling)
        if reply is None:
            # Nobody reads it.
            return Response(status_code=499)
        wait_s = reply.retry_after_s
        headers = None if wait_s is None else {"Retry-After": str(math.ceil(wait_s))}
        return Response(reply.outcome.body, reply.outcome.status, headers=headers, media_type=JSON)
