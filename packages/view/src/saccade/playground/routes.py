"""Routes of the playground: what can be asked, a picture, a question, its samples as events, a stop."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from saccade.errors import UserError
from saccade.playground.asking import MAX_SAMPLES, read_ask
from saccade.playground.talk import Talk
from saccade.rollout.episodes import EpisodeSpec
from saccade.runs.task_json import image_to_json
from saccade.types import Json
from saccade.viewer.app.answers import reply

_PICTURE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp")


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaygroundOffer:
    """What pages can choose from."""

    model: str
    protocols: Mapping[str, EpisodeSpec]
    usual: str
    """The protocol that is chosen at first."""


def chat_routes(talk: Talk, offer: PlaygroundOffer) -> list[Route]:
    """Questions to a model, for the page ``#/chat``. Writing is guarded as everywhere in the viewer."""

    def about(_: Request) -> Response:
        return reply(offer_json(talk, offer))

    async def upload(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in _PICTURE_TYPES:
            raise UserError(f"the picture is of type {kind[:60]!r}; {', '.join(_PICTURE_TYPES)} are taken")
        raw = await request.body()
        image = await asyncio.get_running_loop().run_in_executor(None, talk.add_picture, raw, "the picture")
        return reply({"image": image_to_json(image)}, 201)

    async def ask(request: Request) -> Response:
        asked = read_ask(await request.body(), offer.protocols, offer.usual)
        ids: list[Json] = list(talk.ask(asked))
        return reply({"ids": ids}, 201)

    async def events(request: Request) -> Response:
        stream = talk.sample(request.path_params["identity"]).events()
        return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def stop(request: Request) -> Response:
        talk.sample(request.path_params["identity"]).end_now()
        return reply({})

    return [
        Route("/api/chat", about),
        Route("/api/chat/pictures", upload, methods=["POST"]),
        Route("/api/chat", ask, methods=["POST"]),
        Route("/api/chat/{identity}/events", events),
        Route("/api/chat/{identity}/stop", stop, methods=["POST"]),
    ]


def offer_json(talk: Talk, offer: PlaygroundOffer) -> dict[str, Json]:
    usual = offer.protocols[offer.usual]
    protocols: list[Json] = [
        {"name": name, "tools": [tool.spec.name for tool in spec.tools] if spec.protocol.offers_tools else []}
        for name, spec in offer.protocols.items()
    ]
    return {
        "model": offer.model,
        "run": talk.shown.id,
        "protocols": protocols,
        "protocol": offer.usual,
        "defaults": {"temperature": usual.rollout.temperature, "samples": 1},
        "most_samples": MAX_SAMPLES,
        "pictures": [image_to_json(image) for image in talk.pictures.values()],
        "last": talk.last,
    }
