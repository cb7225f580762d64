"""What a training loop asks of a learner: in this process, or spread over several."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from saccade.algorithms.algorithm import PolicyLoss
from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel


class PolicyLearner(Protocol):
    """``Learner`` is one; ``LeadingLearner`` stands for as many as there are ranks."""

    def update(
        self,
        sequences: Sequence[TrainingSequence],
        loss: PolicyLoss,
        *,
        temperature: float,
        learning_rate: float,
        entropy_gradient: bool = False,
        is_stale: bool = False,
    ) -> Mapping[str, float]:
        """One optimiser step; ``is_stale`` says which of the stage's losses it is where a function cannot be sent."""
        ...

    def take_entropies(self) -> dict[int, tuple[float, ...]]:
        """Entropies of the policy at each action token in the updates since the last call, by ``place``.

        In nats; of several updates the first that saw a sequence. Empty where ranks share the sequences.
        """
        ...

    def logprobs(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]: ...

    def take_reference(self, load: Callable[[], VisionLanguageModel]) -> None: ...

    def reference_logprobs(
        self, sequences: Sequence[TrainingSequence], *, temperature: float
    ) -> list[tuple[float, ...]]: ...

    def take_teacher(self, load: Callable[[], VisionLanguageModel]) -> None: ...

    def teacher_logprobs(
        self, sequences: Sequence[TrainingSequence], *, temperature: float
    ) -> list[tuple[float, ...]]: ...

    def values(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]: ...

    def publish(self) -> None:
        """Brings the run's model, which engine and checkpoints read, up to date with what was learned."""
        ...

    def save_state(self, directory: Path) -> None:
        """Writes what a checkpoint needs beside the model: moments, masters, critic, reference."""
        ...

    def restore_state(self, directory: Path) -> None:
        """Takes what ``save_state`` wrote, by however many ranks; UserError when it is damaged or of another model."""
        ...
