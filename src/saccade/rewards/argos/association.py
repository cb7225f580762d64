"""How far two rows of numbers go together: correlations, and the area under a ROC curve."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's correlation of two equally long rows; NaN where one of them is constant or shorter than two."""
    if len(one) < 2:
        return math.nan
    a, b = (np.asarray(row, dtype=np.float64) - np.mean(row) for row in (one, other))
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale > 0 else math.nan


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's correlation: Pearson's of the ranks, equal values with the mean of theirs."""
    return pearson(_ranks(one).tolist(), _ranks(other).tolist())


def roc_auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Area under the ROC curve: how often a positive's score is above a negative's, ties counted half.

    NaN without positives or without negatives.
    """
    positive = np.asarray(labels, dtype=np.bool_)
    count, rest = int(positive.sum()), int((~positive).sum())
    if not count or not rest:
        return math.nan
    above = float(_ranks(scores)[positive].sum()) - count * (count + 1) / 2
    return above / (count * rest)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1; equal values have the mean of theirs."""
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[places]
    return ranks
