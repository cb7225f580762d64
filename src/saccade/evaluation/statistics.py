"""Uncertainty of measured numbers: confidence intervals of shares and of paired differences."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.seeding import Label, generator_for
from saccade.types import Json

Z95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

_RESAMPLES_PER_BLOCK = 256


def wilson_interval(successes: int, n: int, *, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson 1927): 95 % by default; (0, 1) when nothing was counted.

    Unlike the normal approximation it never leaves [0, 1] and is not empty at 0 or n successes.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not a proportion")
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At the ends the formula gives exactly 0 and 1; rounding must not move them.
    low = 0.0 if successes == 0 else center - half
    high = 1.0 if successes == n else center + half
    return low, high


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """A share of right answers with its Wilson 95 % interval; ``accuracy`` is None when nothing was scored."""

    accuracy: float | None
    ci95: tuple[float, float]
    n: int

    def as_json(self) -> dict[str, Json]:
        return {"accuracy": self.accuracy, "ci95": list(self.ci95), "n": self.n}


def share_right(correct: Sequence[bool]) -> Accuracy:
    """The share of true values."""
    right, n = sum(correct), len(correct)
    return Accuracy(accuracy=right / n if n else None, ci95=wilson_interval(right, n), n=n)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A mean difference with its 95 % bootstrap interval."""

    mean: float
    ci95: tuple[float, float]
    n: int

    @property
    def is_clear(self) -> bool:
        """Zero lies outside the interval."""
        return self.ci95[0] > 0 or self.ci95[1] < 0


def paired_difference(
    before: Sequence[float], after: Sequence[float], *, seed: int, labels: Sequence[Label] = (), resamples: int = 10_000
) -> Difference:
    """The mean of ``after - before`` over the same tasks in the same order, with a percentile bootstrap over tasks.

    The same seed and labels give the same interval. Raises ValueError for no or unpaired values.
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"{len(before)} values before and {len(after)} after are not pairs of at least one task")
    differences = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    generator = generator_for(seed, "paired bootstrap", *labels)
    means: list[float] = []
    while len(means) < resamples:
        rows = min(_RESAMPLES_PER_BLOCK, resamples - len(means))
        drawn = generator.integers(0, differences.size, size=(rows, differences.size))
        means += differences[drawn].mean(axis=1).tolist()
    low, high = np.quantile(means, [0.025, 0.975])
    return Difference(mean=float(differences.mean()), ci95=(float(low), float(high)), n=differences.size)


def exact_mcnemar(only_before: int, only_after: int) -> float:
    """The exact two-sided p of McNemar's test: pairs of which one side alone is right fall to either by a fair coin.

    p = min(1, 2 P(X <= min(b, c))) with X ~ Binomial(b + c, 1/2); 1 without such a pair.
    """
    n, few = only_before + only_after, min(only_before, only_after)
    # In logarithms, since binomials of thousands do not fit in a float.
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(few + 1)]
    return min(1.0, 2.0 * math.fsum(map(math.exp, logs)))


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two who sort the same things into classes: (p_o - p_e) / (1 - p_e).

    p_o is the share on which they agree, p_e what chance would give by how often each uses a class. None without a
    pair, and where both use one class alone, so that chance explains everything.
    """
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(left == right for left, right in pairs) / n
    left, right = Counter(one for one, _ in pairs), Counter(one for _, one in pairs)
    expected = sum(left[name] * right[name] for name in left) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)
