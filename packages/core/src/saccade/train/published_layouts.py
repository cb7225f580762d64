"""Step times that verl has published for split layouts, beside what a closed form says of them.

Sources: verl's documentation, "One Step Off Policy Async Trainer" (7B, 16 H20) and "Fully Async Policy Trainer" (7B, 32
to 128 H20), as of 2025; seconds a step. The closed form is the model of ``fleet_plan`` where only means are known: the
slower of playing and learning, each as a colocated run on as many GPUs took, else scaled with the number of GPUs.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Colocated:
    """A colocated run: all GPUs play, then all learn."""

    gpus: int
    played_s: float
    learned_s: float
    """Update, and old log-probabilities where the split run works them out too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """A split run, and the colocated ones of the same table."""

    name: str
    learners: int
    rollouts: int
    step_s: float
    colocated: tuple[Colocated, ...]

    @property
    def predicted_s(self) -> float:
        learned_s = self._scaled_seconds("learned_s", self.learners)
        played = [one.played_s for one in self.colocated if one.gpus == self.rollouts]
        return max([learned_s, *played])

    @property
    def is_of_learning_alone(self) -> bool:
        """Whether nothing is known of playing on so many GPUs: its tail does not scale with them."""
        return all(one.gpus != self.rollouts for one in self.colocated)

    def _scaled_seconds(self, part: str, gpus: int) -> float:
        nearest = min(self.colocated, key=lambda one: (abs(one.gpus - gpus), one.gpus))
        return float(getattr(nearest, part)) * nearest.gpus / gpus


_ONE_STEP_FSDP2 = (Colocated(gpus=16, played_s=321, learned_s=88 + 286),)
_ONE_STEP_MEGATRON = (Colocated(gpus=16, played_s=207, learned_s=119 + 344),)
_FULLY_ASYNC = (
    Colocated(gpus=32, played_s=357.41, learned_s=313.81),
    Colocated(gpus=64, played_s=150.72, learned_s=133.41),
    Colocated(gpus=128, played_s=177.85, learned_s=113.81),
)

VERL = (
    Published(name="one-step-off, FSDP2", learners=12, rollouts=4, step_s=520, colocated=_ONE_STEP_FSDP2),
    Published(name="one-step-off, Megatron", learners=12, rollouts=4, step_s=566, colocated=_ONE_STEP_MEGATRON),
    Published(name="fully async", learners=16, rollouts=16, step_s=294.77, colocated=_FULLY_ASYNC),
    Published(name="fully async", learners=32, rollouts=32, step_s=189.26, colocated=_FULLY_ASYNC),
    Published(name="fully async", learners=64, rollouts=64, step_s=150.63, colocated=_FULLY_ASYNC),
)
