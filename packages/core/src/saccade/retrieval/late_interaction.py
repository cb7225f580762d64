"""MaxSim, the score of late interaction: each vector of a question meets the page's vector that is most like it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (vector, dimension)."""


@dataclass(frozen=True, slots=True, eq=False)
class MaxSimParts:
    """What each vector of a question adds to the score of a page."""

    best: NDArray[np.int64]
    """The page's vector that it is most like; the first of equal ones."""
    similarity: NDArray[np.float32]


def maxsim(query: Vectors, page: Vectors, mask: NDArray[np.bool_] | None = None) -> float:
    """Sum over the query's vectors of the greatest product with a vector of the page; -inf for a page without any.

    ``mask`` is true for the page's vectors that count; others, as padding, never score.
    """
    if mask is not None:
        page = page[mask]
    if len(page) == 0:
        return -np.inf
    return float((query @ page.T).max(axis=1).sum(dtype=np.float64))


def maxsim_parts(query: Vectors, page: Vectors) -> MaxSimParts:
    """The parts that ``maxsim`` sums, for a page with one vector or more."""
    products = query @ page.T
    return MaxSimParts(best=products.argmax(axis=1), similarity=products.max(axis=1))


def best_first(scores: NDArray[np.float32], k: int) -> Sequence[int]:
    """Places of the ``k`` greatest scores, the greatest first; of equal ones the earliest."""
    if k < 1:
        raise ValueError(f"k={k}: ask for one page or more")
    if k < len(scores):
        # The k-th greatest, and all that equal it: some of them are too many, but the earliest are among them.
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order = np.argsort(-scores[places], kind="stable")[:k]
    return [int(place) for place in places[order]]
