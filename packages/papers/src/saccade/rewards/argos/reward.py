"""Argos' reward: the answer's accuracy, and where it is right, what its reasoning points at and whether it leads there.

Equation 9: R = R_acc below tau, else (w_A R_acc + w_G R_grounding + w_R R_reasoning) / (w_A + w_G + w_R). Weights and
tau are nowhere given in the paper: 1, 1, 1 and 0.5 are ours. Only parts that the task selects stand in both sums,
whatever the response holds. A response of which a machine failed to measure one of them has no score: what is left
would be paid as if it were all.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from saccade.errors import UserError
from saccade.protocols.points import without_points
from saccade.rewards.answers.agreement import agrees
from saccade.rewards.argos.scores import relative_accuracy
from saccade.rewards.argos.selection import RuleSelector, Selection, Selector, selection_to_json
from saccade.rewards.argos.verifier import MeasuredPoints, Verifier
from saccade.rewards.reward import AccuracyJudge, GroupScores, is_correct
from saccade.seeding import generator_for
from saccade.types import Json, Score, Task, Term, Trajectory

Aggregation = Literal["gate", "sum"]


@dataclass(frozen=True, kw_only=True)
class ArgosReward:
    """A group reward over a ``Verifier``; with ``verifier=None`` it is to be given one before the run."""

    accuracy_weight: float = 1.0
    grounding_weight: float = 1.0
    """0 leaves the part out (Tables 6 to 8, "- VG")."""
    recall_weight: float = 0.0
    """Share of the grounding part that is the share of the task's targets pointed at. The paper's part is the share of
    points that hit alone, which a single true point at anything fills."""
    reasoning_weight: float = 1.0
    """0 leaves the part out ("- RQ")."""
    tau: float = 0.5
    aggregation: Aggregation = "gate"
    """``sum`` rewards the parts of wrong answers too, which is what the gate prevents."""
    tolerance: float | None = 0.05
    """Tolerance of answers that measure something (equations 7 and 8); None leaves it to each task."""
    measured_share: float = 0.1
    """Share of responses below tau that are measured anyway, for curves; it changes no reward."""
    seed: int = 0
    """Seed that chooses these responses."""
    verifier: Verifier | None = field(default=None, metadata={"setting": False})
    """Back ends of grounding and reasoning; of a run they are set by ``back_ends`` and ``forms``."""
    selector: Selector = RuleSelector()
    accuracy: AccuracyJudge | None = None
    """A judge of answers that rules cannot compare; None leaves them to the rules. One that grades says right from
    ``tau`` on."""

    def __post_init__(self) -> None:
        weights = (self.accuracy_weight, self.grounding_weight, self.reasoning_weight)
        if not all(0 <= weight < math.inf for weight in weights) or self.accuracy_weight == 0:
            raise UserError(f"weights {weights} must be finite numbers of 0 or more, that of accuracy above 0")
        if not 0 < self.tau <= 1:
            raise UserError(f"tau={self.tau} must be above 0 and at most 1: right answers have an accuracy of 1")
        for name in ("measured_share", "recall_weight"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name}={getattr(self, name)} is a share and must lie between 0 and 1")

    async def score_groups(
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        selection = await self.selector(task, memory)
        scores = {stream: self._scores(task, members, selection) for stream, members in groups.items()}
        found = await asyncio.gather(*scores.values())
        return GroupScores(scores=dict(zip(scores, found)), memory=selection_to_json(selection))

    async def _scores(self, task: Task, members: Sequence[Trajectory], selection: Selection) -> list[Score | None]:
        accuracies = await self._accuracies(task, members)
        pays = [one is not None and (self.aggregation == "sum" or one >= self.tau) for one in accuracies]
        measures = [paid or self._is_sampled(one) for paid, one in zip(pays, members)]
        groundings, reasonings = await asyncio.gather(
            self._groundings(task, members, measures, selection), self._reasonings(task, members, pays, selection)
        )
        return [
            None
            if accuracy is None or (terms := self._terms(accuracy, parts)) is None
            else Score(
                terms=terms,
                is_right=accuracy >= self.tau,
                notes=_notes(task, members[index], selection, groundings[index]),
                evidence=_evidence(selection, groundings[index]),
            )
            for index, accuracy in enumerate(accuracies)
            for parts in [self._parts(selection, groundings[index], reasonings[index]) if pays[index] else {}]
        ]

    async def _accuracies(self, task: Task, members: Sequence[Trajectory]) -> list[float | None]:
        """By the rules; where they say no, by the judge if there is one."""
        found: list[float | None] = [self._by_rules(task, one) for one in members]
        judge = self.accuracy
        if judge is None:
            return found
        asked = {
            place: one.answer
            for place, one in enumerate(members)
            if found[place] == 0.0 and one.status == "answered" and one.answer is not None
        }
        judged = await asyncio.gather(*(judge(task, answer) for answer in asked.values()))
        for place, value in zip(asked, judged):
            # Graded, 0.6 without points would be paid less than 0.49: right or wrong, whatever a judge says.
            found[place] = None if value is None else float(value >= self.tau)
        return found

    def _by_rules(self, task: Task, trajectory: Trajectory) -> float:
        answer = trajectory.answer if trajectory.status == "answered" else None
        if answer is None:
            return 0.0
        if is_correct(task, trajectory):
            return 1.0
        if task.answer_kind != "number" or self.tolerance is None:
            return 0.0
        return relative_accuracy(answer, task.answer, self.tolerance, is_measure=True) or 0.0

    def _is_sampled(self, trajectory: Trajectory) -> bool:
        labels = (trajectory.task_id, trajectory.stream, trajectory.sample, trajectory.policy_version)
        return bool(generator_for(self.seed, "measured", *labels).random() < self.measured_share)

    async def _groundings(
        self, task: Task, members: Sequence[Trajectory], measures: Sequence[bool], selection: Selection
    ) -> list[MeasuredPoints | None]:
        if not self.grounding_weight or not selection.wants_points:
            return [None] * len(members)
        asked = [one for one, is_one in zip(members, measures) if is_one]
        found = iter(await self._verifier.groundings(task, asked, selection) if asked else [])
        return [next(found) if is_one else None for is_one in measures]

    async def _reasonings(
        self, task: Task, members: Sequence[Trajectory], pays: Sequence[bool], selection: Selection
    ) -> list[float | None]:
        if not self.reasoning_weight or "teacher" not in selection.scorers:
            return [None] * len(members)
        asked = [one for one, is_one in zip(members, pays) if is_one]
        found = iter(await self._verifier.reasonings(task, asked) if asked else [])
        return [next(found) if is_one else None for is_one in pays]

    @property
    def _verifier(self) -> Verifier:
        if self.verifier is None:
            raise UserError(
                "this reward weights grounding or reasoning, but has no verifier; pass verifier=Verifier(...), or set "
                "grounding_weight=0 and reasoning_weight=0 for the answer alone"
            )
        return self.verifier

    def _parts(
        self, selection: Selection, grounding: MeasuredPoints | None, reasoning: float | None
    ) -> dict[str, float | None]:
        """What a right answer is paid for beside its accuracy; None for a part that a machine failed on."""
        parts: dict[str, float | None] = {}
        if grounding is not None and grounding.is_part:
            parts["grounding"] = self._grounding_value(grounding)
        if self.reasoning_weight and "teacher" in selection.scorers:
            parts["reasoning"] = reasoning
        return parts

    def _grounding_value(self, found: MeasuredPoints) -> float | None:
        if found.value is None or found.recall is None or not self.recall_weight:
            return found.value
        return (1 - self.recall_weight) * found.value + self.recall_weight * found.recall

    def _terms(self, accuracy: float, parts: Mapping[str, float | None]) -> tuple[Term, ...] | None:
        """Equation 9; None where a part has no value."""
        if not parts:
            return (Term("accuracy", accuracy),)
        weights = {
            "accuracy": self.accuracy_weight,
            "grounding": self.grounding_weight,
            "reasoning": self.reasoning_weight,
        }
        total = math.fsum(weights[name] for name in ("accuracy", *parts))
        terms = [Term("accuracy", accuracy, weights["accuracy"] / total)]
        for name, value in parts.items():
            if value is None:
                return None
            terms.append(Term(name, value, weights[name] / total))
        return tuple(terms)


def _notes(
    task: Task, trajectory: Trajectory, selection: Selection, grounding: MeasuredPoints | None
) -> dict[str, float]:
    notes = {f"scorer/{name}": 1.0 for name in selection.scorers}
    if selection.wants_points:
        points = sum(len(turn.points) for turn in trajectory.turns)
        notes |= {"points": float(points), "no_points": float(points == 0)}
    if grounding is not None:
        notes["no_verdict"] = float(grounding.no_verdict)
        if grounding.value is not None:
            notes["grounding"] = grounding.value
    thought = without_points("\n".join(turn.thought for turn in trajectory.turns))
    if (agreement := agrees(task, thought, trajectory.answer or "")) is not None:
        notes["agreement"] = float(agreement)
    return notes


def _evidence(selection: Selection, grounding: MeasuredPoints | None) -> dict[str, Json]:
    hits: dict[str, Json] = {} if grounding is None else {"hits": list(grounding.hits)}
    return {"scorers": list(selection.scorers), **hits}
