"""``VllmEngine``: the ``Engine`` whose tokens vLLM samples, on one server or on several replicas."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import httpx2

from saccade.engines.continuing import Placeholders, check_continues
from saccade.engines.engine import EngineContext, EngineLostError, Sampling, ScoreRequest, WeightSource
from saccade.engines.in_flight import spans_of
from saccade.engines.sampling import TokenBytes
from saccade.engines.vllm.pixels import is_sent
from saccade.engines.vllm.replica import (
    CACHES,
    CONNECT_WITHIN_S,
    NamedWeights,
    OtherWeightsError,
    Replica,
    ReplicaLink,
    ServerLostError,
)
from saccade.engines.vllm.server import VllmServer, started_for
from saccade.engines.vllm.settings import VllmSettings
from saccade.engines.vllm.slot import VllmSlot
from saccade.engines.vllm.weights import WeightsFolder
from saccade.engines.vllm.wire import (
    SCORING,
    BadReplyError,
    SampledTokens,
    read_sampled,
    read_scores,
    rules_of,
    sampling_params,
)
from saccade.errors import SaccadeError, UserError
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, VersionSpan
from saccade.waiting import run_to_end

Found = TypeVar("Found")

LOOK_AGAIN_S = 0.5
STRANGERS_TOLERATED = 3
"""Answers by other weights than ours, to one turn. A restarted server gives one; another run that uses it, many."""

logger = logging.getLogger(__name__)


class VllmEngine:
    """Our ids and our pixels go in; tokens, log-probabilities and the name of the weights come back.

    A turn that a server did not finish is asked for again, from its own ids and with its own seed, at the server that
    is there first; a batch is played anew only after ``patience_s`` without any.
    """

    has_own_weights = True
    counts_positions = True
    cuts_before_logprobs = True
    """Its log-probabilities are those of the tokens that top-p and top-k leave, renormalised."""

    def __init__(
        self,
        context: EngineContext,
        settings: VllmSettings = VllmSettings(),
        *,
        logs: Path | None = None,
        resets: tuple[str, ...] = CACHES,
    ) -> None:
        """Starts a server where the settings name none; it loads while the run goes on.

        ``logs`` is where a started server writes, by default its temporary folder. ``resets`` are the caches that an
        update empties: fewer than all is for tests of what then happens.
        """
        settings.check()
        self.model: VisionLanguageModel = context.model
        if not is_sent(self.model):
            raise UserError(
                f"pictures of {self.model.family.model_type} are not sent to vLLM yet; leave engine=vllm out, and the "
                "engine in this process samples"
            )
        self._settings = settings
        self._policy_version = context.policy_version
        self._rules = rules_of(context.model)
        self.end_ids = context.model.end_ids
        self._forbidden = frozenset(int(token) for token in context.model.forbidden_ids.tolist())
        self._image_tokens = Placeholders(context.model)
        self._token_bytes = TokenBytes(context.model.tokenizer)
        self._ssl = ssl.create_default_context()
        self._weights = WeightsFolder(settings.folder)
        self._newest: NamedWeights = self._weights.write(context.model, context.policy_version)
        self._server: VllmServer | None = None
        urls = settings.urls
        if not urls:
            self._server = started_for(context, settings, self._weights.path, logs=logs)
            urls = (self._server.url,)
        self._replicas = [Replica(url=url.rstrip("/"), resets=resets) for url in urls]
        self._lost = 0
        self._is_open = self._is_closed = False
        self._flight: tuple[NamedWeights, ...] | None = None
        """Weights that may sample the batch that is open, or the next one, where they change in its midst."""

    @property
    def policy_version(self) -> int:
        return self._policy_version

    @property
    def lost_answers(self) -> int:
        """Requests that a server did not answer, or answered with other weights; each was asked again."""
        return self._lost

    @property
    def server(self) -> VllmServer | None:
        """The one that was started for this engine."""
        return self._server

    def take_restarts(self) -> Sequence[str]:
        """Of the server that was started for this engine; servers that ran already tell nobody."""
        return () if self._server is None else self._server.take_restarts()

    @asynccontextmanager
    async def sequences(self, labels: Sequence[str]) -> AsyncIterator[Sequence["VllmSlot"]]:
        """A slot for each trajectory of a batch; one batch at a time."""
        if self._is_open:
            raise SaccadeError("another batch is open at this engine; sample one batch at a time")
        self._is_open, is_lost = True, False
        try:
            async with self._connections() as connections:
                slots = [
                    VllmSlot(label, self, partial(self._sample_tokens, connections, place))
                    for place, label in enumerate(labels)
                ]
                try:
                    yield slots
                finally:
                    for slot in slots:
                        slot.close()
        except EngineLostError:
            # The batch is played anew, with the weights that are on their way to it.
            is_lost = True
            raise
        finally:
            self._is_open = False
            if not is_lost:
                self._flight, self._policy_version = None, self._newest.version

    async def score(self, ids: Sequence[int], images: Sequence[ImageRef], start: int) -> tuple[float, ...]:
        """log p of each of ``ids[start:]`` given everything before it, at temperature 1; see ``score_batch``."""
        [scores] = await self.score_batch([ScoreRequest(ids=tuple(ids), images=tuple(images), start=start)])
        return scores

    async def score_batch(
        self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0
    ) -> tuple[tuple[float, ...], ...]:
        """log p of each token of each request's text, over the whole vocabulary; at temperature 1 alone."""
        _check_scored(requests, temperature)
        async with self._connections() as connections:
            asked = [self._scores(connections, place, one) for place, one in enumerate(requests)]
            return tuple(await asyncio.gather(*asked))

    async def score_at_each(self, requests: Sequence[ScoreRequest]) -> dict[str, tuple[tuple[float, ...], ...]]:
        """``score_batch`` of every replica, by its address, so that none stays behind unnoticed."""
        _check_scored(requests, 1.0)
        found: dict[str, tuple[tuple[float, ...], ...]] = {}
        async with self._connections() as connections:
            for connection in connections:
                asked = [self._scores([connection], 0, one) for one in requests]
                found[connection.replica.url] = tuple(await asyncio.gather(*asked))
        return found

    def update_weights(self, source: WeightSource, version: int) -> None:
        """Writes the weights down and waits until every server that is there samples with them."""
        self.take_weights(self._weights.write(source, version).path, version)

    def take_weights(self, path: Path, version: int) -> None:
        """Samples with the weights in this file from here on; its name is theirs, and it stays until the next.

        Servers that are shared by several engines exchange them once.
        """
        expected = self._flight is not None and len(self._flight) == 1
        if self._is_open and not expected:
            raise SaccadeError("the weights changed while trajectories were being sampled; end their batch first")
        newest = NamedWeights(path=path, version=version)
        if self._flight is None:
            self._policy_version = version
        else:
            self._flight = (*self._flight, newest)
        before, self._newest = self._newest, newest
        self._weights.drop(before.path, kept=path)
        run_to_end(self._tell_all(in_flight=expected))

    def expect_weights(self, after_steps: int) -> None:
        """As ``Abilities.expect_weights``: the servers take them over as they come, whatever ``after_steps`` is."""
        self._flight = (self._newest,)

    def versions_of(self, weights: Sequence[str]) -> tuple[VersionSpan, ...]:
        """Spans of versions for the names of the weights of each token; none in a batch whose weights do not change."""
        numbers = {one.name: one.version for one in self._flight or ()}
        return spans_of([numbers[name] for name in weights]) if numbers else ()

    def reset(self) -> None:
        """Empties all caches of pictures and prompts."""
        run_to_end(self._reset_all())

    async def aclose(self) -> None:
        """Ends the server that was started, and deletes weights; servers that ran already go on."""
        if not self._is_closed:
            self._is_closed = True
            if self._server is not None:
                await asyncio.to_thread(self._server.close)
            self._weights.close()

    async def _tell_all(self, *, in_flight: bool) -> None:
        async with self._connections(waits=False) as connections:
            for connection in connections:
                try:
                    await connection.bring_up_to_date(self._newest, in_flight=in_flight)
                except ServerLostError as error:
                    self._note_lost(connection.replica, error)

    async def _reset_all(self) -> None:
        async with self._connections(waits=False) as connections:
            await asyncio.gather(*(connection.reset() for connection in connections))

    @asynccontextmanager
    async def _connections(self, *, waits: bool = True) -> AsyncIterator[list[ReplicaLink]]:
        """Connections of this event loop; where a server was started, when it has begun to answer."""
        if self._is_closed:
            raise SaccadeError("this engine is closed; make another one")
        if self._server is not None and (waits or self._server.is_ready):
            await asyncio.to_thread(self._server.wait_ready)
        elif self._server is not None:
            yield []
            return
        timeout = httpx2.Timeout(self._settings.timeout_s, connect=CONNECT_WITHIN_S, pool=None)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(verify=self._ssl, timeout=timeout, limits=limits, trust_env=False) as client:
            yield [ReplicaLink(replica, client, self.model, self._rules) for replica in self._replicas]

    async def _first_answer(
        self, connections: Sequence[ReplicaLink], place: int, ask: Callable[[ReplicaLink], Awaitable[Found]]
    ) -> Found:
        """The first answer that counts, of the replica with this place or, while that is down, of another one."""
        order = [*connections[place % len(connections) :], *connections[: place % len(connections)]]
        until_s, strangers = time.monotonic() + self._settings.patience_s, 0
        while True:
            chosen = next((one for one in order if not one.replica.is_down), order[0])
            try:
                found = await ask(chosen)
            except ServerLostError as error:
                self._note_lost(chosen.replica, error)
                strangers += isinstance(error, OtherWeightsError)
                if time.monotonic() > until_s or strangers > STRANGERS_TOLERATED:
                    raise EngineLostError(str(error)) from error
                if all(one.replica.is_down for one in order):
                    await asyncio.sleep(LOOK_AGAIN_S)
                    for one in order:
                        one.replica.is_down = one is not chosen and one.replica.is_down
                        order = [*order[1:], order[0]]
                continue
            chosen.replica.is_down = False
            return found

    def _note_lost(self, replica: Replica, error: ServerLostError) -> None:
        self._lost += 1
        replica.forget()
        if not replica.is_down:
            replica.is_down = True
            logger.warning("%s; its unanswered requests are sent again", error)

    def _check_answer(self, versions: frozenset[str], replica: Replica) -> None:
        if not versions <= {one.name for one in self._flight or (self._newest,)}:
            raise OtherWeightsError(
                f"{replica.url} sampled with weights {', '.join(sorted(versions))} in place of {self._newest.name}; if "
                "another run uses this server, give each its own"
            )

    async def _scores(self, connections: Sequence[ReplicaLink], place: int, one: ScoreRequest) -> tuple[float, ...]:
        async def ask(connection: ReplicaLink) -> tuple[float, ...]:
            reply = await connection.generate(one.ids, one.images, SCORING, self._newest)
            scores, versions = read_scores(reply, one.ids, one.start)
            self._check_answer(versions, connection.replica)
            return scores

        return await self._first_answer(connections, place, ask)

    async def _sample_tokens(
        self,
        connections: Sequence[ReplicaLink],
        place: int,
        ids: Sequence[int],
        images: Sequence[ImageRef],
        sampling: Sampling,
        *,
        seed: int,
        max_tokens: int,
    ) -> SampledTokens:
        params = sampling_params(sampling, self._rules, seed=seed, max_tokens=max_tokens)

        async def ask(connection: ReplicaLink) -> SampledTokens:
            found = read_sampled(await connection.generate(ids, images, params, self._newest))
            self._check_answer(frozenset(found.weights), connection.replica)
            return found

        return await self._first_answer(connections, place, ask)

    def check(self, slot: "VllmSlot", ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> None:
        check_continues(slot, ids, images, sampling, seed=slot.seed, image_tokens=self._image_tokens)

    def token_bytes(self, token: int) -> bytes:
        """The token's bytes; raises ``BadReplyError`` for one that no policy writes."""
        if token in self._forbidden:
            raise BadReplyError(f"the engine sampled token {token}, which only an environment may write")
        return self._token_bytes[token]


def _check_scored(requests: Sequence[ScoreRequest], temperature: float) -> None:
    if temperature != 1:
        raise UserError(f"temperature={temperature}: vLLM gives log-probabilities of texts only at temperature 1")
    for one in requests:
        if not 1 <= one.start <= len(one.ids):
            raise ValueError(f"start={one.start} must be between 1 and the {len(one.ids)} tokens given")
