"""Attention over a pack against one dense masked attention, values and gradients, in double precision."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from saccade.errors import UserError
from saccade.models.attention import Layout, attend, attend_portably, tree

HEADS, HEAD_DIM = 4, 8

Attention = Callable[[Tensor, Tensor, Tensor, Layout, float], Tensor]

LAYOUTS: dict[str, Layout] = {
    "one sequence": (tree(0, 7, ()),),
    "two strangers": (tree(0, 5, ()), tree(5, 9, ())),
    "a prefix with suffixes of different lengths": (tree(0, 6, (1, 3, 3, 3, 8)),),
    "suffixes without a prefix": (tree(0, 0, (4, 4, 2)),),
    "several trees": (tree(0, 3, (2, 2)), tree(7, 40, ()), tree(47, 5, (70, 9))),
}


def through_the_kernel(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float) -> Tensor:
    attended, _ = attend(nn.Module(), query, key, value, None, scaling=scale, packing=layout)
    return attended.transpose(1, 2)


def states(layout: Layout, dtype: torch.dtype = torch.float64, *, kv_heads: int = HEADS) -> list[Tensor]:
    tokens = layout[-1].suffixes.stop
    generator = torch.Generator().manual_seed(tokens)
    return [
        torch.randn(1, tokens, heads, HEAD_DIM, dtype=torch.float64, generator=generator)
        .to(dtype)
        .transpose(1, 2)
        .requires_grad_()
        for heads in (HEADS, kv_heads, kv_heads)
    ]


def visible(layout: Layout) -> Tensor:
    """Which key (column) each token (row) may look at, written out token by token."""
    tokens = layout[-1].suffixes.stop
    mask = torch.zeros(tokens, tokens, dtype=torch.bool)
    for node in layout:
        prefix = range(node.prefix.start, node.prefix.stop)
        for token in prefix:
            mask[token, prefix.start : token + 1] = True
        start = prefix.stop
        for run in node.runs:
            length = run.span.length // run.count
            for _ in range(run.count):
                for token in range(start, start + length):
                    mask[token, prefix.start : prefix.stop] = True
                    mask[token, start : token + 1] = True
                start += length
    return mask


def dense(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float) -> Tensor:
    scores = (query @ key.transpose(-1, -2)) * scale
    return scores.masked_fill(~visible(layout), -torch.inf).softmax(dim=-1) @ value


@pytest.mark.parametrize("attention", [through_the_kernel, attend_portably])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_a_pack_attends_like_one_dense_mask_in_values_and_gradients(layout: Layout, attention: Attention) -> None:
    ours, expected = states(layout), states(layout)
    attended, reference = attention(*ours, layout, 0.3), dense(*expected, layout, 0.3)
    torch.testing.assert_close(attended, reference, atol=1e-12, rtol=0)
    weights = torch.randn(reference.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (attended * weights).sum().backward()
    (reference * weights).sum().backward()
    for one, other in zip(ours, expected):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-12, rtol=0)


def test_several_query_heads_share_a_key_head() -> None:
    layout = LAYOUTS["several trees"]
    query, key, value = states(layout, kv_heads=2)
    shared = through_the_kernel(query, key, value, layout, 0.3)
    repeated = dense(query, key.repeat_interleave(2, dim=1), value.repeat_interleave(2, dim=1), layout, 0.3)
    torch.testing.assert_close(shared, repeated, atol=1e-12, rtol=0)
    torch.testing.assert_close(
        torch.autograd.grad(shared.square().sum(), (key, value)),
        torch.autograd.grad(repeated.square().sum(), (key, value)),
        atol=1e-11,
        rtol=0,
    )


def test_half_precision_stays_near_the_exact_result() -> None:
    layout = LAYOUTS["several trees"]
    rounded = through_the_kernel(*states(layout, torch.bfloat16), layout, 0.3)
    assert rounded.dtype == torch.bfloat16
    exact = dense(*(one.double() for one in states(layout, torch.bfloat16)), layout, 0.3)
    torch.testing.assert_close(rounded.double(), exact, atol=0.02, rtol=0)


def test_scores_far_apart_do_not_overflow_where_parts_are_joined() -> None:
    """A suffix that looks at its prefix alone, and one that looks at itself alone."""
    layout = (tree(0, 2, (2, 2)),)
    query, key, value = states(layout)
    with torch.no_grad():
        query.fill_(30.0)
        key[:, :, :2], key[:, :, 2:4], key[:, :, 4:] = 0.0, -30.0, 30.0
    attended = through_the_kernel(query, key, value, layout, 1.0)
    torch.testing.assert_close(attended, dense(query, key, value, layout, 1.0), atol=1e-12, rtol=0)
    gradients = torch.autograd.grad(attended.square().sum(), (query, key, value))
    assert all(bool(one.isfinite().all()) for one in gradients)


def test_the_same_pack_gives_the_same_bits() -> None:
    layout = LAYOUTS["several trees"]
    runs = []
    for _ in range(2):
        inputs = states(layout, torch.float32)
        attended = through_the_kernel(*inputs, layout, 0.3)
        runs.append((attended, *torch.autograd.grad(attended.square().sum(), inputs)))
    assert all(torch.equal(one, other) for one, other in zip(*runs))


def test_dropout_and_windows_are_refused() -> None:
    layout = LAYOUTS["one sequence"]
    for options in ({"dropout": 0.1}, {"sliding_window": 4}):
        with pytest.raises(UserError, match="cannot be trained on packs; set attention_dropout to 0"):
            attend(nn.Module(), *states(layout), None, packing=layout, **options)  # type: ignore[arg-type]
