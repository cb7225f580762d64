"""Agreement of a thought with the answer after it: whether what the thought says last is what is answered."""

import re
from collections.abc import Sequence

from saccade.types import Task

MAX_ANSWER_CHARS = 1000
"""A longer answer is no candidate: each of its parts is looked for."""
MAX_THOUGHT_CHARS = 100_000
"""What a thought says last is looked for in so much of its end."""

_PARTS = re.compile(r"\s*(?:,|;|\band\b)\s*", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?!\w)")


def agrees(task: Task, thought: str, answer: str) -> bool | None:
    """True where the thought last says the answer that is given, False where it last says another candidate.

    Candidates are the task's choices; yes and no where the answer is one of them; the numbers of the thought for an
    answer that is a number; and the answer given beside the task's own. An answer of several parts ("white and black")
    is said where its parts stand in their order. None where the thought says no candidate: a thought in words of its
    own cannot be decided by rules.
    """
    given = _plain(answer)
    if not given or len(given) > MAX_ANSWER_CHARS:
        return None
    thought = thought[-MAX_THOUGHT_CHARS:]
    if _NUMBER.fullmatch(given):
        numbers = _NUMBER.findall(thought)
        return None if not numbers else _value(numbers[-1]) == _value(given)
    candidates = dict.fromkeys([given, _plain(task.answer), *map(_plain, task.choices)])
    if given in ("yes", "no"):
        candidates |= dict.fromkeys(("yes", "no"))
    words = thought.casefold()
    said = {one: place for one in candidates if one and (place := _last_place(words, one)) is not None}
    if not said:
        return None
    last = max(said.values())
    # "red" is said wherever "dark red" is: the longest one counts.
    return max((one for one, place in said.items() if place == last), key=len) == given


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _last_place(words: str, candidate: str) -> int | None:
    """Where the last mention of a candidate ends; None where it is not said."""
    end = len(words)
    place: int | None = None
    for part in reversed(parts_of(candidate)):
        found = [one.end() for one in re.finditer(rf"(?<!\w){re.escape(part)}(?!\w)", words[:end])]
        if not found:
            return None
        place = found[-1] if place is None else place
        end = found[-1] - len(part)
    return place


def parts_of(candidate: str) -> Sequence[str]:
    """The parts of an answer that names several things: ``white and black``."""
    return [part for part in _PARTS.split(candidate) if part] or [candidate]
