"""A judge that errs at known rates, for finding out what a reward makes of it.

Whether and how it errs is drawn from a seed and from what it is asked, so that it errs alike whenever it is asked the
same again, in whatever order, and a resumed run is told what the first one was told.
"""

from dataclasses import dataclass

from saccade.errors import UserError
from saccade.rewards.judges.archive import Reference
from saccade.rewards.judges.consistency import NO_VERDICT, RUBRIC, ConsistencyJudge, Verdict
from saccade.seeding import generator_for
from saccade.types import Task

_GRADES = sorted(RUBRIC)


@dataclass(frozen=True, kw_only=True)
class JudgeErrors:
    """How often a judge errs; nothing by default."""

    wrong_share: float = 0.0
    """Of verdicts: another value of the rubric instead, each as likely."""
    no_verdict_share: float = 0.0
    """Of what is asked: it says nothing."""
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
