"""Settings of training stages: the algorithm by name, batch sizes and the learning rate, checked before any work.

In code, an ``Algorithm`` value may be passed instead of ``AlgorithmSettings``.
"""

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.critic import Critic
from saccade.algorithms.dapo import SoftOverlong, dapo, teaches
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, ppo, rloo
from saccade.codec.bounds import Bounds, Count, NotNegative, Positive, check_bounds
from saccade.errors import UserError
from saccade.learner.optimizer import Decay, OptimizerSettings, learning_rate

AlgorithmName = Literal["grpo", "dr_grpo", "rloo", "dapo", "gspo", "ppo"]

CLIPS: dict[AlgorithmName, tuple[float, float]] = {"dapo": (0.2, 0.28), "gspo": (3e-4, 4e-4)}
"""Clip ranges (low, high) of the papers, where they differ from 0.2 on both sides."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmSettings:
    """The algorithm of an RL stage and its settings."""

    name: AlgorithmName = "grpo"
    clip_low: float | None = None
    """Ratios are clipped at 1 - this; None uses the algorithm's own range: 3e-4 for gspo, 0.2 for all others."""
    clip_high: float | None = None
    """And at 1 + this; None: 4e-4 for gspo, 0.28 for dapo, 0.2 for all others."""
    scale_by_std: bool = True
    """Whether grpo and gspo divide advantages by their group's standard deviation."""
    max_refills: Count = 9
    """For dapo: extra rounds of questions that replace groups with equal rewards."""
    overlong_tokens: Count = 0
    """For dapo: action tokens before the limit over which the soft overlong penalty grows; 0 for no penalty."""
    critic: Critic = Critic()
    """Critic of ppo."""
    options: PolicyOptions = PolicyOptions()

    def check(self) -> None:
        """Raises UserError for what the algorithm would refuse or silently not use."""
        check_bounds(self)
        if self.overlong_tokens and self.name != "dapo":
            raise UserError(f"overlong_tokens={self.overlong_tokens} belongs to name=dapo, not {self.name}")
        if self.max_refills != AlgorithmSettings.max_refills and self.name != "dapo":
            raise UserError(f"max_refills={self.max_refills} belongs to name=dapo; {self.name} replaces no groups")
        if (own := self._changed_of_critic()) and self.name != "ppo":
            raise UserError(f"critic.{own} belongs to name=ppo; {self.name} has no critic")
        if not self.scale_by_std and self.name not in ("grpo", "gspo"):
            raise UserError(f"scale_by_std=false belongs to name=grpo and gspo; {self.name} never scales, or always")
        chosen_algorithm(self, action_tokens=max(1, self.overlong_tokens))

    def _changed_of_critic(self) -> str:
        default, own = asdict(Critic()), asdict(self.critic)
        return next((f"{name}={value}" for name, value in own.items() if value != default[name]), "")

    @property
    def clips(self) -> tuple[float, float]:
        low, high = CLIPS.get(self.name, (0.2, 0.2))
        return (low if self.clip_low is None else self.clip_low, high if self.clip_high is None else self.clip_high)


def chosen_algorithm(settings: AlgorithmSettings, *, action_tokens: int) -> Algorithm:
    """The algorithm as a value; ``action_tokens`` is the most that a trajectory may have."""
    low, high = settings.clips
    options = settings.options
    match settings.name:
        case "grpo":
            return grpo(clip_low=low, clip_high=high, scale_by_std=settings.scale_by_std, options=options)
        case "dr_grpo":
            return dr_grpo(length=action_tokens, clip_low=low, clip_high=high, options=options)
        case "rloo":
            return rloo(clip_low=low, clip_high=high, options=options)
        case "gspo":
            return gspo(clip_low=low, clip_high=high, scale_by_std=settings.scale_by_std, options=options)
        case "ppo":
            return ppo(clip_low=low, clip_high=high, critic=settings.critic, aggregation=Aggregation(), options=options)
        case "dapo":
            cache = settings.overlong_tokens
            if cache > action_tokens:
                raise UserError(
                    f"algorithm.overlong_tokens={cache} is more than the {action_tokens} tokens that an episode may "
                    "have, over the last of which the penalty grows; use less (a fifth is usual)"
                )
            return dapo(
                clip_low=low,
                clip_high=high,
                keep_group=teaches,
                max_refills=settings.max_refills,
                overlong=SoftOverlong(max_tokens=action_tokens, cache_tokens=cache) if cache else None,
                options=options,
            )


@dataclass(frozen=True, kw_only=True)
class SFTSettings:
    """Settings of an SFT stage: how long and how fast it learns."""

    steps: Positive
    batch_size: Positive = 16
    """Demonstrations per step."""
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-5)
    warmup_steps: Count = 0
    decay: Decay = "cosine"
    final_rate: NotNegative = 0.0
    """Where the decay ends, as a share of the peak."""
    checkpoint_every: Positive = 100
    """Steps between checkpoints; the last step always has one."""
    checkpoints_kept: Positive = 2
    """Number of newest checkpoints to keep while the stage runs; 1 leaves nothing to go back to if the newest is
    damaged. A finished stage keeps its last policy, without the optimiser's state."""

    def check(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, kw_only=True)
class ImitationSettings(SFTSettings):
    """Settings of an SFT stage that may be left out."""

    steps: Annotated[int, Bounds(least=0, words="0 (no imitation) or more")] = 0
    """0 skips SFT and goes straight to RL."""


@dataclass(frozen=True, kw_only=True)
class RLSettings:
    """Settings of an RL stage: how long and how fast it learns."""

    steps: Count
    """0 skips the stage: only its evaluations are run."""
    tasks_per_step: Positive = 16
    """Questions whose groups make up a batch."""
    group_size: Annotated[int, Bounds(least=1, words="1 or more (8 is usual)")] = 8
    """Trajectories per question and stream."""
    temperature: float = 1.0
    optimizer: OptimizerSettings = OptimizerSettings(learning_rate=1e-6)
    warmup_steps: Count = 0
    decay: Decay = "constant"
    final_rate: NotNegative = 0.0
    """Where the decay ends, as a share of the peak."""
    algorithm: AlgorithmSettings = AlgorithmSettings()
    inner_epochs: Positive = 1
    """Passes over a batch of trajectories."""
    minibatches: Positive = 1
    """Optimiser steps per pass; each takes whole groups."""
    staleness: Count = 0
    """Steps that trajectories are sampled ahead: when a batch is trained on, the policy is this many steps further."""
    overlap: bool = False
    """Samples the next batch while one is trained on, with an engine in a process of its own; needs staleness of 1 or
    more and gives the same bytes as without."""
    in_flight: Count = 0
    """Decode steps of a batch after which it continues with the weights of the training step that ran beside it; 0
    finishes the batch with the weights that it began with. Needs ``overlap``."""
    router_replay: Literal["disabled", "R3"] = "disabled"
    """For a mixture of experts: R3 trains each token through the experts that it was sampled through
    (``saccade.models.routing``); disabled lets the learner's router choose anew, which rounding changes."""
    checkpoint_every: Positive = 10
    checkpoints_kept: Positive = 2
    """Number of newest checkpoints to keep while the stage runs."""
    evaluate_every: Count = 0
    """Steps between evaluations for the curves; 0 for none."""

    def check(self) -> None:
        check_bounds(self)
        if self.minibatches > self.tasks_per_step:
            raise UserError(
                f"minibatches={self.minibatches} is more than the {self.tasks_per_step} questions of a step "
                "(tasks_per_step), and each minibatch needs a whole group"
            )
        if not 0 < self.temperature < math.inf:
            why = "gives equal trajectories" if self.temperature == 0 else "cannot be sampled at"
            raise UserError(f"temperature={self.temperature} {why}; use a finite value above 0 (1 is usual)")
        if self.overlap and not self.staleness:
            raise UserError(
                "overlap=true has nothing to sample while a batch is learned: with staleness=0 the next one waits for "
                "the new weights. Set staleness=1 (the usual lag), or overlap=false"
            )
        if self.in_flight and not self.overlap:
            raise UserError(
                f"in_flight={self.in_flight} changes the weights of a batch that is played while another is learned, "
                "and overlap=false plays none. Set overlap=true and staleness=1, or in_flight=0"
            )


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
