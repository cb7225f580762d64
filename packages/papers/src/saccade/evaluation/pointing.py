"""Points of the reasoning: how many hit what they name, and how many targets are pointed at (Argos, figure 4)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.characters import percent_text
from saccade.evaluation.figure import StageFigure
from saccade.rewards.mentions import frame_of
from saccade.types import Attempt, PointMention, Target, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointing:
    """Points of an evaluation's trajectories that the machine did not fail."""

    title: ClassVar = "points"

    accuracy: float | None
    """Grounding accuracy: mean of the verifier's score over the trajectories that it measured; None without any."""
    measured: int
    targets: float | None
    """Share of the targets that a point hits, mean over trajectories; None where no task has one."""
    points_mean: float
    """Points per trajectory."""
    without_points: float
    """Share of trajectories without one."""
    no_verdict: float
    """Points and descriptions per trajectory that a machine failed on."""
    agreement: float | None = None
    """Share of thoughts that end with what is answered, of those that rules can decide; None without any."""

    def describe(self) -> str:
        """``1.50 a trajectory, none in 5 %, 84 % grounded, 83 % of the targets``."""
        parts = [f"{self.points_mean:.2f} a trajectory, none in {percent_text(self.without_points)}"]
        if self.accuracy is not None:
            parts.append(f"{percent_text(self.accuracy)} grounded")
        if self.targets is not None:
            parts.append(f"{percent_text(self.targets)} of the targets")
        if self.agreement is not None:
            parts.append(f"thought and answer agree in {percent_text(self.agreement)}")
        if self.no_verdict:
            parts.append(f"{self.no_verdict:.2f} without a verdict")
        return ", ".join(parts)


def pointing(attempts: Iterable[Attempt]) -> Pointing | None:
    """The measures; None where no reward counts points and no reasoning has one."""
    fine = [one for one in attempts if one.trajectory.status != "failed"]
    scores = [score for one in fine if (score := one.trajectory.score) is not None]
    if not any(points_of(one) for one in fine) and not any("points" in score.notes for score in scores):
        return None
    found = [score.notes["grounding"] for score in scores if "grounding" in score.notes]
    shares = [share for one in fine if (share := targets_hit(one)) is not None]
    counts = [len(points_of(one)) for one in fine]
    return Pointing(
        accuracy=_mean(found),
        measured=len(found),
        targets=_mean(shares),
        points_mean=_mean(counts) or 0.0,
        without_points=counts.count(0) / len(counts),
        no_verdict=_mean([score.notes.get("no_verdict", 0.0) for score in scores]) or 0.0,
        agreement=_mean([score.notes["agreement"] for score in scores if "agreement" in score.notes]),
    )


FIGURE = StageFigure(kind=Pointing, of=pointing)


def points_of(attempt: Attempt) -> list[PointMention]:
    return [point for turn in attempt.trajectory.turns for point in turn.points]


def targets_hit(attempt: Attempt) -> float | None:
    """Share of the task's targets that a point of the reasoning lies on, whatever its label; None without targets."""
    targets, points = attempt.task.targets, points_of(attempt)
    if not targets:
        return None
    return sum(any(_hits(point, target, attempt.task) for point in points) for target in targets) / len(targets)


def _hits(mention: PointMention, target: Target, task: Task) -> bool:
    if mention.point is None:
        return False
    index: int | None = mention.image_index
    if task.frame_times_s:
        index = frame_of(task.frame_times_s, frame=mention.frame, time_s=mention.time_s)
    if index != target.image_index:
        return False
    return target.box.contains(mention.point) if target.mask is None else target.mask.contains(mention.point)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
