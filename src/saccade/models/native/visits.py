"""Which queries look at which keys, as the native attention takes it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Visits:
    """Which queries look at which keys."""

    families: Tensor
    """int64 (families, 4): first and last query, first and last visit. Families share no query."""
    visits: Tensor
    """int64 (visits, 5): first and last query, first key, count of keys, and whether the last query sees all of them,
    the one before it all but one, and so on."""
    order: Tensor | None = None
    """Which query is meant by each number; None where it is the number itself."""
    pairs: int = 1 << 30
    """About how many queries meet keys in all."""


Visit = tuple[int, int, int, int, bool]
"""A row of ``Visits.visits``."""


def visits_of(families: Sequence[Sequence[Visit]], order: Tensor | None = None) -> Visits:
    """From the visits of each family, whose queries are neighbours; see ``Visits``."""
    bounds: list[tuple[int, int, int, int]] = []
    rows = 0
    for family in families:
        bounds.append((min(v[0] for v in family), max(v[1] for v in family), rows, rows + len(family)))
        rows += len(family)
    visits = [visit for family in families for visit in family]
    return Visits(
        torch.tensor(bounds, dtype=torch.int64).view(-1, 4),
        torch.tensor(visits, dtype=torch.int64).view(-1, 5),
        order,
        sum((last - first) * count for first, last, _, count, _ in visits),
    )


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Keys and values of all that may be looked at, alike in their strides."""

    key: Tensor
    value: Tensor
    token_stride: int
    head_stride: int
