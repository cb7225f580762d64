"""What the learner trains on: a trajectory's tokens with their advantages, cut into micro-batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.algorithms.advantages import PerToken
from saccade.algorithms.aggregation import Aggregation
from saccade.types import ImageRef, Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSequence:
    """One trajectory as tokens. The tuples that speak of actions have one entry per action token, in order."""

    ids: tuple[int, ...]
    is_action: tuple[bool, ...]
    """One entry per id; false for the first."""
    images: tuple[ImageRef, ...]
    prompt_tokens: int
    """Leading ids that the trajectories of a group share."""
    prompt_images: int
    """Leading images whose placeholders lie in the prompt."""
    sampled_logprobs: tuple[float, ...]
    advantages: tuple[float, ...]
    token_weight: float
    """Share of one action token in the mean over the whole batch; see ``Aggregation``."""
    old_logprobs: tuple[float, ...] | None = None
    """Of the learner when the batch arrived; None stands for the sampled ones."""
    reference_logprobs: tuple[float, ...] | None = None
    old_values: tuple[float, ...] | None = None
    returns: tuple[float, ...] | None = None

    @property
    def action_count(self) -> int:
        return sum(self.is_action)


def training_sequence(trajectory: Trajectory, advantages: Sequence[float] = ()) -> TrainingSequence:
    """The view of a trajectory for learning, with a weight of 1 per token.

    ``advantages`` has one number per turn, one per action token where it is ``PerToken``, or none for supervision.
    """
    actions = [segment for segment in trajectory.segments if segment.role == "action"]
    prompt = trajectory.segments[0]
    if isinstance(advantages, PerToken):
        spread = tuple(advantages)
    else:
        spread = tuple(advantages[s.turn] if advantages else 0.0 for s in actions for _ in s.ids)
    return TrainingSequence(
        ids=trajectory.ids,
        is_action=trajectory.action_mask,
        images=trajectory.images,
        prompt_tokens=len(prompt.ids),
        prompt_images=len(prompt.images),
        sampled_logprobs=tuple(value for s in actions for value in (s.logprobs or (0.0,) * len(s.ids))),
        advantages=spread,
        token_weight=1.0,
    )


def weighted(sequences: Sequence[TrainingSequence], aggregation: Aggregation) -> list[TrainingSequence]:
    """The sequences of one whole batch with the weights of their tokens in its mean."""
    weights = aggregation.token_weights([sequence.action_count for sequence in sequences])
    return [replace(sequence, token_weight=weight) for sequence, weight in zip(sequences, weights)]


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
