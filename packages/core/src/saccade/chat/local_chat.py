"""Chat models of this process: an engine that answers in texts, a checkpoint that is loaded when it is opened."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from saccade.chat.chat_model import ChatCounts, ChatModel
from saccade.engines.engine import Engine, Sampling, SequenceSlot
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.chat import Chat
from saccade.models.checkpoint import LoadSettings
from saccade.seeding import seed_for
from saccade.types import Message, Tokens

FEATURE_MIB = 256
"""Most room for image features that a checkpoint keeps: turns of one conversation show the same pictures."""

logger = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class _Asked:
    """One text that is wanted of the engine."""

    label: str
    prompt: Tokens
    sampling: Sampling
    answered: "asyncio.Future[str]"
    text: str | None = None


@dataclass(kw_only=True)
class EngineChat:
    """A chat model made of an engine of tokens.

    An engine has one open batch at a time, so what is asked while a batch is out waits and is the next batch.
    """

    engine: Engine
    chat: Chat
    max_tokens: int = 1024
    """Limit of one answer."""
    view: ViewRule | None = None
    """How the model sees pictures, where that is known."""
    _waiting: list[_Asked] = field(default_factory=list, init=False)
    _serving: "asyncio.Task[None] | None" = field(default=None, init=False)

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        prompt = self.chat.prompt(messages)
        asked = [
            _Asked(
                label=f"teacher/{seed}/{sample}",
                prompt=prompt,
                sampling=Sampling(
                    seed=seed_for(seed, "teacher", sample), max_tokens=self.max_tokens, temperature=temperature
                ),
                answered=asyncio.get_running_loop().create_future(),
            )
            for sample in range(samples)
        ]
        self._waiting.extend(asked)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await asyncio.gather(*(one.answered for one in asked))

    async def _serve(self) -> None:
        # Others who are about to ask come into the same batch.
        await asyncio.sleep(0)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            failed: Exception | None = None
            try:
                async with self.engine.sequences([one.label for one in batch]) as slots:
                    await asyncio.gather(*(self._answer(one, slot) for one, slot in zip(batch, slots, strict=True)))
            except Exception as error:  # Whatever the engine raises belongs to those who wait for it.
                failed = error
            # Told when the batch is closed: an event loop that ends with its last answer would end the closing too.
            for one in batch:
                if one.answered.done():
                    continue
                if one.text is not None:
                    one.answered.set_result(one.text)
                elif failed is not None:
                    one.answered.set_exception(failed)

    async def _answer(self, asked: _Asked, slot: SequenceSlot) -> None:
        try:
            completion = await slot.sample(asked.prompt.ids, asked.prompt.images, asked.sampling)
        finally:
            slot.close()
        asked.text = self.chat.decode(completion.ids)


class LocalChat:
    """A ``ConnectedChat`` of this process, made when it is entered and let go when it is left."""

    def __init__(self, name: str, make: Callable[[], ChatModel]) -> None:
        self._name = name
        self._make = make
        self._model: ChatModel | None = None
        self._asked = 0

    @property
    def counts(self) -> ChatCounts:
        return ChatCounts(requests=self._asked)

    @property
    def view(self) -> ViewRule | None:
        """How an open checkpoint sees pictures; None of anything else."""
        return self._model.view if isinstance(self._model, EngineChat) else None

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        if self._model is None:
            raise RuntimeError(f"{self._name} is not open; ask inside a with block")
        self._asked += 1
        return await self._model(messages, temperature=temperature, samples=samples, seed=seed)

    def __enter__(self) -> Self:
        self._model = self._make()
        return self

    def __exit__(self, *_: object) -> None:
        self._model = None
        logger.info("calls to %s: requests %s", self._name, f"{self._asked:,}")


def checkpoint_chat(path: Path, media: MediaStore, load: LoadSettings, *, max_tokens: int) -> LocalChat:
    """A checkpoint directory of a family that Saccade knows; questions asked at the same time are one batch."""

    def make() -> ChatModel:
        loaded = loaded_engine(path, media, load)
        return EngineChat(engine=loaded.engine, chat=loaded.chat, max_tokens=max_tokens, view=loaded.view)

    return LocalChat(str(path), make)


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """An engine on a checkpoint, and how its model is spoken to."""

    engine: Engine
    chat: Chat
    view: ViewRule


def loaded_engine(path: Path, media: MediaStore, load: LoadSettings) -> LoadedEngine:
    """A local engine on a checkpoint directory of a family that Saccade knows."""
    # Here, for a checkpoint that is only named needs no torch yet.
    from saccade.engines.local import limited_engine
    from saccade.models.loading import load_model

    model = load_model(path, media, load)
    limits = replace(load.engine, feature_mib=min(FEATURE_MIB, load.engine.feature_mib))
    return LoadedEngine(limited_engine(model, limits), model.chat, model.view)
