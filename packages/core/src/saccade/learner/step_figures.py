"""Figures of one optimiser step, of its micro-batches and over them, and what is told of a step that was skipped."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.learner.dealing import MicroBatch
from saccade.learner.sequences import TrainingSequence

_LOSS = "loss of a micro-batch"


@dataclass(frozen=True, kw_only=True, slots=True)
class NonFiniteStep:
    """A step that was skipped because its loss or its gradient was not finite."""

    sequences: tuple[TrainingSequence, ...]
    totals: Mapping[str, float]
    """Sums over the batch's action tokens, as far as they went."""
    gradient_norm: float
    suspects: tuple[int, ...]
    """Indices of the sequences in micro-batches without a finite loss; none where only the gradient overflowed."""


def figures_of(loss: Tensor, sums: Mapping[str, Tensor | float]) -> dict[str, Tensor | float]:
    """Of a micro-batch, for ``totals_of``: its loss and its sums over action tokens, not yet read.

    In float64, as reading them one by one would give them; what the host knows need not go to the device.
    """
    figures = {_LOSS: loss, **sums}
    return {name: one.detach().double() if isinstance(one, Tensor) else one for name, one in figures.items()}


def totals_of(
    share: Sequence[MicroBatch], figures: Sequence[Mapping[str, Tensor | float]]
) -> tuple[dict[str, float], set[int]]:
    """Sums over the action tokens of these micro-batches, and the sequences of those without a finite loss."""
    totals: dict[str, float] = {}
    suspects: set[int] = set()
    for batch, numbers in zip(share, _numbers(figures)):
        if not math.isfinite(numbers.pop(_LOSS)):
            suspects.update(batch.indices)
        for name, number in numbers.items():
            totals[name] = totals.get(name, 0.0) + (0.0 if batch.is_blank else number)
    return totals, suspects


def _numbers(figures: Sequence[Mapping[str, Tensor | float]]) -> list[dict[str, float]]:
    """Read in one piece: each reading waits until the device has done all before it."""
    values = [value for one in figures for value in one.values() if isinstance(value, Tensor)]
    numbers = iter(torch.stack(values).tolist() if values else ())
    return [
        {name: next(numbers) if isinstance(value, Tensor) else float(value) for name, value in one.items()}
        for one in figures
    ]


def entropies_by_place(
    share: Sequence[MicroBatch], entropies: Sequence[Float[Tensor, "actions"]]
) -> dict[int, tuple[float, ...]]:
    """Of the action tokens of each sequence that has a place in its batch, from those of each micro-batch."""
    sequences = [sequence for batch in share for sequence in batch.sequences]
    if all(sequence.place is None for sequence in sequences):
        return {}
    numbers = iter(torch.cat([*entropies]).tolist())
    by_place: dict[int, tuple[float, ...]] = {}
    for sequence in sequences:
        own = tuple(islice(numbers, sequence.action_count))
        if sequence.place is not None:
            by_place.setdefault(sequence.place, own)
    return by_place
