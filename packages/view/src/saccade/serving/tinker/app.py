"""The routes that Tinker's client asks (version 0.38 of its package), and what guards them."""

import logging
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from saccade.errors import UserError
from saccade.parsing import json_value
from saccade.services.http.guards import OriginGuard, TokenGate, UploadGuard, UploadLimits
from saccade.serving.app import Lifespan
from saccade.serving.tinker import listings
from saccade.serving.tinker.messages import loss_request
from saccade.serving.tinker.service import BusyError, TinkerService, UnknownIdError
from saccade.serving.tinker.work import Work, failure_of, wait_until_done
from saccade.strict_json import strict_json
from saccade.types import Json

logger = logging.getLogger(__name__)

_POLL_S = 20.0
"""For which a question for a result waits; the client's own limit is 45."""
_SMALL_BODY = 1 << 20
_LARGE = ("/api/v1/forward_backward", "/api/v1/asample")

Endpoint = Callable[[dict[str, Json]], Json]
"""Of the body of a request, or of the names in its path."""


def create_tinker_app(service: TinkerService, *, token: str | None, lifespan: Lifespan | None = None) -> Starlette:
    """The application, with its guards."""
    settings = service.settings
    limits = UploadLimits(
        most_bytes=lambda path: settings.max_body_mb << 20 if path in _LARGE else _SMALL_BODY,
        together_bytes=settings.uploads_mb << 20,
        within_s=settings.request_s,
    )
    guards = [Middleware(OriginGuard, host=settings.host, has_token=token is not None, form=_refusal)]
    if token is not None:
        guards.append(Middleware(TokenGate, token=token, form=_refusal, takes_keys=True))
    guards.append(Middleware(UploadGuard, limits=limits, form=_refusal))
    return Starlette(
        routes=[*_results(service), *_training(service), *_sampling(service), *_sessions(service), *_lists(service)],
        middleware=guards,
        exception_handlers={HTTPException: _http_error, Exception: _server_error},
        lifespan=lifespan,
    )


def _refusal(_: int, __: str, message: str) -> bytes:
    return strict_json({"detail": message}).encode()


def _error(status: int, message: str) -> Response:
    return Response(_refusal(status, "", message), status, media_type="application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    missing = f"{request.method} {request.url.path[:100]} is not served here"
    return _error(error.status_code, missing if error.status_code in (404, 405) else str(error.detail))


async def _server_error(_: Request, error: Exception) -> Response:
    return _error(500, f"the server failed: {type(error).__name__}")


def _guarded(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Errors of a request in words that the client shows; it asks again after 429."""

    async def endpoint(request: Request) -> Response:
        try:
            return await answer(request)
        except UnknownIdError as error:
            return _error(404, str(error))
        except BusyError as error:
            return _error(429, str(error))
        except UserError as error:
            return _error(400, str(error))

    return endpoint


def _post(path: str, endpoint: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        given = await _body(request) | {f"path:{name}": value for name, value in request.path_params.items()}
        return Response(strict_json(endpoint(given)), media_type="application/json")

    return Route(f"/api/v1/{path}", _guarded(answer), methods=["POST"])


def _get(path: str, endpoint: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        given = {f"path:{name}": value for name, value in request.path_params.items()}
        return Response(strict_json(endpoint(given)), media_type="application/json")

    return Route(f"/api/v1/{path}", _guarded(answer))


async def _body(request: Request) -> dict[str, Json]:
    raw = await request.body()
    try:
        value = json_value(raw) if raw else {}
    except ValueError as error:
        raise UserError(f"the body is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UserError("the body must be a JSON object")
    return value


def _promise(work: Work, **more: Json) -> Json:
    return {"request_id": work.request_id, **more}


def _results(service: TinkerService) -> list[Route]:
    async def retrieve(request: Request) -> Response:
        ident = (await _body(request)).get("request_id")
        work = service.queue.find(ident) if isinstance(ident, str) else None
        if work is None:
            raise UnknownIdError(f"there is no request {str(ident)[:80]!r} here, or its answer was let go")
        if not await wait_until_done(work, _POLL_S):
            # The client asks again at once, and without a word.
            return JSONResponse({"type": "try_again", "request_id": work.request_id, "queue_state": "active"}, 408)
        work.is_read = True
        if (failure := failure_of(work)) is not None:
            return JSONResponse(failure)
        answer = work.future.result()
        if isinstance(answer, bytes):
            return Response(answer, media_type="application/x-protobuf")
        return Response(strict_json(answer), media_type="application/json")

    def cancel(body: dict[str, Json]) -> Json:
        service.queue.cancel(str(body.get("request_id")))
        return {}

    return [
        Route("/api/v1/retrieve_future", _guarded(retrieve), methods=["POST"]),
        _post("cancel_future", cancel),
    ]


def _training(service: TinkerService) -> list[Route]:
    async def forward_backward(request: Request) -> Response:
        if encoding := request.headers.get("content-encoding"):
            raise UserError(f"a body in content-encoding {encoding[:20]!r} is not read here; client/config says so")
        return JSONResponse(_promise(service.forward_backward(loss_request(await request.body()))))

    def load(body: dict[str, Json]) -> Json:
        is_new = body.get("session_id") is not None
        return _promise(service.create_run(body) if is_new else service.load_weights(body))

    return [
        Route("/api/v1/forward_backward", _guarded(forward_backward), methods=["POST"]),
        _post("create_model", lambda body: _promise(service.create_run(body))),
        _post("optim_step", lambda body: _promise(service.optim_step(body))),
        _post("load_weights", load),
        _post("save_weights", lambda body: _promise(service.save_weights(body, "weights"))),
        _post("save_weights_for_sampler", lambda body: _promise(service.save_weights(body, "sampler_weights"))),
        _post("get_info", lambda body: listings.info(service, body.get("model_id"))),
    ]


def _sampling(service: TinkerService) -> list[Route]:
    def sample(body: dict[str, Json]) -> Json:
        work, names = service.sample(body)
        return _promise(work, sample_sequence_ids=[*names])

    return [
        _post("asample", sample),
        _post("create_sampling_session", lambda body: {"sampling_session_id": service.create_sampler(body)}),
        _get("samplers/{ident}", lambda given: listings.sampler(service, given["path:ident"])),
    ]


def _sessions(service: TinkerService) -> list[Route]:
    def heartbeat(body: dict[str, Json]) -> Json:
        service.note_session(body.get("session_id"))
        return {"type": "session_heartbeat"}

    def finish(given: dict[str, Json]) -> Json:
        service.end_session(str(given["path:ident"]))
        return {}

    return [
        _post("client/config", lambda _: listings.CLIENT_CONFIG),
        _post("client/dynamic_config", lambda _: listings.DYNAMIC_CONFIG),
        _post("create_session", lambda _: {"type": "create_session", "session_id": service.new_session()}),
        _post("session_heartbeat", heartbeat),
        _post("sessions/{ident}/finish", finish),
        # Nothing of it is kept.
        _post("telemetry", lambda _: {"status": "accepted"}),
        _get("healthz", lambda _: {"status": "ok"}),
    ]


def _lists(service: TinkerService) -> list[Route]:
    return [
        _get("get_server_capabilities", lambda _: listings.capabilities(service)),
        _post("weights_info", lambda body: listings.weights_info(service, body.get("tinker_path"))),
        _get("training_runs/{ident}", lambda given: listings.training_run(service, str(given["path:ident"]))),
        _get(
            "training_runs/{ident}/checkpoints", lambda given: listings.checkpoints(service, str(given["path:ident"]))
        ),
    ]
