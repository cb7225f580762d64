"""What the learner trains on: a trajectory's tokens with their advantages, cut into micro-batches."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.types import ImageRef, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSequence:
    """One trajectory as tokens. The per-token fields have the length of ``ids``; zeros where the policy did not act."""

    ids: tuple[int, ...]
    is_action: tuple[bool, ...]
    sampled_logprobs: tuple[float, ...]
    advantages: tuple[float, ...]
    images: tuple[ImageRef, ...]

    @property
    def action_count(self) -> int:
        return sum(self.is_action)


def training_sequence(trajectory: Trajectory, turn_advantages: Sequence[float] = ()) -> TrainingSequence:
    """The view of a trajectory for learning; ``turn_advantages`` has one number per turn (none for supervision)."""
    logprobs: list[float] = []
    advantages: list[float] = []
    for segment in trajectory.segments:
        if segment.role == "action" and turn_advantages:
            logprobs.extend(segment.logprobs)
            advantages.extend([turn_advantages[segment.turn]] * len(segment.ids))
        else:
            logprobs.extend([0.0] * len(segment.ids))
            advantages.extend([0.0] * len(segment.ids))
    return TrainingSequence(
        ids=trajectory.ids,
        is_action=trajectory.action_mask,
        sampled_logprobs=tuple(logprobs),
        advantages=tuple(advantages),
        images=trajectory.images,
    )


def micro_batches(sequences: Sequence[TrainingSequence], *, max_tokens: int) -> list[list[TrainingSequence]]:
    """Sequences of similar length together, each micro-batch at most ``max_tokens`` with padding; none is ever cut.

    A single sequence longer than the limit gets a micro-batch of its own.
    """
    batches: list[list[TrainingSequence]] = []
    for sequence in sorted(sequences, key=lambda sequence: len(sequence.ids), reverse=True):
        # Longest first, so the first sequence of a micro-batch sets its padded length.
        if batches and (len(batches[-1]) + 1) * len(batches[-1][0].ids) <= max_tokens:
            batches[-1].append(sequence)
        else:
            batches.append([sequence])
    return batches
