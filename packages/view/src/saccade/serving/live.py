"""Episodes that somebody follows while they are played: their words so far, turns put into the mouth, a stop."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from saccade.chat.chat_model import ChatModel, reply_of
from saccade.chat.wire import ChatReply
from saccade.engines.engine import Completion, Engine, Sampling, ScoreRequest, SequenceSlot, ShowsOpenTurn
from saccade.errors import UserError
from saccade.models.chat import Chat
from saccade.rollout.episodes import EpisodeSpec
from saccade.turn_ends import up_to_stop
from saccade.types import Finish, ImageRef, Message

LOOK_EVERY_S = 0.05
"""Between two looks at an open turn: twenty a second read as a stream."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenTurn:
    """A turn that the policy does not sample: one that it wrote before, or one that somebody has edited."""

    text: str
    ids: tuple[int, ...] = ()
    """As they were sampled; none for a text that is new."""
    logprobs: tuple[float, ...] = ()


def _unheard(_: str) -> None:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveEpisode:
    """How one episode differs from the others of its agent. ``stop`` may be set from any thread."""

    spec: EpisodeSpec
    on_text: Callable[[str], None] = _unheard
    """Told of all that the open turn says so far, from any thread."""
    given: tuple[GivenTurn, ...] = ()
    stop: threading.Event = field(default_factory=threading.Event)


class LiveSlot:
    """A slot whose open turn is looked at again and again, and which begins with given turns."""

    def __init__(self, slot: SequenceSlot, live: LiveEpisode, chat: Chat, engine: Engine) -> None:
        self._slot = slot
        self._live = live
        self._chat = chat
        self._engine = engine
        self._given = list(live.given)

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """A given turn, or one that is sampled; a stop ends it by its length, with what was sampled until then."""
        if self._live.stop.is_set():
            return Completion(ids=(), logprobs=(), finish="length")
        if self._given:
            return await self._given_completion(self._given.pop(0), ids, images, sampling)
        asked = asyncio.ensure_future(self._slot.sample(ids, images, sampling))
        try:
            while not (await asyncio.wait({asked}, timeout=LOOK_EVERY_S))[0]:
                so_far = self._so_far()
                self._live.on_text(self._chat.decode(so_far.ids).rstrip("\ufffd"))
                if self._live.stop.is_set():
                    return so_far
            return asked.result()
        finally:
            # A turn that is given up gives its row at the engine back.
            asked.cancel()

    def close(self) -> None:
        self._slot.close()

    def _so_far(self) -> Completion:
        if isinstance(self._slot, ShowsOpenTurn):
            return self._slot.sampled_so_far()
        return Completion(ids=(), logprobs=(), finish="length")

    async def _given_completion(
        self, turn: GivenTurn, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling
    ) -> Completion:
        """The turn with log-probabilities of this policy."""
        text = up_to_stop(turn.text, sampling.stop)
        spoken = turn.ids or self._chat.encode(text)
        ends = not turn.ids and not text.endswith(sampling.stop)
        spoken = (*spoken, self._chat.seen_end or self._chat.eos_id) if ends else spoken
        finish: Finish = "eos" if spoken and spoken[-1] in self._chat.end_ids else "stop"
        if self._chat.image_token_id in spoken:
            raise UserError(f"the turn spells {self._chat.image_token}, which stands for a picture; leave it out")
        if len(spoken) > sampling.max_tokens:
            raise UserError(f"the turn has {len(spoken)} tokens where {sampling.max_tokens} are allowed; shorten it")
        logprobs = turn.logprobs
        if not logprobs:
            request = ScoreRequest(ids=(*ids, *spoken), images=tuple(images), start=len(ids))
            [logprobs] = await self._engine.score_batch([request], temperature=sampling.temperature or 1.0)
        return Completion(ids=spoken, logprobs=logprobs, finish=finish)


class LiveChat:
    """A chat model that begins with given turns; what it says so far is told where it can be."""

    def __init__(self, model: ChatModel, live: LiveEpisode) -> None:
        self._model = model
        self._live = live
        self._given = list(live.given)

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        return await self._model(messages, temperature=temperature, samples=samples, seed=seed)

    async def counted_reply(self, messages: Sequence[Message], *, temperature: float, seed: int) -> ChatReply:
        """One reply; a stop cuts it off after what has come until then."""
        if self._live.stop.is_set():
            return ChatReply(texts=("",), cut_off=(True,))
        if self._given:
            return ChatReply(texts=(self._given.pop(0).text,))
        so_far = [""]

        def hear(text: str) -> None:
            so_far[0] = text
            self._live.on_text(text)

        asked = asyncio.ensure_future(reply_of(self._model, messages, temperature=temperature, seed=seed, on_text=hear))
        try:
            while not (await asyncio.wait({asked}, timeout=LOOK_EVERY_S))[0]:
                if self._live.stop.is_set():
                    return ChatReply(texts=(so_far[0],), cut_off=(True,))
            return asked.result()
        finally:
            asked.cancel()
