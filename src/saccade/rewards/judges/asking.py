"""Asks a model for a verdict: read strictly, asked again when there is none, and never for ever.

A judge that gives no verdict on a text has failed, or the text has made it fail: by what it says, its length, or signs
that the server cannot read. Which of the two it was is found out by a control, a harmless question of the same kind.
The text is to blame when the judge fails on it again ``BLAMED_AFTER`` times, each time between two controls that it
answers. A judge that is down, refuses all or talks nonsense to everybody fails on the control too: then the text is not
to blame.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from saccade.chat.chat_model import ChatModel
from saccade.chat.wire import RefusedRequestError
from saccade.errors import MachineError, UserError
from saccade.seeding import seed_for
from saccade.types import Message

Value = TypeVar("Value")

BLAMED_AFTER = 2
"""So many further rounds must fail: a judge of whose rounds one of eight fails by chance blames one text in 500."""

RETRY_TEMPERATURE = 0.5
"""At least, when asked again: near 0 a judge that gave no verdict would say the same once more."""

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Replies(Generic[Value]):
    """What could be read of a judge's replies to a text."""

    values: tuple[Value, ...]
    missing: int = 0
    """Samples without a value that the text is to blame for; 0 where the judge's machine failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeClient:
    """How a judge is asked: the same of every judge that is a model."""

    model: ChatModel
    """Says when it is too late for an answer: ``ChatClient`` by its time-out and its retries."""
    samples: int = 1
    temperature: float = 0.01
    tries: int = 3
    """How often at most it is asked for replies that can be read."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1 or self.tries < 1:
            raise UserError(f"samples={self.samples} and tries={self.tries} never ask the judge; use 1 or more")
        if not 0 <= self.temperature <= 2:
            raise UserError(f"temperature={self.temperature} is none that models are asked at; use 0 to 2")

    async def replies(
        self, task_id: str, text: str, read: Callable[[str], Value | None], *, control: str
    ) -> Replies[Value]:
        """What can be read of the replies to this text, and whether it is to blame for what is missing.

        ``control`` is a question of the same kind that any judge at work can answer. Raises as ``values``.
        """
        found = await self.values(task_id, text, read)
        for number in range(BLAMED_AFTER + 1):
            if len(found) >= self.samples:
                return Replies(values=tuple(found))
            # Seeds of the text's own, so that a teacher that keeps its replies says how it was for this text.
            if not await self.values(f"{task_id} control {number} {text}", control, read, already=self.samples - 1):
                return Replies(values=tuple(found))
            if number < BLAMED_AFTER:
                found += await self.values(f"{task_id} again {number}", text, read, already=len(found))
        return Replies(values=tuple(found), missing=self.samples - len(found))

    async def values(
        self, task_id: str, text: str, read: Callable[[str], Value | None], *, already: int = 0
    ) -> list[Value]:
        """What can be read of the replies to this text, at most ``samples - already``; fewer where the judge fails.

        The same text on the same task is asked with the same seeds, so that a teacher may keep its replies; only what
        is missing is asked for again, with other seeds. A server that is down, or refuses this one request, is not
        asked again: its client has tried. Raises ``UserError`` for what no other request would mend.
        """
        messages = [Message(role="user", parts=(text,))]
        wanted = self.samples - already
        found: list[Value] = []
        for attempt in range(self.tries):
            missing = wanted - len(found)
            is_first = attempt == 0 and already == 0
            try:
                replies = await self.model(
                    messages,
                    temperature=self.temperature if is_first else max(self.temperature, RETRY_TEMPERATURE),
                    samples=missing,
                    seed=seed_for(self.seed, "judge", task_id, text, attempt),
                )
            except MachineError:
                break
            except RefusedRequestError as error:
                if not error.is_about_one_request:
                    raise
                break
            found += [value for reply in replies[:missing] if (value := read(spoken(reply))) is not None]
            if len(found) >= wanted:
                break
        return found


def spoken(reply: str) -> str:
    """A reply without its thinking in ``<think>`` tags, which some servers leave in the text."""
    return _THOUGHTS.sub("", reply, count=1).strip()
