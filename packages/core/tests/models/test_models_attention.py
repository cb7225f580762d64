"""Attention over a pack against one dense masked attention, values and gradients, in double precision."""

from collections.abc import Callable, Iterator

import pytest
import torch
from attention_packs import LAYOUTS, RULES, dense, states
from torch import Tensor, nn

from saccade.errors import UserError
from saccade.models.attention import Layout, PackMasks, attend, attend_portably, tree
from saccade.models.masks import MaskRule

Attention = Callable[[Tensor, Tensor, Tensor, Layout, float], Tensor]


def through_the_kernel(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float) -> Tensor:
    attended, _ = attend(nn.Module(), query, key, value, None, scaling=scale, packing=layout)
    return attended.transpose(1, 2)


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


def pictures_in(layout: Layout) -> Tensor:
    """Which tokens are of pictures of three tokens, the last of each cut off where its prefix or suffix ends."""
    return torch.arange(layout[-1].suffixes.stop) % 7 < 3


def parts_of(layout: Layout) -> Iterator[tuple[range, list[int]]]:
    """Each prefix and suffix: its own tokens, and the tokens of root and prefix before them."""
    for node in layout:
        root = [] if node.root is None else [*range(node.root.start, node.root.stop)]
        prefix = range(node.prefix.start, node.prefix.stop)
        yield prefix, root
        for run in node.runs:
            length = run.span.length // run.count
            own = (range(at, at + length) for at in range(run.span.start, run.span.stop, length))
            yield from ((one, [*root, *prefix]) for one in own)


def visible_by(rule: MaskRule, layout: Layout, is_image: Tensor, *, slides: bool) -> Tensor:
    """Which key each token may look at, written out token by token."""
    mask = torch.zeros(len(is_image), len(is_image), dtype=torch.bool)
    for own, before in parts_of(layout):
        row = [*before, *own]
        for query, token in enumerate(own, start=len(before)):
            for place, key in enumerate(row):
                between = row[min(query, place) : max(query, place) + 1]
                is_alike = rule.both_ways and key in own and all(bool(is_image[one]) for one in between)
                mask[token, key] = (place <= query or is_alike) and not (slides and place <= query - rule.window)
    return mask


@pytest.mark.parametrize("slides", [False, True])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_each_prefix_and_suffix_of_a_pack_looks_by_the_rule_of_the_model(
    layout: Layout, rule: MaskRule, slides: bool
) -> None:
    ours, expected, is_image = states(layout), states(layout), pictures_in(layout)
    masks = PackMasks(rule, is_image, layout)
    options = {"sliding_window": rule.window} if slides else {}
    attended, _ = attend(nn.Module(), *ours, None, scaling=0.3, packing=layout, masks=masks, **options)  # type: ignore[arg-type]
    query, key, value = expected
    scores = (query @ key.transpose(-1, -2)) * 0.3
    seen = visible_by(rule, layout, is_image, slides=slides and rule.window > 0)
    reference = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1) @ value
    torch.testing.assert_close(attended.transpose(1, 2), reference, atol=1e-12, rtol=0)
    for one, other in zip(
        torch.autograd.grad(attended.square().sum(), ours), torch.autograd.grad(reference.square().sum(), expected)
    ):
        torch.testing.assert_close(one, other, atol=1e-11, rtol=0)


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
