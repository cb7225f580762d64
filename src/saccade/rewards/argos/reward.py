"""Argos' reward: the answer's accuracy, and where it is right, what its reasoning points at and whether it leads there.

Equation 9: R = R_acc below tau, else (w_A R_acc + w_G R_grounding + w_R R_reasoning) / (w_A + w_G + w_R). Weights and
tau are nowhere given in the paper: 1, 1, 1 and 0.5 are ours. Only parts that the task selects stand in both sums,
whatever the response holds. A part that a machine failed on takes the mean of the siblings that have it, and says so;
where none has it, none has the part.
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
        if not 0 <= self.measured_share <= 1:
            raise UserError(f"measured_share={self.measured_share} is a share and must lie between 0 and 1")

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
        filled = _filled([None if one is None else one.value for one in groundings], pays)
        points = [part if one is None or one.is_part else None for one, part in zip(groundings, filled)]
        thoughts = _filled(reasonings, pays)
        return [
            None
            if accuracy is None
            else Score(
                terms=self._terms(accuracy, points[index], thoughts[index]) if pays[index] else _alone(accuracy),
                is_right=accuracy >= self.tau,
                notes=_notes(task, members[index], selection, groundings[index])
                | self._of_teacher(reasonings[index], selection, is_paid=pays[index]),
                evidence=_evidence(selection, groundings[index]),
            )
            for index, accuracy in enumerate(accuracies)
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
        is_measure = task.answer_kind == "number" and self.tolerance is not None
        return (relative_accuracy(answer, task.answer, self.tolerance or 0.0) or 0.0) if is_measure else 0.0

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

    def _of_teacher(self, found: float | None, selection: Selection, *, is_paid: bool) -> dict[str, float]:
        """A note on each response that the teacher was asked about: 1 where its machine failed."""
        was_asked = is_paid and bool(self.reasoning_weight) and "teacher" in selection.scorers
        return {"no_teacher": float(found is None)} if was_asked else {}

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

    def _terms(self, accuracy: float, grounding: "_Part | None", reasoning: "_Part | None") -> tuple[Term, ...]:
        weights = {"accuracy": self.accuracy_weight}
        parts = {"accuracy": _Part(accuracy)}
        if grounding is not None:
            parts["grounding"], weights["grounding"] = grounding, self.grounding_weight
        if reasoning is not None:
            parts["reasoning"], weights["reasoning"] = reasoning, self.reasoning_weight
        total = math.fsum(weights.values())
        return tuple(
            Term(name, part.value, weights[name] / total, filled_from=part.filled_from) for name, part in parts.items()
        )


@dataclass(frozen=True, slots=True)
class _Part:
    value: float
    filled_from: str = ""


def _alone(accuracy: float) -> tuple[Term, ...]:
    return (Term("accuracy", accuracy),)


def _filled(values: Sequence[float | None], pays: Sequence[bool]) -> list[_Part | None]:
    """The part of each trajectory that is paid for it: found, or the mean of the siblings that have one."""
    given = [value for value, is_paid in zip(values, pays) if is_paid and value is not None]
    if not given:
        return [None] * len(values)
    filled = _Part(math.fsum(given) / len(given), "no verdict: the mean of its siblings")
    return [filled if value is None else _Part(value) for value in values]


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
