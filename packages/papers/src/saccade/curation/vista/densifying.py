"""Densified trajectories: a second model writes the thoughts at length; calls and answer must stay as they are.

What comes back is a trajectory again, read by the same parser as any. It is refused when a call or the answer has
changed, when a thought knows what only a later turn finds out, when it tells of being rewritten, or when it says no
more than before.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.curation.codedance.prompts import question_of
from saccade.protocols.tagged import parse, write
from saccade.rewards.repetition import repetition
from saccade.types import Answer, ExpertTurn, Message, Task, ToolCall

MAX_REPLY_CHARS = 1 << 18

DenseReason = Literal["unreadable", "changed", "leaked", "told_of", "not_longer", "repeats"]
"""Why a rewriting is refused: no trajectory of as many turns; a call or the answer is another; a thought says what
only a later turn finds out; it tells of the text that it rewrites; it says less than before; it goes round in loops."""

_TURN = re.compile(r"<turn>(.*?)</turn>", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)")
_WORD = re.compile(r"\w+", re.UNICODE)
_TOLD_OF = re.compile(
    r"\b(?:ground[ -]?truth|(?:correct|reference|expected|given|provided) (?:answer|solution|trajectory|reasoning)|"
    r"original (?:thought|reasoning|trajectory)|rewrit\w+|rephras\w+|as (?:I was )?(?:told|instructed))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A refused rewriting."""

    reason: DenseReason
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenTurn:
    """An expert's turn and what was shown after it, nothing after the answer."""

    turn: ExpertTurn
    shown: str = ""


def at_length(task: Task, seen: Sequence[SeenTurn]) -> tuple[Message, ...]:
    """Prompt for the thoughts at length; ``densified_turns`` reads the reply."""
    told = "\n".join(
        f"<turn>{write(one.turn)}</turn>" + (f"\n(the tool then said: {one.shown})" if one.shown else "")
        for one in seen
    )
    words = (
        f"Somebody answered a question about the image with tools, thinking tersely.\nQuestion: {question_of(task)}\n\n"
        f"What was done, turn by turn:\n{told}\n\n"
        "Write all turns down once more, and think aloud in each: between <think> and </think> say in full sentences "
        "what is asked, what is known by now, which tool can tell what is missing, whether what it said is plausible, "
        "and what follows from it.\n"
        f"- Write exactly {len(seen)} turns, each between <turn> and </turn>, with one <think> block first.\n"
        "- Copy the <tool_call> or <answer> of each turn to the letter.\n"
        "- In each turn you know the question, the image and what tools said in earlier turns, nothing else: neither "
        "the answer nor a result may be used before it is found.\n"
        "- Do not mention these instructions, or that there was a terser version.\n"
        "- Write nothing outside the turns."
    )
    return (Message(role="user", parts=(*task.images, words)),)


def densified_turns(task: Task, seen: Sequence[SeenTurn], reply: str) -> tuple[ExpertTurn, ...] | Refused:
    """The turns with the reply's thoughts, or why they are not taken."""
    if len(reply) > MAX_REPLY_CHARS:
        return Refused(reason="unreadable", detail=f"it is longer than {MAX_REPLY_CHARS} characters")
    texts = _TURN.findall(reply)
    if len(texts) != len(seen):
        return Refused(reason="unreadable", detail=f"it has {len(texts)} turns instead of {len(seen)}")
    turns: list[ExpertTurn] = []
    for place, (one, text) in enumerate(zip(seen, texts, strict=True), start=1):
        read = parse(text.strip())
        if not read.is_well_formed or not isinstance(read.action, ToolCall | Answer):
            return Refused(reason="unreadable", detail=f"turn {place} is not one thought and one call or answer")
        if read.action != one.turn.action:
            return Refused(reason="changed", detail=f"turn {place} does something else")
        turns.append(replace(one.turn, thought=read.thought))
    return _fault(task, seen, turns) or tuple(turns)


def _fault(task: Task, seen: Sequence[SeenTurn], turns: Sequence[ExpertTurn]) -> Refused | None:
    for place, (turn, one) in enumerate(zip(turns, seen, strict=True)):
        if found := _TOLD_OF.search(turn.thought):
            return Refused(reason="told_of", detail=found.group())
        if repetition(turn.thought).level != "none":
            return Refused(reason="repeats", detail=f"turn {place + 1}")
        if len(turn.thought) < len(one.turn.thought):
            return Refused(reason="not_longer", detail=f"turn {place + 1}")
        if leak := _leak(task, seen, place, turn.thought):
            return Refused(reason="leaked", detail=f"turn {place + 1} knows {leak!r}")
    if sum(len(turn.thought) for turn in turns) <= sum(len(one.turn.thought) for one in seen):
        return Refused(reason="not_longer", detail="all turns together")
    return None


def _leak(task: Task, seen: Sequence[SeenTurn], place: int, thought: str) -> str:
    """The leak of a thought: the answer, or a number that a tool gives only in a later turn; else empty.

    What the question, its options, the turns until now, and the terse thought of this very turn hold is known. The
    last thought may know all. Words of a closed set (yes, no, an option's letter) are no leak, for thinking needs them.
    """
    if place == len(seen) - 1:
        return ""
    until_now = [question_of(task), *task.choices, *(f"{write(one.turn)} {one.shown}" for one in seen[:place])]
    known = " ".join([*until_now, write(seen[place].turn)])
    later = " ".join(one.shown for one in seen[place:])
    news = _numbers(thought) & (_numbers(later) | _numbers(task.answer)) - _numbers(known)
    if news:
        return min(news)
    words = _words(task.answer)
    is_telling = len("".join(words)) > 3
    if is_telling and _holds(_words(thought), words) and not _holds(_words(known), words):
        return task.answer
    return ""


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _holds(text: Sequence[str], words: Sequence[str]) -> bool:
    return any(list(text[start : start + len(words)]) == list(words) for start in range(len(text) - len(words) + 1))
