"""How long and how fast the stages of a plan learn, checked before any work."""

import math
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.schedule import Decay, learning_rate
from saccade.train.algorithm_choice import AlgorithmSettings


@dataclass(frozen=True, kw_only=True)
class SFTSettings:
    """How long and how fast to imitate."""

    steps: int
    batch_size: int = 16
    """Demonstrations per step."""
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-5)
    warmup_steps: int = 0
    decay: Decay = "cosine"
    final_rate: float = 0.0
    """Where the decay ends, as a share of the peak."""
    checkpoint_every: int = 100
    """Steps between checkpoints; the last step always has one."""

    def check(self) -> None:
        _positive("steps", self.steps)
        _positive("batch_size", self.batch_size)
        _positive("checkpoint_every", self.checkpoint_every)
        _not_negative("warmup_steps", self.warmup_steps)
        _not_negative("final_rate", self.final_rate)


@dataclass(frozen=True, kw_only=True)
class ImitationSettings(SFTSettings):
    """As for any imitation, but it may be left out."""

    steps: int = 0
    """0 goes straight to reinforcement."""

    def check(self) -> None:
        if self.steps < 0:
            raise UserError(f"steps={self.steps} must be 0 (no imitation) or more")
        if self.steps:
            super().check()


@dataclass(frozen=True, kw_only=True)
class RLSettings:
    """How long and how fast to learn from rewards."""

    steps: int
    """0 leaves the stage out: its evaluations alone are made."""
    tasks_per_step: int = 16
    """Questions whose groups make up a batch."""
    group_size: int = 8
    """Trajectories per question and stream."""
    temperature: float = 1.0
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-6)
    warmup_steps: int = 0
    decay: Decay = "constant"
    final_rate: float = 0.0
    """Where the decay ends, as a share of the peak."""
    algorithm: AlgorithmSettings = AlgorithmSettings()
    inner_epochs: int = 1
    """Passes over a batch of trajectories."""
    minibatches: int = 1
    """Optimiser steps per pass; each takes whole groups."""
    staleness: int = 0
    """Steps that trajectories are sampled ahead: a batch is trained on when the policy is so many steps further."""
    checkpoint_every: int = 10
    evaluate_every: int = 0
    """Steps between evaluations for the curves; 0 for none."""

    def check(self) -> None:
        for name in ("tasks_per_step", "checkpoint_every", "inner_epochs", "minibatches"):
            _positive(name, getattr(self, name))
        if self.minibatches > self.tasks_per_step:
            raise UserError(
                f"minibatches={self.minibatches} is more than the {self.tasks_per_step} questions of a step "
                "(tasks_per_step), and each minibatch needs a whole group"
            )
        if self.group_size < 1:
            raise UserError(f"group_size={self.group_size} must be 1 or more (8 is usual)")
        if not 0 < self.temperature < math.inf:
            why = "gives equal trajectories" if self.temperature == 0 else "cannot be sampled at"
            raise UserError(f"temperature={self.temperature} {why}; use a finite value above 0 (1 is usual)")
        for name in ("steps", "warmup_steps", "final_rate", "evaluate_every", "staleness"):
            _not_negative(name, getattr(self, name))


def rate_at(settings: SFTSettings | RLSettings, step: int) -> float:
    """Learning rate of the stage's update with this index, from 0."""
    return learning_rate(
        step,
        peak=settings.optimizer.learning_rate,
        steps=settings.steps,
        warmup_steps=settings.warmup_steps,
        decay=settings.decay,
        floor=settings.final_rate,
    )


def _positive(name: str, value: int) -> None:
    if value < 1:
        raise UserError(f"{name}={value} must be 1 or more")


def _not_negative(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise UserError(f"{name}={value} must be a finite number of 0 or more")
