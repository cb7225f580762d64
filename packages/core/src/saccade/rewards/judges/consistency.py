"""Consistency of a text in plain words with grounded reasoning: the archived reference, the rubric, and its judges."""

import asyncio
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Protocol

from saccade.codec.codecs import Codec
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.geometry import Box
from saccade.rewards.mentions import readable_boxes
from saccade.types import Json, Score, Task, Trajectory

TAU = 0.3
"""The paper's threshold of the box reward."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """iVGR's rollout archive of a question: its best grounded reasoning so far, which texts are held against."""

    text: str
    """Its thoughts, with the boxes as the model wrote them."""
    boxes: tuple[Box, ...]
    """The text's boxes in their order, in pixels of the original of the first image."""
    box_reward: float
    """R_box (equation 2)."""


def thoughts_of(trajectory: Trajectory) -> str:
    """The thoughts of all turns, one after another."""
    return "\n".join(turn.thought for turn in trajectory.turns if turn.thought)


def may_be_reference(score: Score, tau: float = TAU) -> bool:
    """Whether a score has format 1, is right and has a box reward above ``tau``; never so without targets."""
    return score.is_right is True and score.values["format"] == 1.0 and score.values.get("box", -math.inf) > tau


def best_reference(scored: Iterable[tuple[Trajectory, Score]], tau: float = TAU) -> Reference | None:
    """The reference with the highest box reward among grounded trajectories that may be one; None without any.

    Of equally good ones the first sample counts.
    """
    valid = [(trajectory, score) for trajectory, score in scored if may_be_reference(score, tau)]
    if not valid:
        return None
    best, score = max(valid, key=lambda one: (one[1].values["box"], -one[0].sample))
    return Reference(text=thoughts_of(best), boxes=readable_boxes(best), box_reward=score.values["box"])


def better_reference(old: Reference | None, new: Reference | None) -> Reference | None:
    """The archive after a step (equation 4): only a strictly higher box reward replaces what is there."""
    if old is None or (new is not None and new.box_reward > old.box_reward):
        return new
    return old


def _check_numbers(reference: Reference) -> None:
    numbers = (reference.box_reward, *(side for box in reference.boxes for side in box.as_tuple()))
    # Not so of NaN, and of whole numbers that no float can hold.
    if not all(abs(number) <= sys.float_info.max for number in numbers):
        raise ValueError("a number is not finite")


_REFERENCES = Codec({Box: Form(is_list=True), Reference: Form(is_closed=True, check=_check_numbers)})


def reference_to_json(reference: Reference) -> Json:
    return _REFERENCES.to_json(reference)


def reference_from_json(memory: Json, task_id: str) -> Reference | None:
    """The reference; None for a task without one; ``UserError`` for what ``reference_to_json`` never wrote."""
    if memory is None:
        return None
    try:
        return _REFERENCES.reader(Reference).from_json(memory, "it")
    except BrokenRecordError as error:
        raise UserError(
            f"the memory of task {task_id} is no archived reasoning: {error}; the checkpoint is damaged or belongs to "
            "another reward; go on from an earlier one"
        ) from error


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
    """A judge's finding."""

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
