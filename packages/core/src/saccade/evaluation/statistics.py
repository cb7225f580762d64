"""Uncertainty of measured numbers: intervals, paired tests, several comparisons, agreement of raters."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saccade.codec.forms import Form
from saccade.seeding import Label, generator_for

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


def share_right(correct: Sequence[bool]) -> Accuracy:
    """The share of true values."""
    right, n = sum(correct), len(correct)
    return Accuracy(accuracy=right / n if n else None, ci95=wilson_interval(right, n), n=n)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A mean difference with its 95 % bootstrap interval."""

    FORM: ClassVar = Form(keys={"mean": "difference"})

    mean: float
    ci95: tuple[float, float]
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether zero lies outside the interval."""
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


POWER80 = 0.8416212335729143
"""The 80 % quantile of the standard normal distribution."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusteredMean:
    """A mean over samples of which those in one cluster are not independent, with its interval over clusters."""

    mean: float | None
    """None when nothing was counted."""
    ci95: tuple[float, float]
    n: int
    clusters: int

    def describe(self) -> str:
        """``63.3% (57.2% to 68.9%)``."""
        low, high = self.ci95
        return "nothing scored" if self.mean is None else f"{self.mean:.1%} ({low:.1%} to {high:.1%})"


Values = Sequence[float] | NDArray[np.float64]
Clusters = Sequence[str] | NDArray[np.int64]
"""The name of each value's cluster, or its number by ``cluster_numbers``."""


def cluster_numbers(names: Sequence[str]) -> NDArray[np.int64]:
    """The clusters as numbers from 0, for several figures of the same values."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))


def clustered_mean(
    values: Values, clusters: Clusters, *, seed: int = 0, is_share: bool = True, resamples: int = 10_000
) -> ClusteredMean:
    """The mean of all values with a percentile bootstrap over whole clusters.

    A share of independent answers, one for each cluster, has Wilson's interval. So has one of which all values are 0,
    or all are 1, with one observation for each cluster: the bootstrap has no width there and says too much. Clusters
    with equal sums and counts are drawn together, by a multinomial distribution: the same bootstrap, for a hundred
    thousand clusters in milliseconds.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values do not fit {len(clusters)} clusters")
    if len(values) == 0:
        return ClusteredMean(mean=None, ci95=(0.0, 1.0), n=0, clusters=0)
    weights = np.asarray(values, dtype=np.float64)
    totals = _cluster_totals(weights, clusters)
    mean = math.fsum(weights.tolist()) / len(weights)
    is_counted = is_share and not np.setdiff1d(weights, [0.0, 1.0]).size
    if is_counted and (len(totals) == len(weights) or mean in (0.0, 1.0)):
        ci95 = wilson_interval(round(mean * len(totals)), len(totals))
    else:
        ci95 = _bootstrap_interval(totals, generator_for(seed, "cluster bootstrap"), resamples)
    return ClusteredMean(mean=mean, ci95=ci95, n=len(weights), clusters=len(totals))


def share_of_questions(right: Sequence[bool], of_each: Sequence[tuple[str, str]]) -> Accuracy:
    """The share of right answers, of which each has its question and that one's cluster; the interval is over clusters.

    A question counts once, however often it was asked.
    """
    mean = clustered_mean(right, [cluster for _, cluster in of_each])
    return Accuracy(accuracy=mean.mean, ci95=mean.ci95, n=len({question for question, _ in of_each}))


def _cluster_totals(weights: NDArray[np.float64], clusters: Clusters) -> NDArray[np.float64]:
    """Sum and count of each cluster that has a value."""
    numbers = clusters if isinstance(clusters, np.ndarray) else cluster_numbers(clusters)
    counts = np.bincount(numbers)
    totals = np.stack([np.bincount(numbers, weights), counts.astype(np.float64)], axis=1)
    return totals[counts > 0]


def _bootstrap_interval(
    totals: NDArray[np.float64], generator: "np.random.Generator", resamples: int
) -> tuple[float, float]:
    # As complex numbers, which are sorted several times as fast as rows, in the same order.
    pairs, counts = np.unique(np.ascontiguousarray(totals).view(np.complex128)[:, 0], return_counts=True)
    kinds = pairs.view(np.float64).reshape(-1, 2)
    means: list[float] = []
    rows = max(1, 4_000_000 // len(kinds))
    while len(means) < resamples:
        size = min(rows, resamples - len(means))
        drawn = generator.multinomial(len(totals), counts / len(totals), size=size) @ kinds
        means += (drawn[:, 0] / drawn[:, 1]).tolist()
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def clustered_error(values: Values, clusters: Clusters) -> float:
    """The cluster-robust standard error of the mean: the root of the summed squares of cluster residuals, over n.

    With one value for each cluster it is the standard error of independent values (with n in the denominator).
    """
    totals = _cluster_totals(np.asarray(values, dtype=np.float64), clusters)
    mean = totals[:, 0].sum() / totals[:, 1].sum()
    residuals = totals[:, 0] - mean * totals[:, 1]
    return float(np.sqrt(np.square(residuals).sum()) / totals[:, 1].sum())


def smallest_difference(error: float) -> float:
    """The smallest true difference that a paired test shows in 80 % of cases at 5 %, by its standard error."""
    return (Z95 + POWER80) * error


def planned_difference(n: int, *, share: float = 0.5, correlation: float = 0.5) -> float:
    """The smallest difference that ``n`` independent questions can show, before anything is compared.

    ``correlation`` is that of two models' outcomes on one question: paired variance ``2 p (1 - p) (1 - r)``.
    """
    return smallest_difference(math.sqrt(2 * share * (1 - share) * (1 - correlation) / n))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (1979), in their order: the i-th smallest of m times ``m - i``, never falling."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True, kw_only=True, slots=True)
class RaterAgreement:
    """Agreement of two raters on the same items: Cohen's kappa with its 95 % interval."""

    kappa: float | None
    """None where it is not defined: nothing was rated by both, or both gave one and the same verdict throughout."""
    ci95: tuple[float, float] | None
    agree: int
    n: int

    def describe(self) -> str:
        """``agree on 95 of 100, kappa 0.90 (0.81 to 0.99)``."""
        text = f"agree on {self.agree:,} of {self.n:,}"
        if self.kappa is None or self.ci95 is None:
            why = "only one verdict was ever given" if self.n else "no answer has both verdicts"
            return f"{text}, kappa not defined ({why})"
        return f"{text}, kappa {self.kappa:.2f} ({self.ci95[0]:.2f} to {self.ci95[1]:.2f})"


def rater_agreement(first: Sequence[str | bool], second: Sequence[str | bool]) -> RaterAgreement:
    """Agreement of two raters' labels, with the interval of Fleiss, Cohen and Everitt's variance of kappa (1969)."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} labels of one rater and {len(second)} of the other are not pairs")
    n, pairs = len(first), [(str(one), str(other)) for one, other in zip(first, second)]
    agree = sum(one == other for one, other in pairs)
    kappa = cohens_kappa(pairs)
    if kappa is None:
        return RaterAgreement(kappa=None, ci95=None, agree=agree, n=n)
    names = {label: place for place, label in enumerate(dict.fromkeys(label for pair in pairs for label in pair))}
    table = np.zeros((len(names), len(names)))
    for one, other in pairs:
        table[names[one], names[other]] += 1 / n
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = float(rows @ columns)
    diagonal = np.diag(table) @ np.square(1 - (rows + columns) * (1 - kappa))
    off = table * np.square(columns[:, None] + rows[None, :])
    variance = diagonal + (1 - kappa) ** 2 * (off.sum() - np.trace(off)) - (kappa - expected * (1 - kappa)) ** 2
    half = Z95 * math.sqrt(max(0.0, float(variance)) / n) / (1 - expected)
    return RaterAgreement(kappa=kappa, ci95=(max(-1.0, kappa - half), min(1.0, kappa + half)), agree=agree, n=n)
