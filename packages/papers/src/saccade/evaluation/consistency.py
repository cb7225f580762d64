"""A training step of two streams in numbers: rewards, scores of agreement, references and verdicts (iVGR, figure 4)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.protocols.two_streams import GROUNDED, TEXTUAL
from saccade.rewards.judges.consistency import RUBRIC
from saccade.types import Attempt, Json, Score

RubricCounts = tuple[int, ...]
"""Trajectories by the rubric's value, in the order of ``RUBRIC``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoStreamStep:
    """Means and counts over the scores of a step's trajectories; means are None where no trajectory has the part."""

    step: int
    grounded_accuracy: float | None
    box: float | None
    """Mean box reward of the grounded stream."""
    textual_accuracy: float | None
    consistency: float | None
    """Mean of the textual trajectories that have a verdict."""
    right: RubricCounts
    """Verdicts on textual trajectories whose answer is right, and in ``wrong`` on the others."""
    wrong: RubricCounts
    questions: int
    """Questions of the textual stream that may have a reference: those with targets."""
    with_reference: int
    from_archive: int
    """Questions whose reference was found in an earlier step."""
    asked: int
    """Textual trajectories that a judge was asked about."""
    no_verdict: int
    """Trajectories among these without a verdict of the judge."""
    attacks: int
    """Textual trajectories that speak to the judge; they have the score 0.0, and no judge was asked."""

    @property
    def reference_share(self) -> float | None:
        """Share of the questions that have a reference."""
        return self.with_reference / self.questions if self.questions else None

    @property
    def hit_rate(self) -> float | None:
        """Share of the references that come from the archive."""
        return self.from_archive / self.with_reference if self.with_reference else None

    def as_json(self) -> dict[str, Json]:
        return {
            "step": self.step,
            "grounded_accuracy": self.grounded_accuracy,
            "box": self.box,
            "textual_accuracy": self.textual_accuracy,
            "consistency": self.consistency,
            "right": by_rubric(self.right),
            "wrong": by_rubric(self.wrong),
            "questions": self.questions,
            "with_reference": self.with_reference,
            "from_archive": self.from_archive,
            "asked": self.asked,
            "no_verdict": self.no_verdict,
            "attacks": self.attacks,
        }


def two_stream_step(
    step: int, attempts: Iterable[Attempt], *, grounded: str = GROUNDED, textual: str = TEXTUAL
) -> TwoStreamStep:
    """The numbers of a step's attempts in these streams; what has no score is in none of them.

    A question that the step asked twice counts once, with a reference where it had one at either time.
    """
    scored = [(one, one.trajectory.score) for one in attempts if one.trajectory.score is not None]
    looking = [score for one, score in scored if one.trajectory.stream == grounded]
    plain = [(one.task.id, score) for one, score in scored if one.trajectory.stream == textual]
    saying = [score for _, score in plain]
    return TwoStreamStep(
        step=step,
        grounded_accuracy=_mean_part(looking, "accuracy"),
        box=_mean_part(looking, "box"),
        textual_accuracy=_mean_part(saying, "accuracy"),
        consistency=_mean_part(saying, "consistency"),
        right=_rubric_counts(score for score in saying if score.is_right),
        wrong=_rubric_counts(score for score in saying if not score.is_right),
        questions=len({task for task, score in plain if "reference" in score.notes}),
        with_reference=len({task for task, score in plain if score.notes.get("reference")}),
        from_archive=len({task for task, score in plain if score.notes.get("from_archive")}),
        asked=sum("no_verdict" in score.notes for score in saying),
        no_verdict=sum(bool(score.notes.get("no_verdict")) for score in saying),
        attacks=sum(bool(score.notes.get("judge_attack")) for score in saying),
    )


def nearest_rubric(value: float) -> float:
    """The rubric's value that a mean of several judgements is nearest to; halfway between two it is the lower."""
    # Rounded, so that a mean that is halfway in decimals is halfway in binary too.
    return min(RUBRIC, key=lambda rubric: (round(abs(rubric - value), 9), rubric))


def shares_of(counts: RubricCounts) -> tuple[float, ...] | None:
    """The share of each value of the rubric; None where there was no verdict."""
    total = sum(counts)
    return tuple(count / total for count in counts) if total else None


def sum_of_counts(counts: Sequence[RubricCounts]) -> RubricCounts:
    """The counts of several steps together."""
    return tuple(sum(of_value) for of_value in zip(*counts)) if counts else (0,) * len(RUBRIC)


def by_rubric(counts: RubricCounts) -> Mapping[str, int]:
    """The counts by the value as text: ``{"1.0": 3, "0.7": 1, ...}``."""
    return {str(value): count for value, count in zip(RUBRIC, counts)}


def _rubric_counts(scores: Iterable[Score]) -> RubricCounts:
    values = [nearest_rubric(score.values["consistency"]) for score in scores if "consistency" in score.values]
    return tuple(values.count(value) for value in RUBRIC)


def _mean_part(scores: Sequence[Score], name: str) -> float | None:
    values = [score.values[name] for score in scores if name in score.values]
    return math.fsum(values) / len(values) if values else None
