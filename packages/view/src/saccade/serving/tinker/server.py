"""A server for Tinker's client from its start to its end."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import torch
from jaxtyping import Int
from starlette.applications import Starlette
from torch import Tensor

from saccade.characters import shell_words
from saccade.errors import UserError, missing_extra
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.services.http.listening import new_event_loop
from saccade.services.logs import log_as_json
from saccade.serving.served_app import ServedApp
from saccade.serving.tinker.app import create_tinker_app
from saccade.serving.tinker.service import TinkerService
from saccade.serving.tinker.settings import TinkerSettings

logger = logging.getLogger(__name__)

_DRAIN_S = 5
_KEY = "tml-"


def check_key(token: str | None, *, variable: str) -> None:
    """UserError for a token that the client refuses to send."""
    if token is not None and not token.startswith(_KEY):
        raise UserError(f"{variable} must begin with {_KEY!r}: Tinker's client sends no other key")


def shared_models(path: Path, settings: LoadSettings) -> tuple[VisionLanguageModel, Callable[[], VisionLanguageModel]]:
    """A checkpoint, and a maker of further models of it that have its very weights and take no room of their own.

    UserError for the checkpoint of an adapter, which would be trained on a base that no file has.
    """
    if find_spec("peft") is None:
        raise missing_extra("lora", "peft", needed_for="LoRA")
    media = MediaStore()

    def loaded() -> VisionLanguageModel:
        model = load_model(path, media, settings)
        if model.adapter is not None:
            raise UserError(f"{path} is an adapter; merge it: `saccade merge {shell_words(path)} OUT`, and give OUT")
        model.take_precision()
        model.forbidden_ids = _never_written(model)
        return model

    base = loaded()
    base.hf.requires_grad_(False)

    def another() -> VisionLanguageModel:
        model = loaded()
        own = dict(base.hf.named_parameters())
        for name, weight in model.hf.named_parameters():
            weight.data = own[name].data
        return model

    return base, another


def _never_written(model: VisionLanguageModel) -> Int[Tensor, "forbidden"]:
    """The placeholder of a picture, and ids without a token.

    A model's turns have no scaffolding elsewhere in Saccade; here the client writes it, and may train on it.
    """
    beyond = range(len(model.tokenizer), model.vocab_size)
    return torch.tensor([*sorted({model.image_token_id, *beyond})], dtype=torch.long, device=model.device)


class TinkerServer(ServedApp):
    """One server, and its life from the first request to the last."""

    def __init__(
        self,
        base: VisionLanguageModel,
        another: Callable[[], VisionLanguageModel],
        settings: TinkerSettings,
        *,
        root: Path,
        token: str | None = None,
    ) -> None:
        self.service = TinkerService(base, another, settings, root=root)
        self.serve(
            create_tinker_app(self.service, token=token, lifespan=self._lifespan),
            (settings.host, settings.port),
            request_s=settings.request_s,
            drain_s=_DRAIN_S,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.service.queue.start()
        (host, port), name = self.address, self.service.settings.name
        logger.info("serving", extra={"fields": {"host": host, "port": port, "pid": os.getpid(), "model": name}})
        try:
            yield
        finally:
            self.service.queue.close()
            logger.info("served")


def serve_tinker(server: TinkerServer, listener: socket.socket) -> None:
    """Serves until SIGTERM or SIGINT; work that waits is cancelled."""
    log_as_json(logging.INFO)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(server.run(listener))
