"""Judges of drawn pictures, of which everything is known: exact, or wrong at rates that settings choose.

``ExactJudge`` needs no model and no waiting. It reads facts from a text (``stated_facts``): an object of
``Task.objects`` by its name, and the values of its attributes, which stand after it until the next object is named, or
before the first name. In the reference the first box after a name says the object's place. Facts are compared, not
sentences; what denies a value states the opposite.

=====================================================  =======
the text                                               verdict
=====================================================  =======
states a value that ground truth denies, or denies     0.0
a true one, whatever the reference says
has no fact, while the reference has some              0.3 (see ``consistency.SAYS_NOTHING``)
lacks facts of the reference and states others         0.3
lacks facts, or states others                          0.7
states the same facts                                  1.0
anything, where the reference has no fact              none: nothing can be compared
=====================================================  =======

A judge that knows no ground truth (``knows_truth=False``), as a model that sees the two texts alone, denies what the
reference says otherwise, be it true or not.

``ErringJudge`` spoils another judge's verdicts, for finding out what a reward makes of that. Whether and how it errs is
drawn from a seed and from what it is asked, so that it errs alike whenever it is asked the same again, in whatever
order, and a resumed run is told what the first one was told.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.miniature.stated_facts import Fact, FactReader
from saccade.rewards.judges import (
    NO_VERDICT,
    RUBRIC,
    ConsistencyJudge,
    Judges,
    JudgeSettings,
    Reference,
    Verdict,
    graded,
)
from saccade.rewards.judges.consistency import CONTRADICTION, SAYS_NOTHING
from saccade.seeding import generator_for
from saccade.tasks.scene import SIZE_PX, place_of
from saccade.types import Task

PLACE = "place"
"""The kind of attribute that a box states."""

_CELLS = 4

_GRADES = sorted(RUBRIC)

PLACES: tuple[str, ...] = tuple(
    place_of(Point((column + 0.5) * SIZE_PX / _CELLS, (row + 0.5) * SIZE_PX / _CELLS))
    for row in range(_CELLS)
    for column in range(_CELLS)
)
"""All places of a drawn picture, row by row."""


def place_of_box(box: Box) -> str:
    """The place of the box's centre, in the words of drawn pictures."""
    return place_of(box.center)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactJudge:
    """Compares the facts of two texts, by the table of this module."""

    values: Mapping[str, Sequence[str]] = field(default_factory=lambda: {PLACE: PLACES})
    """By kind: values that texts may state besides those of the task's own objects; a wrong value is found only if it
    is known to be one."""
    place: Callable[[Box], str] = place_of_box
    """The value of ``place`` that a box states, which is in pixels of the original."""
    knows_truth: bool = True
    """Whether ground truth says what is a contradiction; else the reference does."""

    async def __call__(self, task: Task, reference: Reference, target: str, /) -> Verdict:
        """``UserError`` for a task that names no objects."""
        if not task.objects:
            raise UserError(
                f"task {task.id} of family {task.family!r} does not tell what its picture shows (Task.objects); judge "
                "such tasks by a model"
            )
        if task.frame_times_s:
            raise UserError(
                f"task {task.id} is about a video, whose things change; judge it by video_facts.DrawnVideos"
            )
        reader = FactReader(task.objects, self.values)
        places = [{PLACE: self.place(box)} for box in reference.boxes]
        wanted = {fact for fact in reader.facts(reference.text, places) if not fact.is_denied}
        stated = reader.facts(target)
        if _contradicts(stated, reader.truth if self.knows_truth else wanted):
            return Verdict(value=CONTRADICTION)
        if not wanted:
            return NO_VERDICT
        if not stated:
            return Verdict(value=SAYS_NOTHING)
        spoken_of = {(fact.name, fact.kind) for fact in wanted}
        # What the reference says already denies all else of that kind.
        more = {fact for fact in stated - wanted if not (fact.is_denied and (fact.name, fact.kind) in spoken_of)}
        return Verdict(value=graded(is_missing=bool(wanted - stated), is_extra=bool(more)))


@dataclass(frozen=True, kw_only=True)
class JudgeErrors:
    """How often a judge errs; nothing by default."""

    wrong_share: float = 0.0
    """Share of verdicts that are another value of the rubric instead, each as likely."""
    no_verdict_share: float = 0.0
    """Share of requests without a verdict."""
    bias: float = 0.0
    """Share of the other verdicts that are one value of the rubric too kind, or where negative too strict."""

    def check(self) -> None:
        for name, low in (("wrong_share", 0), ("no_verdict_share", 0), ("bias", -1)):
            if not low <= (share := getattr(self, name)) <= 1:
                raise UserError(f"{name}={share} is a share and must lie between {low} and 1")

    @property
    def is_none(self) -> bool:
        return not (self.wrong_share or self.no_verdict_share or self.bias)


@dataclass(frozen=True, kw_only=True, slots=True)
class ErringJudge:
    """Another judge, whose verdicts it spoils; what addresses a judge stays an attack."""

    judge: ConsistencyJudge
    errors: JudgeErrors
    seed: int

    async def __call__(self, task: Task, reference: Reference, target: str, /) -> Verdict:
        verdict = await self.judge(task, reference, target)
        value = verdict.value
        if value is None or verdict.is_attack:
            return verdict
        chance = generator_for(self.seed, "errors", task.id, reference.text, target)
        silent, wrong, leaning = (float(draw) for draw in chance.random(3))
        if silent < self.errors.no_verdict_share:
            return NO_VERDICT
        # The mean of several judges may lie between two values of the rubric.
        grade = min(range(len(_GRADES)), key=lambda place: abs(_GRADES[place] - value))
        if wrong < self.errors.wrong_share:
            others = [other for other in _GRADES if other != _GRADES[grade]]
            return Verdict(value=others[int(chance.integers(len(others)))])
        if leaning < abs(self.errors.bias):
            step = 1 if self.errors.bias > 0 else -1
            return Verdict(value=_GRADES[min(max(0, grade + step), len(_GRADES) - 1)])
        return verdict


@dataclass(frozen=True, kw_only=True)
class TinyJudgeSettings(JudgeSettings):
    """Judges as the paper's, or exact ones, which may know less and err."""

    kind: Literal["server", "checkpoint", "exact", "none"] = "exact"
    knows_truth: bool = True
    """For ``exact``: whether ground truth says what is a contradiction. A model cannot know that: without, the
    reasoning with boxes is taken for true, whatever it says."""
    errors: JudgeErrors = JudgeErrors()
    """How often verdicts on agreement are spoiled on purpose, to see what training makes of a judge that errs."""

    def check(self) -> None:
        super().check()
        if not self.knows_truth and self.kind != "exact":
            raise UserError(
                "knows_truth=false would have no effect: no judge but kind=exact knows what a picture shows"
            )

    def with_errors(self, judges: Judges, *, seed: int) -> Judges:
        """The judges, whose verdicts on agreement err as ``errors`` say."""
        if self.errors.is_none or judges.consistency is None:
            return judges
        return replace(judges, consistency=ErringJudge(judge=judges.consistency, errors=self.errors, seed=seed))


def _contradicts(stated: Iterable[Fact], known: Iterable[Fact]) -> bool:
    """Whether a fact states another value than one that is known, or denies it."""
    values: dict[tuple[str, str], set[str]] = {}
    for fact in known:
        values.setdefault((fact.name, fact.kind), set()).add(fact.value)
    for fact in stated:
        so = values.get((fact.name, fact.kind), set())
        if fact.value in so if fact.is_denied else bool(so) and fact.value not in so:
            return True
    return False
