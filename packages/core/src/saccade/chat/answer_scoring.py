"""Teachers that score an answer: log-probabilities of its tokens after a reasoning (Argos, equation 5)."""

import asyncio
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from saccade.chat.local_chat import LoadedEngine, loaded_engine
from saccade.chat.wire import RefusedRequestError
from saccade.engines.engine import ScoreRequest
from saccade.errors import MachineError, RefusalError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.protocols.protocol import ChatProtocol
from saccade.types import Message, Task
from saccade.waiting import run_to_end

if TYPE_CHECKING:
    from saccade.chat.openai_chat import ChatClient


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRequest:
    """An answer whose probability after a reasoning is asked for."""

    task: Task
    reasoning: str
    answer: str


MAX_SCORED_CHARS = 100_000
"""Characters of a reasoning, and of an answer, that a teacher reads; the rest is cut off."""

_TOKENS = re.compile(r"<(?!/?points?\b)(?=[|\uff5c/!A-Za-z_])|\[(?=/?[A-Z_]{2,20}\])")


def plain_text(text: str) -> str:
    """The text as a teacher may read it: cut, without halves of characters, its tags and tokens no tags and tokens.

    A policy may spell the token of an image, of another speaker's turn, or the end of its own thought. Tags of points
    stay.
    """
    cut = text[:MAX_SCORED_CHARS].encode("utf-8", "replace").decode()
    return _TOKENS.sub(lambda found: "\u2039" if found.group() == "<" else "(", cut)


class AnswerScorer(Protocol):
    """A teacher: log-probabilities of an answer's own tokens, given question, pictures and reasoning."""

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        """For each request those of the answer's tokens, or why its machine gave none; safe to call from threads.

        A RefusalError where the machine is at work and did not take this one request.
        """
        ...


@dataclass(kw_only=True)
class CheckpointTeacher:
    """An ``AnswerScorer`` of a checkpoint directory, loaded when it is entered and let go when it is left.

    The conversation is the protocol's prompt and the beginning of a turn, ``<think>reasoning</think><answer>``; the
    answer's ids are put after it as they are, so that no token is ever encoded across the border. All requests of a
    call are one ``score_batch``: what they have in common is forwarded once.
    """

    path: Path
    media: MediaStore
    protocol: ChatProtocol
    load: LoadSettings = LoadSettings()
    _loaded: "LoadedEngine | None" = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        """By equation 5, before any mean; a MachineError for all of them where the engine fails."""
        loaded = self._loaded
        if loaded is None:
            raise RuntimeError(f"{self.path} is not open; score inside a with block")
        asked = [self._score_request(one, loaded) for one in requests]
        with self._lock:
            try:
                found = run_to_end(loaded.engine.score_batch(asked))
            except (MachineError, RuntimeError) as error:
                failed = MachineError(f"the teacher {self.path} failed: {error}")
                return [failed] * len(asked)
        return found

    def _score_request(self, request: AnswerRequest, loaded: "LoadedEngine") -> ScoreRequest:
        chat = loaded.chat
        prompt = chat.prompt(self.protocol.prompt(request.task, (), loaded.view))
        before = (*prompt.ids, *chat.encode(f"<think>{plain_text(request.reasoning)}</think><answer>"))
        answer = chat.tokenizer.encode(plain_text(request.answer), add_special_tokens=False)
        return ScoreRequest(ids=(*before, *answer), images=prompt.images, start=len(before))

    def __enter__(self) -> Self:
        self._loaded = loaded_engine(self.path, self.media, self.load)
        return self

    def __exit__(self, *_: object) -> None:
        self._loaded = None


@dataclass(kw_only=True)
class ServerTeacher:
    """An ``AnswerScorer`` at a server that gives log-probabilities of prompts, as vLLM does.

    Each answer takes two requests, one that ends before the answer and one with it: the answer's tokens are those
    after what both have in common, so that a token that reaches over the border counts as the answer's. It is probed
    when it is entered; UserError from a server that cannot.
    """

    client: "ChatClient"
    protocol: ChatProtocol
    view: ViewRule

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        """By equation 5; a MachineError where the server failed on a request or refused that one alone."""

        async def all_of_them() -> list[tuple[float, ...] | MachineError]:
            async with self.client:
                return await asyncio.gather(*(self._answer_logprobs(one) for one in requests))

        return run_to_end(all_of_them())

    async def _answer_logprobs(self, request: AnswerRequest) -> tuple[float, ...] | MachineError:
        opening = f"<think>{plain_text(request.reasoning)}</think><answer>"
        prompt = self.protocol.prompt(request.task, (), self.view)
        try:
            before, whole = await asyncio.gather(
                *(
                    self.client.prompt_logprobs([*prompt, Message(role="assistant", parts=(text,))])
                    for text in (opening, opening + plain_text(request.answer))
                )
            )
        except MachineError as error:
            return error
        except RefusedRequestError as error:
            if not error.is_about_one_request:
                raise
            return RefusalError(f"the teacher refused a request: {error}")
        common = next(
            (place for place, pair in enumerate(zip(before.ids, whole.ids)) if pair[0] != pair[1]), len(before.ids)
        )
        return tuple(value for value in whole.logprobs[common:] if value is not None)

    def __enter__(self) -> Self:
        async def probe() -> None:
            async with self.client:
                await self.client.prompt_logprobs(
                    [Message(role="user", parts=("2 + 2?",)), Message(role="assistant", parts=("4",))]
                )

        run_to_end(probe())
        return self

    def __exit__(self, *_: object) -> None:
        """Each call closes its own connections."""
