"""What one training step leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.types import Attempt, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class StepOutcome:
    """Metrics and trajectories of a step; ``step`` counts finished steps of the stage, so the first is 1."""

    step: int
    metrics: Mapping[str, float]
    tokens: int
    """Tokens that the learner saw, padding left out."""
    tasks: tuple[Task, ...] = ()
    """What it was trained on."""
    attempts: tuple[Attempt, ...] = ()
    ahead: tuple[Attempt, ...] = ()
    """Those that were rolled out and wait to be trained on; their pictures are still needed."""
