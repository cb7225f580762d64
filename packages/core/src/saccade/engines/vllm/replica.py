"""One vLLM server, as the engine speaks to it: pictures once, weights by name, and nothing taken from unnamed ones."""

import asyncio
import fcntl
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from saccade.engines.vllm.pixels import encoded_image
from saccade.engines.vllm.wire import PRIMING, TokenRules, generate_body
from saccade.errors import SaccadeError, UserError
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Json

logger = logging.getLogger(__name__)

CACHES = ("prefix", "mm", "encoder")
"""What vLLM keeps of old weights and pictures. One that is left makes samples of a policy that never was."""

UNNAMED = "being-changed"
"""The version of weights while they are exchanged; it is never asked for."""

CONNECT_WITHIN_S = 10.0
END_WITHIN_S = 10.0


class ServerLostError(Exception):
    """The server gave no answer that counts: it is down, hung, being restarted, or has other weights."""


class OtherWeightsError(ServerLostError):
    """An answer by weights that were not asked for."""


class _FaultError(Exception):
    """Status 500: a dead engine core, or a picture that the server holds no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedWeights:
    """Weights in a file; the servers call them by its name."""

    path: Path
    version: int

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(eq=False, kw_only=True, slots=True)
class Replica:
    """What is known of a server, over all event loops."""

    url: str
    resets: tuple[str, ...] = CACHES
    has: str | None = None
    """The weights that it is known to have; None where that must be asked."""
    images: set[str] = field(default_factory=set)
    """Hashes of pictures that it was sent."""
    is_down: bool = False
    is_ours: bool = True
    """Whether weights are given to it, and it is ended where it hangs; one of others is only asked."""

    def forget(self) -> None:
        """It may be another process by now."""
        self.has = None
        self.images.clear()


class ReplicaLink:
    """A replica in one event loop."""

    def __init__(
        self, replica: Replica, client: httpx2.AsyncClient, model: VisionLanguageModel, rules: TokenRules
    ) -> None:
        self.replica = replica
        self._client = client
        self._model = model
        self._rules = rules
        self._updating = asyncio.Lock()
        self._sending: dict[str, asyncio.Lock] = {}

    async def generate(
        self, ids: Sequence[int], images: Sequence[ImageRef], params: Mapping[str, Json], weights: NamedWeights | None
    ) -> Json:
        """The reply to a request for what follows from ``ids``, by a server that was seen to have these weights.

        None takes those that it has.
        Raises ``ServerLostError``; ValueError for placeholders without images.
        """
        body = self._body(ids, images, params)
        if weights is not None:
            await self.bring_up_to_date(weights)
        await self._send(images)
        try:
            return await self._post("/inference/v1/generate", body)
        except _FaultError:
            if not images:
                raise ServerLostError(f"{self.replica.url} answers with errors") from None
        # It may have dropped a picture, which is the same status as its engine's death.
        self.replica.images.clear()
        try:
            await self._send(images)
            return await self._post("/inference/v1/generate", body)
        except _FaultError:
            raise ServerLostError(f"{self.replica.url} answers with errors") from None

    async def bring_up_to_date(self, weights: NamedWeights, *, in_flight: bool = False) -> None:
        """Gives it the weights unless it has them; ``ServerLostError`` where it is not there.

        ``in_flight`` lets what it samples at present go on with them, where otherwise it is waited for.
        """
        if self.replica.has == weights.name:
            return
        async with self._updating:
            if self.replica.has != weights.name:
                # Several processes may share the server, and each is told of the weights.
                async with _alone_with(self.replica.url, weights.path.parent):
                    if await self._weights_there() != weights.name:
                        await self._update(weights, in_flight=in_flight)
                self.replica.has = weights.name

    async def reset(self) -> None:
        """Empties its caches; one that is down has none."""
        self.replica.images.clear()
        with suppress(ServerLostError, _FaultError):
            for cache in self.replica.resets:
                await self._post(f"/reset_{cache}_cache")

    async def end(self) -> None:
        """Ends the server's worker, after which whoever started it starts it again."""
        self.replica.forget()
        with suppress(ServerLostError, _FaultError, SaccadeError):
            await self._post("/collective_rpc", {"method": "saccade_end"}, timeout_s=END_WITHIN_S)

    async def _weights_there(self) -> str:
        try:
            reply = await self._request("GET", "/weight_info", None, None)
        except _FaultError as error:
            raise ServerLostError(str(error)) from None
        return str(reply.get("weight_version")) if isinstance(reply, dict) else ""

    async def _update(self, weights: NamedWeights, *, in_flight: bool) -> None:
        """All or nothing: a server that has half of the weights is ended. It samples under the new name at the end."""
        self.replica.forget()
        # vLLM clears caches when it pauses too; not where a test leaves one out.
        clears = str(self.replica.resets == CACHES).lower()
        try:
            await self._post(f"/pause?mode={'keep' if in_flight else 'wait'}&clear_cache={clears}")
            await self._post("/update_weight_version", {"new_version": UNNAMED})
            await self._post("/init_weight_transfer_engine", {"init_info": {}})
            await self._post("/start_weight_update")
            await self._post("/update_weights", {"update_info": {"path": str(weights.path.absolute())}})
            await self._post("/finish_weight_update", {"weight_version": UNNAMED})
            for cache in self.replica.resets:
                await self._post(f"/reset_{cache}_cache")
            await self._post("/update_weight_version", {"new_version": weights.name})
            await self._post("/resume")
        except (_FaultError, ServerLostError, SaccadeError) as error:
            await self.end()
            raise ServerLostError(f"{self.replica.url}: its weights could not be exchanged ({error})") from None

    async def _send(self, images: Sequence[ImageRef]) -> None:
        """Pixels of what it has not seen, each picture once however many turns show it.

        A request of its own, for the answer to a turn comes only when the turn is over.
        """
        for image in images:
            if image.hash in self.replica.images:
                continue
            async with self._sending.setdefault(image.hash, asyncio.Lock()):
                if image.hash not in self.replica.images:
                    count = self._model.view.token_count(image)
                    ids = [*[self._rules.image_token_id] * count, self._rules.eos_id]
                    pixels = [await asyncio.to_thread(encoded_image, self._model, image)]
                    try:
                        await self._post(
                            "/inference/v1/generate",
                            generate_body(ids, [image], PRIMING, self._rules, counts=[count], pixels=pixels),
                        )
                    except _FaultError as error:
                        raise ServerLostError(str(error)) from None
                    self.replica.images.add(image.hash)

    def _body(self, ids: Sequence[int], images: Sequence[ImageRef], params: Mapping[str, Json]) -> dict[str, Json]:
        counts = [self._model.view.token_count(image) for image in images]
        return generate_body(ids, images, params, self._rules, counts=counts)

    async def _post(self, path: str, body: Json = None, timeout_s: float | None = None) -> Json:
        return await self._request("POST", path, body, timeout_s)

    async def _request(self, method: str, path: str, body: Json, timeout_s: float | None) -> Json:
        timeout = self._client.timeout if timeout_s is None else httpx2.Timeout(timeout_s)
        try:
            response = await self._client.request(method, self.replica.url + path, json=body, timeout=timeout)
        except httpx2.ReadTimeout:
            # Hung: it would not come back by itself.
            if path != "/collective_rpc" and self.replica.is_ours:
                await self.end()
            raise ServerLostError(f"{self.replica.url} was silent for {timeout.read} s") from None
        except httpx2.TransportError as error:
            raise ServerLostError(f"{self.replica.url}: {type(error).__name__} {error}".rstrip()) from None
        if response.status_code >= 500:
            raise _FaultError(f"{self.replica.url}{path} answers {response.status_code}: {response.text[:200]}")
        if response.status_code >= 400:
            raise UserError(_refusal(self.replica.url + path, response))
        try:
            reply: Json = response.json() if response.content else None
        except ValueError:
            raise ServerLostError(f"{self.replica.url}{path} does not answer with JSON: {response.text[:80]}") from None
        return reply


def _refusal(where: str, response: httpx2.Response) -> str:
    said = response.text[:500]
    hint = ""
    if response.status_code == 404:
        hint = ". It is no server that `saccade engine serve` started, or vLLM is of another version than 0.32"
    elif "max_model_len" in said or "maximum" in said:
        hint = ". Start it with a longer --max-model-len, or lower rollout.max_tokens"
    return f"{where} refuses with status {response.status_code}: {said}{hint}"


@asynccontextmanager
async def _alone_with(url: str, folder: Path) -> AsyncIterator[None]:
    """No other process exchanges this server's weights meanwhile."""
    name = hashlib.blake2b(url.encode(), digest_size=8).hexdigest()
    with (folder / f"update-{name}.lock").open("w") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield
