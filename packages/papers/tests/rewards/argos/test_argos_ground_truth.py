"""Agreement of a verifier with ground truth: measures beside libraries', and what noise and failures do to them."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from argos_samples import Counted
from scipy import stats
from sklearn.metrics import roc_auc_score

from saccade.errors import UserError
from saccade.geometry import Mask
from saccade.rewards.argos import ExactRegions, NoisyRegions, RegionRequest, Verifier, agreement_with_truth
from saccade.rewards.argos.ground_truth import pearson, roc_auc, spearman
from saccade.rewards.hack_check import drawn_tasks

TASKS = drawn_tasks(24)


def test_measures_are_those_of_libraries() -> None:
    chance = np.random.default_rng(0)
    for size in (2, 3, 40):
        # Few values, so that there are ties.
        one, other = chance.integers(0, 4, (2, size)) + np.array([[0.0], [0.5]])
        one[0], one[1], other[0], other[1] = 0, 3, 1, 2
        labels = np.arange(size) % 2 == 0
        assert pearson(one, other) == pytest.approx(stats.pearsonr(one, other).statistic)
        assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
        assert roc_auc(one, labels.tolist()) == pytest.approx(roc_auc_score(labels, one))


def test_measures_that_nothing_can_be_said_of_are_none() -> None:
    assert all(map(math.isnan, (pearson([1.0], [2.0]), pearson([1, 1], [1, 2]), roc_auc([1, 2], [True, True]))))


def test_the_more_regions_are_wrong_the_less_a_verifier_agrees() -> None:
    exact, ten, thirty = (
        agreement_with_truth(Verifier(regions=NoisyRegions(inner=ExactRegions(), share=share)), TASKS)
        for share in (0.0, 0.1, 0.3)
    )
    assert (exact.accuracy, exact.precision, exact.recall, exact.roc_auc) == (1.0, 1.0, 1.0, 1.0)
    assert exact.points > 200
    assert 0.85 < ten.accuracy < 0.99
    assert thirty.accuracy < ten.accuracy
    assert thirty.roc_auc < ten.roc_auc
    assert 0.5 < thirty.recall < 0.85
    assert agreement_with_truth(Verifier(regions=ExactRegions()), TASKS) == exact


class Nowhere:
    """Finds nothing at all."""

    identity = "nowhere"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...]]:
        return [()] * len(requests)


def test_a_verifier_that_finds_nothing_and_one_that_fails() -> None:
    blind = agreement_with_truth(Verifier(regions=Nowhere()), TASKS)
    assert (blind.recall, math.isnan(blind.precision), math.isnan(blind.pearson)) == (0.0, True, True)
    assert (blind.to_json()["precision"], "precision -" in blind.describe()) == (None, True)
    names = sorted({one.name for task in TASKS for one in task.objects})
    failing = agreement_with_truth(Verifier(regions=Counted(ExactRegions(), fails=names)), TASKS)
    assert failing.no_verdict > 150
    assert failing.points + failing.no_verdict + failing.repeated == blind.points + blind.repeated
    assert (blind.no_verdict, failing.vague) == (0, 0)


class Everywhere:
    """Finds each thing all over its picture."""

    identity = "everywhere"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...]]:
        images = [one.task.images[one.image_index] for one in requests]
        return [(Mask.from_array(np.ones((image.height, image.width), dtype=np.bool_)),) for image in images]


class Together:
    """Finds one thing in the upper left, whatever is asked for."""

    identity = "together"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...]]:
        found = []
        for one in requests:
            image = one.task.images[one.image_index]
            region = np.zeros((image.height, image.width), dtype=np.bool_)
            region[: image.height // 2, : image.width // 2] = True
            found.append((Mask.from_array(region),))
        return found


def test_points_that_say_nothing_are_no_failures_of_a_machine() -> None:
    vague = agreement_with_truth(Verifier(regions=Everywhere()), TASKS)
    blind = agreement_with_truth(Verifier(regions=Nowhere()), TASKS)
    assert (vague.points, vague.no_verdict, vague.repeated) == (0, 0, 0)
    assert vague.vague == blind.points + blind.repeated > 200
    assert f"{vague.vague} not counted, as their names cover over half of the picture" in vague.describe()
    merged = agreement_with_truth(Verifier(regions=Together()), TASKS)
    assert (merged.no_verdict, merged.vague) == (0, 0)
    assert merged.points + merged.repeated == vague.vague
    assert f"{merged.repeated} not counted, as they repeat others" in merged.describe()
    assert "not counted" not in agreement_with_truth(Verifier(regions=ExactRegions()), TASKS).describe()


def test_targets_of_own_tasks_are_enough_and_without_any_there_is_nothing_to_compare() -> None:
    own = [replace(task, objects=()) for task in TASKS]
    assert agreement_with_truth(Verifier(regions=ExactRegions()), own).accuracy == 1.0
    with pytest.raises(UserError, match="24 of 24 tasks"):
        agreement_with_truth(Verifier(regions=ExactRegions()), [replace(one, targets=()) for one in own])
    with pytest.raises(UserError, match="0 tasks with 5 responses"):
        agreement_with_truth(Verifier(regions=ExactRegions()), [])
