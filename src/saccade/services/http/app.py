"""The HTTP contract: images, calls, and what the machines around a server ask."""

import math
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from saccade import __version__
from saccade.media.decode import MediaError
from saccade.services.http.guards import OriginGuard, TokenGate, UploadGuard, UploadLimits, error_bytes
from saccade.services.http.openapi import (
    CallBody,
    ErrorBody,
    HealthBody,
    ImageHash,
    ReadyBody,
    ResultBody,
    StoredBody,
    ToolsBody,
    describe,
)
from saccade.services.http.service import ToolService
from saccade.services.images import WrongHashError
from saccade.services.settings import ToolServerSettings
from saccade.types import Json

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

JSON = "application/json"

_IMAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ("image/png", "image/jpeg")},
    }
}


def _errors(**about: str) -> dict[int | str, dict[str, Any]]:
    """Documented answers, by status."""
    return {int(status.removeprefix("s")): {"model": ErrorBody, "description": text} for status, text in about.items()}


_IMAGE_ERRORS = _errors(
    s408="The body took too long",
    s503="Too many bytes are being sent at the same time",
    s413="The image is too large",
    s422="The image cannot be read",
)
_CALL_ERRORS = _errors(
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

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        body = error_bytes("request", error.detail)
        return Response(body, error.status_code, headers=error.headers, media_type=JSON)


def _add_states(app: FastAPI, service: Callable[[], ToolService]) -> None:
    @app.get("/health", summary="Whether the server is up")
    async def health() -> HealthBody:
        return HealthBody(status="ok")

    @app.get(
        "/ready",
        summary="Whether every tool has a worker",
        response_model=ReadyBody,
        responses={503: {"model": ReadyBody, "description": "Not yet"}},
    )
    async def ready() -> Response:
        waiting = service().not_ready
        body = ReadyBody(status="starting" if waiting else "ready", waiting_for=waiting)
        return Response(body.model_dump_json(), 503 if waiting else 200, media_type=JSON)

    @app.get(
        "/metrics",
        summary="Numbers, in Prometheus' text format",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        return Response(service().metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/tools", summary="The tools and their schemas", responses=_errors(s503="The workers are starting"))
    async def tools() -> ToolsBody:
        found = service().tools()
        if len(found) < len(service().tool_names):
            raise HTTPException(503, "the workers are starting; see /ready", headers={"Retry-After": "1"})
        return ToolsBody.model_validate({"tools": found})


def _add_images(app: FastAPI, service: Callable[[], ToolService]) -> None:
    stored: dict[int | str, dict[str, Any]] = {
        200: {"model": StoredBody, "description": "It was here"},
        201: {"model": StoredBody, "description": "Kept"},
        409: {"model": ErrorBody, "description": "The body is another image"},
    }

    @app.put(
        "/images/{image_hash}",
        summary="Keep an image under its hash",
        response_model=StoredBody,
        responses={**stored, **_IMAGE_ERRORS},
        openapi_extra=_IMAGE_BODY,
    )
    async def put_image(image_hash: Annotated[ImageHash, Path()], request: Request) -> Response:
        was_here = not service().shelf.missing([image_hash])
        try:
            key, width, height = await service().add_image(await request.body(), image_hash)
        except WrongHashError as error:
            return Response(error_bytes("hash", str(error)), 409, media_type=JSON)
        except MediaError as error:
            return Response(error_bytes("image", str(error)), 422, media_type=JSON)
        body = StoredBody(hash=key, width=width, height=height)
        return Response(body.model_dump_json(), 200 if was_here else 201, media_type=JSON)

    @app.post(
        "/images",
        summary="Keep an image and learn its hash",
        status_code=201,
        response_model=StoredBody,
        responses=_IMAGE_ERRORS,
        openapi_extra=_IMAGE_BODY,
    )
    async def post_image(request: Request) -> Response:
        try:
            key, width, height = await service().add_image(await request.body())
        except MediaError as error:
            return Response(error_bytes("image", str(error)), 422, media_type=JSON)
        body = StoredBody(hash=key, width=width, height=height)
        return Response(body.model_dump_json(), 201, media_type=JSON)

    @app.get(
        "/images/{image_hash}",
        summary="An image's file",
        response_class=Response,
        responses={
            200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
            **_errors(s404="It is not here", s422="That is no hash"),
        },
    )
    async def get_image(image_hash: Annotated[ImageHash, Path()]) -> Response:
        raw = service().shelf.read(image_hash)
        if raw is None:
            return Response(error_bytes("no_image", f"the image {image_hash} is not here"), 404, media_type=JSON)
        return Response(raw, media_type="application/octet-stream")


def _add_calls(app: FastAPI, service: Callable[[], ToolService]) -> None:
    @app.post("/tools/{name}", summary="Call a tool", response_model=ResultBody, responses=_CALL_ERRORS)
    async def call_tool(name: str, body: CallBody) -> Response:
        arguments: Mapping[str, Json] = body.arguments  # type: ignore[assignment]
        reply = await service().call(
            name,
            arguments=arguments,
            images=body.images,
            call_id=body.call_id or uuid.uuid4().hex,
            deadline_s=body.deadline_s,
        )
        wait_s = reply.retry_after_s
        headers = None if wait_s is None else {"Retry-After": str(math.ceil(wait_s))}
        return Response(reply.outcome.body, reply.outcome.status, headers=headers, media_type=JSON)
