"""Consistency of a text in plain words with the grounded reasoning: the rubric, and its judges."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Protocol

from saccade.errors import UserError
from saccade.rewards.judges.archive import Reference
from saccade.types import Task

SAME = 1.0
"""Nothing is missing, and nothing is said that the reference does not say."""
ONE_SIDED = 0.7
"""Something is missing, or something more is said; not both."""
BOTH_SIDED = 0.3
"""Something is missing and something more is said."""
CONTRADICTION = 0.0

RUBRIC = (SAME, ONE_SIDED, BOTH_SIDED, CONTRADICTION)

SAYS_NOTHING = BOTH_SIDED
"""Value of a text that says nothing at all of the image. By the rubric's letter something is missing and no more, but
0.7 would pay silence more than most honest attempts: a text that shares nothing with the reference is far from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a judge found."""

    value: float | None
    """0..1, where several judgements are averaged not always a value of the rubric; None is no verdict."""
    is_attack: bool = False
    """The text speaks to the judge; its value is 0.0, and no judge was asked."""
    is_unjudgeable: bool = False
    """The judge works, but gives no verdict, or not every one, on this text; each missing one counts 0.0, so that a
    text that makes its judge fail never gets more than it deserves."""


NO_VERDICT = Verdict(value=None)
UNJUDGEABLE = Verdict(value=CONTRADICTION, is_unjudgeable=True)
ATTACK = Verdict(value=CONTRADICTION, is_attack=True)


class ConsistencyJudge(Protocol):
    """Judges by the rubric how well a text agrees with a reference on the same question."""

    async def __call__(self, task: Task, reference: Reference, target: str, /) -> Verdict:
        """``target`` is the reasoning of a textual trajectory.

        ``NO_VERDICT`` where the judge's machine fails, ``UNJUDGEABLE`` where the text makes it fail: a judge that
        cannot tell the two apart lets its texts choose to be without a verdict.
        """
        ...


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several judges, all asked at the same time: the mean of those that give a verdict.

    A text that speaks to one of them is an attack on all of them.
    """

    judges: Sequence[ConsistencyJudge]

    def __post_init__(self) -> None:
        if not self.judges:
            raise UserError("an ensemble without judges gives no verdict; name at least one")

    async def __call__(self, task: Task, reference: Reference, target: str, /) -> Verdict:
        verdicts = await asyncio.gather(*(judge(task, reference, target) for judge in self.judges))
        if any(verdict.is_attack for verdict in verdicts):
            return ATTACK
        return Verdict(
            value=mean_or_none([verdict.value for verdict in verdicts]),
            is_unjudgeable=any(verdict.is_unjudgeable for verdict in verdicts),
        )


def graded(*, is_missing: bool, is_extra: bool) -> float:
    """The rubric's value of a text without contradictions."""
    if is_missing and is_extra:
        return BOTH_SIDED
    return ONE_SIDED if is_missing or is_extra else SAME


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """The mean of those that are there, rounded once: of equal values it is that value; None without any."""
    given = [value for value in values if value is not None]
    return mean(given) if given else None
