"""How far learner and sampler are apart: mismatch at the same weights, and staleness, told apart.

They are two diseases. Mismatch is an engine that computes otherwise than the learner: weights that did not arrive,
another precision, other pictures. It does not grow with the lag and is never meant. Staleness is what the learner did
since the batch was sampled, and is what a correction is for. On a stale batch the loss sees the sum of both; mismatch
alone is measured on fresh trajectories, at the weights that sampled them.
"""

import math
from collections.abc import Mapping, Sequence

from saccade import metric_names as metric
from saccade.algorithms.corrections import LOG_RATIO_LIMIT
from saccade.types import Group

_OF_STALE = {metric.MISMATCH_KL: metric.SAMPLER_KL, metric.MISMATCH_ABS: metric.SAMPLER_ABS}


def is_stale(groups: Sequence[Group], policy_version: int) -> bool:
    """Whether an older policy than the present one sampled any of the trajectories."""
    return any(one.policy_version < policy_version for group in groups for one in group.trajectories)


def told_apart(metrics: Mapping[str, float], *, is_stale: bool) -> dict[str, float]:
    """A step's metrics with the distance to the sampler by its right name, and the effective sample size of weights."""
    named = {_OF_STALE.get(name, name) if is_stale else name: value for name, value in metrics.items()}
    square = named.pop(metric.IMPORTANCE_SQUARE, None)
    if square is not None:
        weight = named[metric.IMPORTANCE_WEIGHT]
        named[metric.EFFECTIVE_SAMPLES] = weight * weight / square if square else 0.0
    return named


def mismatch(learned: Sequence[Sequence[float]], sampled: Sequence[Sequence[float]]) -> dict[str, float]:
    """``mismatch_kl`` (the k3 estimate of KL(engine || learner)) and ``mismatch_abs``, means over action tokens.

    ``learned`` and ``sampled`` are the log-probabilities of the same tokens, by sequence.
    """
    gaps = [own - other for one, of in zip(learned, sampled, strict=True) for own, other in zip(one, of, strict=True)]
    return {
        metric.MISMATCH_KL: math.fsum(_k3(gap) for gap in gaps) / len(gaps),
        metric.MISMATCH_ABS: math.fsum(map(abs, gaps)) / len(gaps),
    }


def _k3(gap: float) -> float:
    # In this order, so that what is no number stays none.
    cut = min(max(gap, -LOG_RATIO_LIMIT), LOG_RATIO_LIMIT)
    return math.exp(cut) - 1.0 - cut
