"""Means of groups of samples: the same as of each group taken out by hand."""

import gc
from dataclasses import replace

import pytest
from test_repeats import PLAIN

from saccade.evaluation.grouped_means import GroupedMeans
from saccade.evaluation.sample_files import collection_paused
from saccade.evaluation.statistics import clustered_mean

VALUES = [1.0, 0.0, 1.0, 1.0, 0.5, 0.0]
CLUSTERS = ["a", "b", "a", "c", "b", "c"]


def test_each_group_has_the_mean_and_the_interval_of_its_own_values() -> None:
    found = GroupedMeans(VALUES, CLUSTERS).by(["x", "y", "x", "y", "x", "y"])
    assert found == {
        "x": clustered_mean([1.0, 1.0, 0.5], ["a", "a", "b"]),
        "y": clustered_mean([0.0, 1.0, 0.0], ["b", "c", "c"]),
    }
    assert (found["x"].mean, found["x"].clusters) == (pytest.approx(2.5 / 3), 2)
    assert GroupedMeans(VALUES, CLUSTERS).mean() == clustered_mean(VALUES, CLUSTERS)


def test_a_sample_counts_in_its_family_and_in_each_of_its_buckets() -> None:
    buckets = [("red",), ("red", "big"), ("counting",), (), ("big",), ("red", "red")]
    samples = [replace(PLAIN, buckets=of) for of in buckets]
    found = GroupedMeans(VALUES, CLUSTERS).by_category(samples)
    assert list(found) == ["big", "counting", "red"]
    assert found["counting"] == clustered_mean(VALUES, CLUSTERS)
    assert found["red"] == clustered_mean([1.0, 0.0, 0.0], ["a", "b", "c"])
    assert found["big"] == clustered_mean([0.0, 0.5], ["b", "b"])


def test_one_category_alone_is_none_and_nothing_has_no_groups() -> None:
    assert GroupedMeans([1.0], ["a"]).by_category([PLAIN]) == {}
    assert GroupedMeans([], []).by([]) == {}
    assert GroupedMeans([], []).mean().mean is None


def broken_while_paused() -> None:
    with collection_paused():
        assert not gc.isenabled()
        raise KeyError


def test_the_search_for_garbage_is_on_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError):
        broken_while_paused()
    assert gc.isenabled()
