"""Means of many groups of the same samples: values and clusters as arrays, of which each group takes its places."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from saccade.evaluation.samples import StoredSample
from saccade.evaluation.statistics import ClusteredMean, Values, cluster_numbers, clustered_mean

Group = TypeVar("Group", bound=Hashable)


class GroupedMeans:
    """Values and the clusters that they are from, of which groups are asked.

    ``questions``, where given, names the question of each value: ``n`` is then the number of questions.
    """

    def __init__(
        self, values: Values, clusters: Sequence[str], *, is_share: bool = True, questions: Sequence[str] | None = None
    ) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.clusters = cluster_numbers(clusters)
        self._is_share = is_share
        self._questions = None if questions is None else cluster_numbers(questions)

    def mean(self) -> ClusteredMean:
        """Of all values."""
        return clustered_mean(self.values, self.clusters, is_share=self._is_share)

    def by(self, groups: Sequence[Group]) -> dict[Group, ClusteredMean]:
        """The mean of each group; ``groups`` has a name for each value."""
        return {name: self._of(places) for name, places in _places(groups).items()}

    def by_category(self, samples: Sequence[StoredSample]) -> dict[str, ClusteredMean]:
        """By family and bucket, in alphabetical order; none where there is one alone. A sample counts in each."""
        found: dict[str, list[NDArray[np.int64]]] = {}
        for (family, buckets), places in _places([(one.family, one.buckets) for one in samples]).items():
            for name in dict.fromkeys((family, *buckets)):
                found.setdefault(name, []).append(places)
        # In their own order, which the sum of a cluster's values may depend on.
        return (
            {name: self._of(np.sort(np.concatenate(found[name]))) for name in sorted(found)} if len(found) > 1 else {}
        )

    def _of(self, places: NDArray[np.int64]) -> ClusteredMean:
        found = clustered_mean(self.values[places], self.clusters[places], is_share=self._is_share)
        return found if self._questions is None else replace(found, n=len(np.unique(self._questions[places])))


def _places(groups: Sequence[Group]) -> dict[Group, NDArray[np.int64]]:
    """The places of each group, in rising order."""
    if not groups:
        return {}
    numbers = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    of_each = np.fromiter(map(numbers.__getitem__, groups), np.int64, len(groups))
    ends = np.cumsum(np.bincount(of_each, minlength=len(numbers)))
    return dict(zip(numbers, np.split(np.argsort(of_each, kind="stable"), ends[:-1]), strict=True))
