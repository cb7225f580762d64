"""Attention of rows that begin alike, beside attention of each row alone."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from saccade.models.shared_prefix import attend_folded, attend_sharing, shared_prefix

DIM = 8


def rows_of(groups: list[list[int]], shared: int, total: int) -> tuple[Tensor, Tensor]:
    """Keys and values (rows, 2 key heads, total, DIM) where the rows of a group begin alike."""
    torch.manual_seed(0)
    count = sum(len(rows) for rows in groups)
    keys, values = torch.randn(2, count, 2, total, DIM)
    for rows in groups:
        for states in (keys, values):
            states[rows, :, :shared] = states[rows[0], :, :shared].clone()
    return keys, values


def alone(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    repeated = (states.repeat_interleave(query.shape[1] // 2, dim=1) for states in (key, value))
    return scaled_dot_product_attention(query, *repeated, attn_mask=mask).transpose(1, 2)


@pytest.mark.parametrize(
    "groups",
    [
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        [[0, 2, 3, 4], [1, 5, 6, 7]],
        [[0, 1, 2, 3, 4, 5], [6, 7]],
        [[0, 3], [1, 4, 6], [2, 5, 7]],
        [[0, 1, 2, 3, 4, 5, 6, 7]],
    ],
)
@pytest.mark.parametrize("width", [1, 3])
def test_rows_that_share_a_prefix_attend_as_each_row_does_alone(groups: list[list[int]], width: int) -> None:
    total, shared = 60, 40
    keys, values = rows_of(groups, shared, total)
    query = torch.randn(8, 4, width, DIM)
    lengths = torch.arange(8) + 44
    seen = (torch.arange(total) < (lengths[:, None] + torch.arange(width))[:, :, None])[:, None]
    of_row = {row: number for number, rows in enumerate(groups) for row in rows}
    prefix = shared_prefix([(of_row[row], shared) for row in range(8)])
    assert prefix is not None
    added = torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))[..., shared:]
    found = attend_sharing(query, keys, values, added, prefix, DIM**-0.5)
    torch.testing.assert_close(found, alone(query, keys, values, seen), atol=1e-5, rtol=1e-5)
    folded = attend_folded(query, keys, values, seen, DIM**-0.5)
    torch.testing.assert_close(folded, alone(query, keys, values, seen), atol=1e-5, rtol=1e-5)


def test_the_shortest_prompt_decides_how_much_is_shared() -> None:
    prefix = shared_prefix([("a", 90), ("a", 90), ("b", 50), ("b", 50)])
    assert prefix is not None
    assert prefix.length == 50


@pytest.mark.parametrize(
    "prompts", [[], [("a", 90), ("b", 90), ("c", 90)], [("a", 90), ("a", 90), None], [("a", 8), ("a", 8), ("a", 8)]]
)
def test_nothing_is_shared_where_it_would_not_pay(prompts: list[tuple[str, int] | None]) -> None:
    assert shared_prefix(prompts) is None


def test_evenly_spaced_groups_of_one_size_are_looked_at_together() -> None:
    prefix = shared_prefix([(row // 4, 64) for row in range(12)])
    assert prefix is not None
    assert prefix.alike == ((4, slice(0, 9, 4)),)
