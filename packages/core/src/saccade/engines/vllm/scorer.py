"""``VllmScorer``: a vLLM server that scores given tokens with the weights that it has, such as a teacher's."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx2

from saccade.engines.vllm.pixels import is_sent
from saccade.engines.vllm.replica import CONNECT_WITHIN_S, Replica, ReplicaLink, ServerLostError
from saccade.engines.vllm.wire import SCORING, BadReplyError, read_listed, rules_of
from saccade.errors import MachineError, UserError
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Json

Found = TypeVar("Found")

PATIENCE_S = 600.0
"""How long a request waits for a server that is gone, or silent."""
_LOOK_AGAIN_S = 2.0
_AT_ONCE = 16
_PROBED = 48
"""Tokens by which the server's tokenizer is told from another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaceRequest:
    """Tokens whose probabilities are asked for: those of ``ids`` at ``places``, each after all before it."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    places: tuple[int, ...]
    """From 1 on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedScores:
    """What a server says of tokens."""

    logprobs: tuple[float, ...]
    listed: tuple[tuple[tuple[int, float], ...], ...]
    """At each place the most likely tokens with their log-probabilities."""


class VllmScorer:
    """A server at ``url`` (``saccade engine serve --model TEACHER``) whose weights nobody changes.

    Its tokens are those of ``model``, whose pixels it is sent. Raises UserError where it reads other tokens, and
    MachineError where it is gone for ``patience_s``, or has other weights than before.
    """

    def __init__(self, model: VisionLanguageModel, url: str, *, patience_s: float = PATIENCE_S) -> None:
        if not is_sent(model):
            raise UserError(
                f"pictures of {model.family.model_type} are not sent to vLLM yet; take a teacher's directory instead"
            )
        self._model = model
        self._rules = rules_of(model)
        self._replica = Replica(url=url.rstrip("/"), is_ours=False)
        self._patience_s = patience_s
        self._ssl = ssl.create_default_context()
        self._weights: frozenset[str] | None = None

    async def check_tokens(self) -> None:
        """UserError for a server whose tokens are spelled otherwise, as far as it says how."""
        tokenizer = self._model.tokenizer
        said = set(range(self._model.vocab_size)) - set(self._model.forbidden_ids.tolist())
        spelled = {one: tokenizer.decode([one]) for one in sorted(said)}
        plain = [one for one, text in spelled.items() if text.isascii() and text.isprintable() and text.strip()]
        probe = plain[:: max(1, len(plain) // _PROBED)]
        asked = PlaceRequest(ids=(self._rules.eos_id, *probe), images=(), places=tuple(range(1, len(probe) + 1)))
        async with self._connection() as link:
            reply = await self._persistently(link, asked, {**SCORING, "detokenize": True}, lambda reply: reply)
        rows = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
        for token, row in zip(probe, rows[1:] if isinstance(rows, list) else ()):
            entry = row.get(str(token)) if isinstance(row, dict) else None
            text = entry.get("decoded_token") if isinstance(entry, dict) else None
            if isinstance(text, str) and text != spelled[token]:
                raise UserError(
                    f"{self._replica.url} has another tokenizer: token {token} is {text!r} there and "
                    f"{spelled[token]!r} here. Token by token only a model with the same tokenizer can teach"
                )

    async def scores(self, requests: Sequence[PlaceRequest], *, top: int = 0) -> list[ListedScores]:
        """log p of each token over the whole vocabulary, at temperature 1, and the ``top`` most likely at its place."""
        places = asyncio.Semaphore(_AT_ONCE)
        async with self._connection() as link:

            async def one_of(request: PlaceRequest) -> ListedScores:
                params = {**SCORING, "prompt_logprobs": top}
                async with places:
                    logprobs, listed, weights = await self._persistently(
                        link, request, params, lambda reply: read_listed(reply, request.ids, request.places, top)
                    )
                self._weights = self._weights or weights
                if weights != self._weights:
                    raise MachineError(
                        f"{self._replica.url} has other weights than before ({', '.join(sorted(weights))}); if another "
                        "run uses this server, give the teacher its own"
                    )
                return ListedScores(logprobs=logprobs, listed=listed)

            return list(await asyncio.gather(*map(one_of, requests)))

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[ReplicaLink]:
        timeout = httpx2.Timeout(PATIENCE_S, connect=CONNECT_WITHIN_S, pool=None)
        async with httpx2.AsyncClient(verify=self._ssl, timeout=timeout, trust_env=False) as client:
            yield ReplicaLink(self._replica, client, self._model, self._rules)

    async def _persistently(
        self, link: ReplicaLink, request: PlaceRequest, params: Mapping[str, Json], read: Callable[[Json], Found]
    ) -> Found:
        until_s = time.monotonic() + self._patience_s
        while True:
            try:
                return read(await link.generate(request.ids, request.images, params, None))
            except (ServerLostError, BadReplyError) as error:
                self._replica.forget()
                if time.monotonic() > until_s:
                    raise MachineError(f"the teacher gave no answer for {self._patience_s:g} s: {error}") from error
            await asyncio.sleep(_LOOK_AGAIN_S)
