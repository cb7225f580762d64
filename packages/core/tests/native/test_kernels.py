"""The native kernels against the same formulas in double precision."""

import math

import pytest
import torch
from native_samples import kernels_or_skip, numbers
from torch import Tensor
from torch.nn.functional import silu

from saccade.native.block_mask import KeyValues, MaskBlock, block_mask
from saccade.native.kernels import Kernels


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return kernels_or_skip()


def assert_close(ours: Tensor, exact: Tensor, *, within: float = 2e-6) -> None:
    """Within a share of the greatest number."""
    assert float((ours.double() - exact).abs().max()) <= within * max(1.0, float(exact.abs().max()))


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (3, 16), (257, 37), (600, 128)])
def test_rows_are_normalised_and_so_are_their_gradients(kernels: Kernels, rows: int, width: int) -> None:
    x, grad, more = (numbers(rows, width, seed=seed) for seed in range(3))
    weight = numbers(width, seed=3)
    exact_x, exact_weight = x.double().requires_grad_(), weight.double().requires_grad_()
    exact = exact_x * (exact_x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * exact_weight
    exact.backward(grad.double())
    assert exact_x.grad is not None
    assert exact_weight.grad is not None
    out, rstd = kernels.rms_norm(x, weight, 1e-6)
    to_x, to_weight = kernels.rms_norm_backward(grad, x, weight, rstd)
    with_more, _ = kernels.rms_norm_backward(grad, x, weight, rstd, more)
    assert_close(out, exact.detach())
    assert_close(to_x, exact_x.grad)
    assert_close(with_more, exact_x.grad + more)
    assert_close(to_weight, exact_weight.grad, within=1e-5)


@pytest.mark.parametrize("count", [1, 15, 16, 4096, 9001])
def test_gates_and_their_gradients(kernels: Kernels, count: int) -> None:
    gate, up, grad = (5 * numbers(count, seed=seed) for seed in range(3))
    gate[0] = -300.0  # exp(300) is no number in fp32.
    exact_gate, exact_up = (part.double().requires_grad_() for part in (gate, up))
    exact = silu(exact_gate) * exact_up
    exact.backward(grad.double())
    assert exact_gate.grad is not None
    assert exact_up.grad is not None
    assert_close(kernels.gated(gate, up), exact.detach())
    again = kernels.gated_backward(grad, gate, up)
    assert_close(again, exact.detach())
    assert_close(gate, exact_gate.grad)
    assert_close(up, exact_up.grad)


def rotated(x: Tensor, angles: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    cosines, sines = angles.cos()[:, None], angles.sin()[:, None]
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)


def test_positions_rotate_and_rotate_back(kernels: Kernels) -> None:
    x, angles = numbers(5, 3, 16), numbers(5, 8, seed=1)
    there = kernels.rotate(x, torch.empty_like(x), (angles.cos(), angles.sin()))
    assert_close(there, rotated(x.double(), angles.double()))
    assert_close(kernels.rotate(there, there, (angles.cos(), angles.sin()), back=True), x.double())


def test_heads_that_share_are_added_up_before_they_are_rotated(kernels: Kernels) -> None:
    x, angles = numbers(4, 6, 16), numbers(4, 8, seed=1)
    total = x.double().view(4, 2, 3, 16).sum(dim=2)
    into = torch.empty(4, 2, 16)
    assert_close(kernels.rotate(x, into, (angles.cos(), angles.sin()), repeats=3), rotated(total, angles.double()))
    assert_close(kernels.rotate(x, into, None, repeats=3), total)


def test_tokens_go_to_their_places_and_nowhere_else(kernels: Kernels) -> None:
    x, kv = numbers(3, 2, 16), torch.zeros(2, 7, 16)
    kernels.rotate(x, kv, None, places=torch.tensor([6, 0, 3]), strides=(16, 7 * 16))
    expected = torch.zeros(2, 7, 16)
    expected[:, [6, 0, 3]] = x.transpose(0, 1)
    assert torch.equal(kv, expected)


GROUPS: list[list[MaskBlock]] = [
    # A prefix of 70 tokens that look at themselves, and two suffixes that look at it and at themselves.
    [(0, 70, 0, 70, True), (70, 105, 0, 70, False), (70, 73, 70, 3, True), (73, 105, 73, 32, True)],
    # Five tokens that come after 150 others, and one that looks at a single key.
    [(105, 110, 105, 155, True)],
    [(110, 111, 260, 1, True)],
]
QUERIES, KEYS = 111, 261


def seen() -> Tensor:
    """The same as a mask (queries, keys)."""
    mask = torch.zeros(QUERIES, KEYS, dtype=torch.bool)
    for first, last, key, count, is_causal in (block for group in GROUPS for block in group):
        for query in range(first, last):
            mask[query, key : key + count - (last - 1 - query if is_causal else 0)] = True
    return mask


def exact_attention(query: Tensor, key: Tensor, value: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """And the normalisers, in units of ln 2."""
    repeats = query.shape[1] // key.shape[1]
    keys, values = (part.repeat_interleave(repeats, dim=1) for part in (key, value))
    scores = torch.einsum("qhd,khd->hqk", query, keys) * scale
    scores = scores.masked_fill(~seen(), -torch.inf)
    out = torch.einsum("hqk,khd->qhd", scores.softmax(dim=-1), values)
    return out, scores.logsumexp(dim=-1).T / math.log(2.0)


@pytest.mark.parametrize(("heads", "key_heads", "dim"), [(4, 2, 16), (2, 2, 32), (3, 1, 48), (2, 1, 128)])
def test_attention_and_its_gradients(kernels: Kernels, heads: int, key_heads: int, dim: int) -> None:
    query, grad = 2 * numbers(QUERIES, heads, dim), numbers(QUERIES, heads, dim, seed=1)
    key, value = 2 * numbers(KEYS, key_heads, dim, seed=2), numbers(KEYS, key_heads, dim, seed=3)
    exact = [part.double().requires_grad_() for part in (query, key, value)]
    exact_out, exact_lse = exact_attention(*exact, dim**-0.5)
    exact_out.backward(grad.double())
    kv = KeyValues(key, value, token_stride=key_heads * dim, head_stride=dim)
    mask, repeats = block_mask(GROUPS), heads // key_heads
    for fold in (False, True):
        out, lse = kernels.attend(query, kv, mask, dim**-0.5, repeats=repeats, fold=fold)
        assert_close(out, exact_out.detach())
        assert_close(lse, exact_lse.detach())
    to_query, to_key, to_value = kernels.attend_backward(
        grad, query, kv, mask, dim**-0.5, repeats=repeats, out=out, lse=lse
    )
    summed = (part.view(KEYS, key_heads, repeats, dim).sum(dim=2) for part in (to_key, to_value))
    for ours, leaf in zip((to_query, *summed), exact):
        assert leaf.grad is not None
        assert_close(ours, leaf.grad, within=1e-5)


@pytest.mark.parametrize("keys", [5, 33, 64, 150])
@pytest.mark.parametrize("dim", [16, 32, 64])
def test_a_query_does_not_depend_on_its_place_among_the_others(kernels: Kernels, keys: int, dim: int) -> None:
    query, grad = 4 * numbers(13, 1, dim), numbers(13, dim, seed=3)
    kv = KeyValues(numbers(keys, 1, dim, seed=1), numbers(keys, 1, dim, seed=2), dim, dim)

    def results(first: int, last: int) -> list[Tensor]:
        mask = block_mask([[(0, last - first, 0, keys, False)]])
        some = query[first:last]
        out, lse = kernels.attend(some, kv, mask, 0.3, repeats=1)
        to_query = kernels.attend_backward(grad[first:last], some, kv, mask, 0.3, repeats=1, out=out, lse=lse)[0]
        return [out, lse, to_query]

    whole = results(0, 13)
    for first in range(13):
        for last in range(first + 1, 14):
            for part, of_whole in zip(results(first, last), whole):
                assert torch.equal(part, of_whole[first:last]), (first, last)


def test_queries_may_be_meant_in_any_order(kernels: Kernels) -> None:
    query, key, value = numbers(QUERIES, 2, 16), numbers(KEYS, 2, 16, seed=1), numbers(KEYS, 2, 16, seed=2)
    kv = KeyValues(key, value, token_stride=32, head_stride=16)
    order = torch.randperm(QUERIES, generator=torch.Generator().manual_seed(0))
    shuffled = torch.empty_like(query)
    shuffled[order] = query
    expected, _ = kernels.attend(query, kv, block_mask(GROUPS), 0.25, repeats=1)
    ours, _ = kernels.attend(shuffled, kv, block_mask(GROUPS, order), 0.25, repeats=1)
    assert torch.equal(ours[order], expected)


def test_what_a_query_does_not_see_may_be_anything(kernels: Kernels) -> None:
    query, key, value = (numbers(3, 1, 16, seed=seed) for seed in range(3))
    key[2], value[2] = torch.nan, torch.nan
    kv = KeyValues(key, value, token_stride=16, head_stride=16)
    out, _ = kernels.attend(query[:2], kv, block_mask([[(0, 2, 0, 2, True)]]), 0.25, repeats=1)
    assert bool(out.isfinite().all())


def test_a_key_that_is_no_number_spoils_the_queries_that_see_it(kernels: Kernels) -> None:
    query, key, value = (numbers(3, 1, 16, seed=seed) for seed in range(3))
    key[1] = torch.nan
    kv = KeyValues(key, value, token_stride=16, head_stride=16)
    out, _ = kernels.attend(query, kv, block_mask([[(0, 3, 0, 3, True)]]), 0.25, repeats=1)
    assert out.isnan().all(dim=-1)[:, 0].tolist() == [False, True, True]


def test_scores_far_apart_leave_no_trace_of_the_lesser(kernels: Kernels) -> None:
    query, key = torch.ones(1, 1, 16), torch.ones(2, 1, 16)
    key[0] *= -100.0
    value = torch.stack([torch.full((1, 16), 7.0), torch.full((1, 16), 3.0)])
    kv = KeyValues(key, value, token_stride=16, head_stride=16)
    out, _ = kernels.attend(query, kv, block_mask([[(0, 1, 0, 2, True)]]), 1.0, repeats=1)
    assert torch.equal(out, torch.full((1, 1, 16), 3.0))


@pytest.mark.parametrize("vocabulary", [1, 7, 1024, 3000])
def test_a_share_of_the_probability_draws_the_token_that_holds_it(kernels: Kernels, vocabulary: int) -> None:
    logits = 3 * numbers(64, vocabulary)
    shares = torch.rand(64, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    tokens, logprobs = kernels.draw(logits, shares)
    exact = logits.double().log_softmax(dim=-1)
    after = exact.exp().cumsum(dim=-1).gather(-1, tokens[:, None])[:, 0]
    before = after - exact.exp().gather(-1, tokens[:, None])[:, 0]
    assert bool(((before - 1e-6 <= shares) & (shares <= after + 1e-6)).all())
    assert_close(logprobs, exact.gather(-1, tokens[:, None])[:, 0])


def test_forbidden_tokens_are_never_drawn_and_a_negative_share_takes_the_likeliest(kernels: Kernels) -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf], [1.0, 5.0, 5.0], [-torch.inf, 0.0, 0.0]])
    shares = torch.tensor([0.0, -1.0, 0.0, 1.0 - 2.0**-53, -1.0, 1.0 - 2.0**-53], dtype=torch.float64)
    tokens, _ = kernels.draw(logits.repeat(2, 1), shares)
    assert tokens.tolist() == [1, 1, 1, 1, 1, 2]


def test_logits_that_are_no_numbers_give_no_probability(kernels: Kernels) -> None:
    logits = torch.zeros(3, 40)
    logits[0, 0], logits[1, 39] = torch.nan, torch.nan
    _, logprobs = kernels.draw(logits, torch.full((3,), 0.5, dtype=torch.float64))
    assert logprobs.isnan().tolist() == [True, True, False]


def test_results_are_the_same_to_the_bit_on_any_number_of_threads(kernels: Kernels) -> None:
    query, grad = numbers(QUERIES, 4, 64), numbers(QUERIES, 4, 64, seed=1)
    key, value = numbers(KEYS, 2, 64, seed=2), numbers(KEYS, 2, 64, seed=3)
    kv = KeyValues(key, value, token_stride=128, head_stride=64)
    x, weight = numbers(3000, 128), numbers(128, seed=1)

    def all_of_them() -> list[Tensor]:
        out, lse = kernels.attend(query, kv, block_mask(GROUPS), 0.125, repeats=2)
        gradients = kernels.attend_backward(grad, query, kv, block_mask(GROUPS), 0.125, repeats=2, out=out, lse=lse)
        normed, rstd = kernels.rms_norm(x, weight, 1e-6)
        return [out, *gradients, normed, *kernels.rms_norm_backward(x, x, weight, rstd), kernels.gated(x, x)]

    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = all_of_them()
        torch.set_num_threads(3)
        assert all(torch.equal(one, other) for one, other in zip(alone, all_of_them()))
    finally:
        torch.set_num_threads(threads)
