"""Measures of a ranking of pages, or of anything else, against those that are gold: None where nothing is gold.

A page that stands in a ranking more than once counts where it stands first.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence


def recall_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float | None:
    """The share of the gold pages that is among the first ``k``."""
    wanted = set(gold)
    return len(wanted.intersection(_first(ranked, k))) / len(wanted) if wanted else None


def hit_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float | None:
    """1 when any gold page is among the first ``k``, otherwise 0."""
    return float(any(page in set(gold) for page in _first(ranked, k))) if gold else None


def mrr_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float | None:
    """1 over the rank of the first gold page, 0 when it is not among the first ``k`` (mean it over questions)."""
    wanted = set(gold)
    ranks = (rank for rank, page in enumerate(_first(ranked, k), start=1) if page in wanted)
    return next((1 / rank for rank in ranks), 0.0) if wanted else None


def ndcg_at(ranked: Sequence[Hashable], gold: Collection[Hashable] | Mapping[Hashable, float], k: int) -> float | None:
    """Discounted gain of the first ``k`` over the greatest there could be; gains are linear, as in trec_eval.

    A mapping gives gold pages gains above 0; otherwise each has 1.
    """
    gains = dict(gold) if isinstance(gold, Mapping) else dict.fromkeys(gold, 1.0)
    if any(gain <= 0 for gain in gains.values()):
        raise ValueError(f"gains must be above 0: {gains}")
    if not gains:
        return None
    best = sorted(gains.values(), reverse=True)[:k]
    return _discounted_gain([gains.get(page, 0.0) for page in _first(ranked, k)]) / _discounted_gain(best)


def _first(ranked: Sequence[Hashable], k: int) -> list[Hashable]:
    """The first ``k`` different pages."""
    if k < 1:
        raise ValueError(f"k={k}: measure at 1 or more")
    return list(dict.fromkeys(ranked))[:k]


def _discounted_gain(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
