"""iVGR's reward: grounded trajectories for their boxes, textual ones for saying what the best grounded one says.

The question's archive is updated with this step's grounded trajectories before its textual ones are judged. What the
judge's machine fails is no score: see ``_consistencies``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.errors import UserError
from saccade.rewards.grounding import GroundingReward, check_weights
from saccade.rewards.judges.consistency import (
    TAU,
    ConsistencyJudge,
    Reference,
    Verdict,
    best_reference,
    better_reference,
    may_be_reference,
    reference_from_json,
    reference_to_json,
    thoughts_of,
)
from saccade.rewards.mentions import first_image_boxes
from saccade.rewards.reward import AccuracyJudge, GroupScores, earned_accuracy, keeps_format
from saccade.types import Json, Score, Task, Term, Trajectory

Accuracies = Sequence[float | None]
"""One for each trajectory; None without a verdict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IvgrReward:
    """iVGR's group reward; it is async, since it asks a judge.

    Grounded: ``grounding`` (equation 1). Textual: ``R_format + R_acc + R_consistency`` (equation 3), each weighted;
    without a reference the last is left out. A task without targets on its first image has format and accuracy
    alone. Its memory of a task is the archived reasoning.
    """

    consistency: ConsistencyJudge | None
    """None leaves the consistency out (variant 5 of Table 5)."""
    grounding: GroundingReward = GroundingReward()
    accuracy: AccuracyJudge | None = None
    """None leaves the accuracy to the rules."""
    tau: float = TAU
    """Threshold that a reference's box reward lies above."""
    use_archive: bool = True
    """False uses references of the current step alone and remembers nothing (variant 6 of Table 5)."""
    format_weight: float = 1.0
    accuracy_weight: float = 1.0
    consistency_weight: float = 1.0
    plain_accuracy_weight: float = 1.0
    """Weight of accuracy in textual trajectories on tasks without targets; 1.5 in the public code."""
    grounded: str = "grounded"
    textual: str = "textual"
    """The streams' names. A question may come in one of them alone."""

    def __post_init__(self) -> None:
        check_weights(
            format_weight=self.format_weight,
            accuracy_weight=self.accuracy_weight,
            consistency_weight=self.consistency_weight,
            plain_accuracy_weight=self.plain_accuracy_weight,
        )
        if not 0 <= self.tau < 1:
            raise UserError(
                f"tau={self.tau} must lie between 0 and 1: a box reward of 1 is perfect (0.3 is the paper's)"
            )
        if self.grounded == self.textual:
            raise UserError(f"both streams are called {self.grounded!r}; give them two names")

    async def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        """``UserError`` for a stream of another name, and for a memory that is damaged."""
        if unknown := groups.keys() - {self.grounded, self.textual}:
            raise UserError(
                f"this reward knows the streams {self.grounded!r} and {self.textual!r}, not {sorted(unknown)}; "
                "name the stage's streams so, or give the reward their names"
            )
        kept = reference_from_json(memory, task.id) if self.use_archive else None
        right = await self._right(task, groups)
        scores: dict[str, Sequence[Score | None]] = {}
        found: Reference | None = None
        if self.grounded in groups:
            scores[self.grounded], found = self._grounding_scores(task, groups[self.grounded], right[self.grounded])
        reference = better_reference(kept, found)
        if self.textual in groups:
            scores[self.textual] = await self._textual(
                task, groups[self.textual], right[self.textual], reference, is_from_archive=reference is kept
            )
        archived = reference if self.use_archive else None
        return GroupScores(scores=scores, memory=None if archived is None else reference_to_json(archived))

    async def _right(self, task: Task, groups: Mapping[str, Sequence[Trajectory]]) -> Mapping[str, Accuracies]:
        judge = self.accuracy
        if judge is None:
            return {name: [earned_accuracy(task, one) for one in members] for name, members in groups.items()}
        answers = {name: [_final_answer(one) for one in members] for name, members in groups.items()}
        # What several answered, in whatever stream, is judged once.
        different = list(dict.fromkeys(one for given in answers.values() for one in given if one is not None))
        found = dict(zip(different, await asyncio.gather(*(judge(task, answer) for answer in different))))
        return {name: [0.0 if one is None else found[one] for one in given] for name, given in answers.items()}

    def _grounding_scores(
        self, task: Task, members: Sequence[Trajectory], right: Accuracies
    ) -> tuple[list[Score | None], Reference | None]:
        scores = [
            None if accuracy is None else self._with_reference_note(self.grounding.judged(task, member, accuracy))
            for member, accuracy in zip(members, right)
        ]
        scored = [(member, score) for member, score in zip(members, scores) if score is not None]
        return scores, best_reference(scored, self.tau)

    def _with_reference_note(self, score: Score) -> Score:
        is_reference = float(may_be_reference(score, self.tau))
        return replace(score, notes={**score.notes, "is_reference": is_reference})

    async def _textual(
        self,
        task: Task,
        members: Sequence[Trajectory],
        right: Accuracies,
        reference: Reference | None,
        *,
        is_from_archive: bool,
    ) -> list[Score | None]:
        has_targets = bool(first_image_boxes(task))
        notes: dict[str, float] = {"reference": float(reference is not None)} if has_targets else {}
        verdicts: Sequence[Verdict | None] = [None] * len(members)
        if has_targets and reference is not None:
            notes["from_archive"] = float(is_from_archive)
            verdicts = await self._verdicts(task, members, right, reference)
        found = _consistencies(verdicts, self.consistency_weight)
        accuracy_weight = self.accuracy_weight if has_targets else self.plain_accuracy_weight
        return [
            None
            if accuracy is None
            else Score(
                terms=(
                    Term("format", float(keeps_format(member)), self.format_weight),
                    Term("accuracy", accuracy, accuracy_weight),
                    *consistency,
                ),
                is_right=accuracy >= 0.5,
                notes={**notes, **_noted_verdict(verdict)},
            )
            for member, accuracy, verdict, consistency in zip(members, right, verdicts, found)
        ]

    async def _verdicts(
        self, task: Task, members: Sequence[Trajectory], right: Accuracies, reference: Reference
    ) -> Sequence[Verdict | None]:
        """None where the judge is not asked: there is none, or the trajectory will have no score."""
        judge = self.consistency
        if judge is None:
            return [None] * len(members)
        texts = [None if accuracy is None else thoughts_of(member) for member, accuracy in zip(members, right)]
        # Siblings often say the same; one verdict is enough for it.
        different = list(dict.fromkeys(text for text in texts if text is not None))
        given = await asyncio.gather(*(judge(task, reference, text) for text in different))
        by_text = dict(zip(different, given))
        return [None if text is None else by_text[text] for text in texts]


def _final_answer(trajectory: Trajectory) -> str | None:
    return trajectory.answer if trajectory.status == "answered" else None


def _consistencies(verdicts: Sequence[Verdict | None], weight: float) -> list[tuple[Term, ...]]:
    """The term of each trajectory.

    Without a verdict it is the lowest of the siblings that have one: a failing machine is no gain over any of them.
    When none has a verdict, none has the term.
    """
    values = [None if verdict is None else verdict.value for verdict in verdicts]
    given = [value for value in values if value is not None]
    if not given:
        return [()] * len(values)
    filled = Term("consistency", min(given), weight, filled_from="no verdict: the lowest of its siblings")
    return [(filled if value is None else Term("consistency", value, weight),) for value in values]


def _noted_verdict(verdict: Verdict | None) -> dict[str, float]:
    if verdict is None:
        return {}
    asked = {"no_verdict": float(verdict.value is None), "unjudgeable": float(verdict.is_unjudgeable)}
    return {"judge_attack": float(verdict.is_attack), **({} if verdict.is_attack else asked)}
