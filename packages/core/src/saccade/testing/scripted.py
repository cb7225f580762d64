"""Models without weights: an engine and a teacher that say what the test says, and a chat whose tokens are letters."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from saccade.engines.engine import Completion, Sampling, ScoreRequest, WeightSource
from saccade.errors import SaccadeError
from saccade.media.resize import ViewRule
from saccade.models.chat import Chat
from saccade.turn_ends import first_action, stop_end
from saccade.types import Finish, ImageRef, Message

SPECIAL_TOKENS = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")

# Beyond the last code point, so that no character is ever taken for a special token.
_FIRST_SPECIAL_ID = 0x110000
_SPECIAL = re.compile("(" + "|".join(re.escape(token) for token in SPECIAL_TOKENS) + ")")


class LetterTokenizer:
    """Code points for ids, in the chat format of the Qwen-VL families."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        ids: list[int] = []
        for piece in _SPECIAL.split(text):
            if piece in SPECIAL_TOKENS:
                ids.append(_FIRST_SPECIAL_ID + SPECIAL_TOKENS.index(piece))
            else:
                ids.extend(ord(letter) for letter in piece)
        return ids

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(
            chr(token) if token < _FIRST_SPECIAL_ID else SPECIAL_TOKENS[token - _FIRST_SPECIAL_ID]
            for token in token_ids
            if token < _FIRST_SPECIAL_ID or not skip_special_tokens
        )

    def apply_chat_template(
        self,
        conversation: Sequence[dict[str, object]],
        *,
        tools: object = None,
        tokenize: bool,
        add_generation_prompt: bool,
    ) -> str:
        head = "<|im_start|>assistant\n" if add_generation_prompt else ""
        return "".join(_rendered(message) for message in conversation) + head


def letter_chat(view: ViewRule) -> Chat:
    """The real chat rendering over a letter tokenizer; images take as many tokens as the view gives them."""
    ids = {token: _FIRST_SPECIAL_ID + index for index, token in enumerate(SPECIAL_TOKENS)}
    return Chat.checked(
        tokenizer=LetterTokenizer(),
        image_token="<|image_pad|>",
        image_token_id=ids["<|image_pad|>"],
        eos_token="<|im_end|>",
        eos_id=ids["<|im_end|>"],
        image_layout=lambda image: (view.token_count(image),),
    )


def _rendered(message: dict[str, object]) -> str:
    if message["role"] not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"the role is system, user, assistant or tool, not {message['role']}")
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = "".join(
        "<|vision_start|><|image_pad|><|vision_end|>" if part["type"] == "image" else str(part["text"])
        for part in parts
    )
    return f"<|im_start|>{message['role']}\n{text}<|im_end|>\n"


LOGPROB = -0.5
"""Every token's."""

Script = Callable[[str, int], str] | Sequence[Sequence[str]]
"""Texts of the turns: a function of a slot's label and its turn, or for each slot of a batch its texts."""


class Speaker(Protocol):
    """Encoder of texts; ``saccade.models.chat.Chat`` is one."""

    @property
    def eos_id(self) -> int: ...

    def encode(self, text: str) -> Sequence[int]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleRequest:
    """One request to sample, and what it got, exactly as it passed through the engine."""

    label: str
    turn: int
    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    sampling: Sampling
    completion: Completion


@dataclass(kw_only=True)
class ScriptedSequence:
    """A slot that says its turns one by one and refuses ids that do not go on from what it has seen."""

    label: str
    say: Callable[[int], str]
    chat: Speaker
    asked: list[SampleRequest]
    turn: int = 0
    seen: tuple[int, ...] = ()
    seen_images: tuple[ImageRef, ...] = ()
    is_open: bool = True

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """The script's next turn: up to the end of its first stop string or fenced action, else with the end-of-turn
        token."""
        if not self.is_open:
            raise SaccadeError(f"slot {self.label} was closed")
        if sampling.begins_anew:
            self.seen, self.seen_images = (), ()
        if tuple(ids[: len(self.seen)]) != self.seen or tuple(images[: len(self.seen_images)]) != self.seen_images:
            raise SaccadeError(f"the context of slot {self.label} does not begin with what it has seen")
        completion = self._completion(self.say(self.turn), sampling)
        self.asked.append(
            SampleRequest(
                label=self.label,
                turn=self.turn,
                ids=tuple(ids),
                images=tuple(images),
                sampling=sampling,
                completion=completion,
            )
        )
        self.turn += 1
        self.seen, self.seen_images = (*ids, *completion.ids), tuple(images)
        return completion

    def close(self) -> None:
        self.is_open = False

    def _completion(self, text: str, sampling: Sampling) -> Completion:
        blocks = sampling.fenced_actions
        ends = [] if (end := stop_end(text, sampling.stop, sampling.opening)) is None else [end]
        if blocks is not None and (first := first_action(text, blocks)) is not None and first.end < len(text):
            ends.append(first.end)
        finish: Finish = "stop" if ends else "eos"
        ids = tuple(self.chat.encode(text[: min(ends)] if ends else text))
        if finish == "eos":
            ids = (*ids, self.chat.eos_id)
        if len(ids) > sampling.max_tokens:
            ids, finish = ids[: sampling.max_tokens], "length"
        return Completion(ids=ids, logprobs=(LOGPROB,) * len(ids), finish=finish)


@dataclass(kw_only=True)
class ScriptedEngine:
    """An engine that samples from ``script``, with log-probability -0.5 for each token, and keeps all its requests."""

    script: Script
    chat: Speaker
    policy_version: int = 0
    asked: list[SampleRequest] = field(default_factory=list)

    @asynccontextmanager
    async def sequences(self, labels: Sequence[str]) -> AsyncIterator[Sequence[ScriptedSequence]]:
        """One slot for each label; all are closed in the end."""
        slots = [self._slot(label, index) for index, label in enumerate(labels)]
        try:
            yield slots
        finally:
            for slot in slots:
                slot.close()

    @asynccontextmanager
    async def open_batch(self) -> AsyncIterator["ScriptedComers"]:
        """Slots for labels as they come; the script must be a function."""
        comers = ScriptedComers(engine=self)
        try:
            yield comers
        finally:
            for slot in comers.slots:
                slot.close()

    def joined(self, label: str) -> ScriptedSequence:
        """A slot of the open batch."""
        return self._slot(label, 0)

    def _slot(self, label: str, index: int) -> ScriptedSequence:
        return ScriptedSequence(label=label, say=self._sayer(label, index), chat=self.chat, asked=self.asked)

    def update_weights(self, source: WeightSource, version: int) -> None:
        """Takes the version alone: a script has no weights."""
        self.policy_version = version

    def reset(self) -> None:
        """Nothing to forget: a script works nothing out."""

    async def aclose(self) -> None:
        """Nothing to give back."""

    async def score(self, ids: Sequence[int], images: Sequence[ImageRef], start: int) -> tuple[float, ...]:
        return (LOGPROB,) * len(ids[start:])

    async def score_batch(
        self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0
    ) -> tuple[tuple[float, ...], ...]:
        return tuple([await self.score(request.ids, request.images, request.start) for request in requests])

    def _sayer(self, label: str, index: int) -> Callable[[int], str]:
        script = self.script
        if callable(script):
            return lambda turn: script(label, turn)

        def say(turn: int) -> str:
            if index >= len(script) or turn >= len(script[index]):
                raise SaccadeError(f"the script has no turn {turn + 1} for slot {index + 1}, {label}")
            return script[index][turn]

        return say


@dataclass(kw_only=True)
class ScriptedComers:
    """The scripted engine's open batch, which never stops by itself."""

    engine: ScriptedEngine
    slots: list[ScriptedSequence] = field(default_factory=list)

    def join(self, label: str) -> ScriptedSequence:
        self.slots.append(self.engine.joined(label))
        return self.slots[-1]

    async def ended(self) -> None:
        await asyncio.Event().wait()


Reply = Callable[[Sequence[Message]], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class TeacherAsked:
    """One question to the teacher, and what it said."""

    messages: tuple[Message, ...]
    temperature: float
    seed: int
    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        """All that stood in the messages, without the images."""
        return text_of(self.messages)


@dataclass(kw_only=True)
class ScriptedTeacher:
    """A chat model that answers ``reply(messages)`` for each sample; an error of ``reply`` is the teacher's own."""

    reply: Reply
    asked: list[TeacherAsked] = field(default_factory=list)

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        texts = tuple(self.reply(messages) for _ in range(samples))
        self.asked.append(TeacherAsked(messages=tuple(messages), temperature=temperature, seed=seed, texts=texts))
        return texts


def text_of(messages: Sequence[Message]) -> str:
    """The text of messages, one part a line."""
    return "\n".join(part for message in messages for part in message.parts if isinstance(part, str))
