"""A teacher: whoever answers chat messages with texts, be it a server, an engine in this process or a script."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from saccade.engines.engine import Engine, Sampling, SequenceSlot
from saccade.models.chat import Chat
from saccade.seeding import seed_for
from saccade.types import Message, Tokens


class ChatModel(Protocol):
    """Answers a conversation; ``saccade.chat.openai_chat.ChatClient`` is one."""

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        """``samples`` texts that go on from the last message; ``MachineError`` when the teacher cannot answer now."""
        ...


@dataclass(kw_only=True, slots=True)
class _Asked:
    """One text that is wanted of the engine."""

    label: str
    prompt: Tokens
    sampling: Sampling
    answered: "asyncio.Future[str]"


@dataclass(kw_only=True)
class EngineChat:
    """A teacher that is an engine of tokens.

    An engine has one open batch at a time, so what is asked while a batch is out waits and is the next batch.
    """

    engine: Engine
    chat: Chat
    max_tokens: int = 1024
    """Of one answer."""
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
            try:
                async with self.engine.sequences([one.label for one in batch]) as slots:
                    await asyncio.gather(*(self._answer(one, slot) for one, slot in zip(batch, slots, strict=True)))
            except Exception as error:  # Whatever the engine raises belongs to those who wait for it.
                for one in batch:
                    if not one.answered.done():
                        one.answered.set_exception(error)

    async def _answer(self, asked: _Asked, slot: SequenceSlot) -> None:
        try:
            completion = await slot.sample(asked.prompt.ids, asked.prompt.images, asked.sampling)
        finally:
            slot.close()
        if not asked.answered.done():
            asked.answered.set_result(self.chat.decode(completion.ids))
