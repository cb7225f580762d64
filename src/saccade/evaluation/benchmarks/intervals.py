"""Intervals of a benchmark's own figure, whatever its aggregate: the bootstrap over clusters."""

import random
from collections.abc import Sequence

from saccade.evaluation.benchmarks.aggregates import mean
from saccade.evaluation.benchmarks.benchmark import Benchmark, ReadingName, ScoredRow
from saccade.evaluation.statistics import clustered_mean, wilson_interval
from saccade.seeding import seed_for

RESAMPLES = 200


def figure_interval(
    benchmark: Benchmark, name: ReadingName, scored: Sequence[ScoredRow], *, seed: int = 0
) -> tuple[float, float] | None:
    """The 95 % interval of the first figure over whole clusters; None for fewer than two clusters.

    A figure that is the mean over rows has the interval of ``clustered_mean``. Any other is worked out anew for
    200 draws of clusters; where all are the same share, 0 or 1, Wilson's interval with one observation for each
    cluster stands in. The same rows give the same interval.
    """
    clusters: dict[str, list[ScoredRow]] = {}
    for one in scored:
        clusters.setdefault(benchmark.cluster(one.row), []).append(one)
    if len(clusters) < 2:
        return None
    figure = benchmark.figures(name, scored)[0].value
    if abs(figure - mean(scored)) < 1e-12:
        values = [one.credit for one in scored]
        return clustered_mean(values, [benchmark.cluster(one.row) for one in scored], seed=seed).ci95
    names = sorted(clusters)
    drawn = random.Random(seed_for(seed, "bootstrap", benchmark.name, name))
    values = sorted(
        benchmark.figures(name, [one for key in drawn.choices(names, k=len(names)) for one in clusters[key]])[0].value
        for _ in range(RESAMPLES)
    )
    low, high = values[int(0.025 * RESAMPLES)], values[int(0.975 * RESAMPLES) - 1]
    return wilson_interval(round(low) * len(names), len(names)) if low == high and low in (0.0, 1.0) else (low, high)
