"""Statistics of comparisons, by hand and beside scipy and statsmodels."""

import math
import random

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa as reference_kappa
from statsmodels.stats.multitest import multipletests

from saccade.evaluation.statistics import (
    clustered_error,
    clustered_mean,
    exact_mcnemar,
    holm,
    planned_difference,
    rater_agreement,
    wilson_interval,
)


def test_mcnemar_is_the_exact_binomial_test_of_the_discordant_questions() -> None:
    assert exact_mcnemar(0, 0) == 1.0
    # 2 * (1 + 5) / 2^5
    assert exact_mcnemar(1, 4) == pytest.approx(0.375)
    for only_first, only_second in ((0, 1), (3, 3), (2, 9), (12, 30), (700, 800)):
        expected = binomtest(only_first, only_first + only_second).pvalue
        assert exact_mcnemar(only_first, only_second) == pytest.approx(expected, rel=1e-9)
    table = [[10, 2], [9, 20]]
    assert exact_mcnemar(2, 9) == pytest.approx(mcnemar(table, exact=True).pvalue)


def test_holm_is_that_of_statsmodels() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    p_values = [0.5, 0.001, 0.02, 0.02, 1.0, 0.04]
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))
    assert holm([]) == []


def test_kappa_and_its_interval_are_those_of_statsmodels() -> None:
    generator = random.Random(1)
    first = [generator.random() < 0.6 for _ in range(300)]
    second = [one if generator.random() < 0.85 else not one for one in first]
    found = rater_agreement(first, second)
    table = np.array(
        [[sum(a is x and b is y for a, b in zip(first, second)) for y in (False, True)] for x in (False, True)]
    )
    expected = reference_kappa(table)
    assert found.kappa == pytest.approx(expected.kappa)
    assert found.ci95 == pytest.approx((expected.kappa_low, expected.kappa_upp))
    assert found.agree == table[0, 0] + table[1, 1]


def test_kappa_is_not_defined_where_only_one_verdict_was_given() -> None:
    assert rater_agreement([True] * 5, [True] * 5).kappa is None
    assert rater_agreement([], []).kappa is None
    assert "not defined" in rater_agreement([True], [True]).describe()
    # Agreement by chance alone is 0 by hand: (0.5 - 0.5) / (1 - 0.5).
    assert rater_agreement([True, True, False, False], [True, False, True, False]).kappa == pytest.approx(0.0)


def test_an_interval_over_clusters_is_wider_where_clusters_agree() -> None:
    values = [1.0] * 40 + [0.0] * 40
    alone = clustered_mean(values, [str(place) for place in range(80)])
    in_fours = clustered_mean(values, [str(place // 4) for place in range(80)])
    assert alone.mean == in_fours.mean == 0.5
    width, of_fours = alone.ci95[1] - alone.ci95[0], in_fours.ci95[1] - in_fours.ci95[0]
    # Whole clusters of equal values: as a quarter of the observations.
    assert of_fours / width == pytest.approx(2.0, rel=0.15)
    assert alone.ci95 == pytest.approx(wilson_interval(40, 80), abs=0.02)
    assert (in_fours.n, in_fours.clusters) == (80, 20)


def test_the_bootstrap_has_the_spread_of_the_clustered_error() -> None:
    generator = np.random.default_rng(3)
    clusters = [str(one) for one in generator.integers(0, 150, size=600)]
    values = [float(one) for one in generator.normal(size=600)]
    low, high = clustered_mean(values, clusters, is_share=False).ci95
    assert (high - low) / 3.92 == pytest.approx(clustered_error(values, clusters), rel=0.1)
    independent = clustered_error(values, [str(place) for place in range(600)])
    assert independent == pytest.approx(float(np.std(values)) / math.sqrt(600))


def test_nothing_and_equal_values_have_honest_intervals() -> None:
    assert clustered_mean([], []).mean is None
    assert clustered_mean([], []).ci95 == (0.0, 1.0)
    assert clustered_mean([1.0] * 10, list("abcdefghij")).ci95 == wilson_interval(10, 10)
    assert clustered_mean([1.0] * 10, list("aaaaabbbbb")).ci95 == wilson_interval(2, 2)
    assert clustered_mean([0.0] * 10, list("abcdefghij"), is_share=False).ci95 == (0.0, 0.0)


def test_the_smallest_difference_of_the_benchmarks_of_the_papers() -> None:
    # The design's table: 10.1 points on V*, 3.6 on MMStar.
    assert 100 * planned_difference(191) == pytest.approx(10.1, abs=0.05)
    assert 100 * planned_difference(1500) == pytest.approx(3.6, abs=0.05)
