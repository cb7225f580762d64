"""Asks a model for a verdict: read strictly, asked again when there is none, and never for ever."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from saccade.engines.refusals import RefusedRequestError
from saccade.engines.teacher import Teacher
from saccade.errors import MachineError, UserError
from saccade.seeding import seed_for
from saccade.types import Message

Value = TypeVar("Value")

RETRY_TEMPERATURE = 0.5
"""At least, when asked again: near 0 a judge that gave no verdict would say the same once more."""

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """How a judge is asked: the same of every judge that is a model."""

    teacher: Teacher
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

    async def values(self, task_id: str, text: str, read: Callable[[str], Value | None]) -> list[Value]:
        """What can be read of the replies to this text, at most ``samples``; fewer where the judge fails.

        The same text on the same task is asked with the same seeds, so that a teacher may keep its replies; only what
        is missing is asked for again, with other seeds. A server that is down, or refuses this one request, is not
        asked again: its client has tried. Raises ``UserError`` for what no other request would mend.
        """
        messages = [Message(role="user", parts=(text,))]
        found: list[Value] = []
        for attempt in range(self.tries):
            missing = self.samples - len(found)
            try:
                replies = await self.teacher(
                    messages,
                    temperature=max(self.temperature, RETRY_TEMPERATURE) if attempt else self.temperature,
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
            if len(found) >= self.samples:
                break
        return found


def spoken(reply: str) -> str:
    """What a judge says after thinking aloud in ``<think>`` tags, which some servers leave in the text."""
    return _THOUGHTS.sub("", reply, count=1).strip()
