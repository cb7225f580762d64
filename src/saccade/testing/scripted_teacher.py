"""A teacher without a model: it says what the test says, and remembers what it was asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from saccade.types import Message

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
    """Says ``reply(messages)`` for each sample; an error that ``reply`` raises is the teacher's own."""

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
