"""Packs attended to in one call: the plain form against one dense mask, and what the kernel is given."""

import pytest
import torch
from attention_packs import LAYOUTS, RULES, dense, states
from torch import Tensor, nn

from saccade.models.attention import Layout, PackMasks, attend
from saccade.models.varlen_attention import PackSequences, attend_each, fault_of, varlen_kernel

CPU = torch.device("cpu")


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_each_prefix_and_suffix_is_a_sequence_that_sees_what_it_saw(layout: Layout, kv_heads: int) -> None:
    ours, expected = states(layout, kv_heads=kv_heads), states(layout, kv_heads=kv_heads)
    attended = PackSequences.of(layout, CPU).attend(*ours, 0.3).transpose(1, 2)
    query, *shared = expected
    reference = dense(query, *(one.repeat_interleave(4 // kv_heads, 1) for one in shared), layout, 0.3)
    torch.testing.assert_close(attended, reference, atol=1e-12, rtol=0)
    weights = torch.randn(reference.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for one, other in zip(
        torch.autograd.grad((attended * weights).sum(), ours),
        torch.autograd.grad((reference * weights).sum(), expected),
    ):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


def test_no_key_is_copied_where_nothing_is_shared() -> None:
    assert PackSequences.of(LAYOUTS["two strangers"], CPU).places is None
    assert PackSequences.of(LAYOUTS["suffixes without a prefix"], CPU).places is None
    shared = PackSequences.of(LAYOUTS["a prefix with suffixes of different lengths"], CPU)
    assert shared.queries.tolist() == [0, 6, 7, 10, 13, 16, 24]
    assert shared.keys.tolist() == [0, 6, 13, 22, 31, 40, 54]
    assert shared.places is not None
    assert shared.places[6:22].tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert shared.queries.dtype == torch.int32


@pytest.mark.parametrize("slides", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_windows_slide_over_a_suffix_and_its_prefix(layout: Layout, slides: bool) -> None:
    rule = RULES["windows"]
    masks = PackMasks(rule, torch.zeros(layout[-1].suffixes.stop, dtype=torch.bool), layout)
    options = {"sliding_window": rule.window} if slides else {}
    found: list[list[Tensor]] = []
    for sequences in (None, PackSequences.of(layout, CPU)):
        given = states(layout, kv_heads=2)
        attended, _ = attend(
            nn.Module(), *given, None, scaling=0.3, packing=layout, masks=masks, sequences=sequences, **options
        )  # type: ignore[arg-type]
        found.append([attended, *torch.autograd.grad(attended.square().sum(), given)])
    torch.testing.assert_close(*found, atol=1e-11, rtol=0)


def test_the_kernel_is_called_as_torch_declares_it() -> None:
    """By its own stand-in for shapes: no CPU has the kernel."""
    kernel = varlen_kernel()
    assert kernel is not None
    sequences = PackSequences.of(LAYOUTS["several trees"], torch.device("meta"))
    given = [torch.empty(count, heads, 16, device="meta", dtype=torch.bfloat16, requires_grad=True)
             for count, heads in ((131, 4), (131, 2), (131, 2))]  # fmt: skip
    assert sequences.places is not None
    for window in (0, 5):
        copied = [one.index_select(0, sequences.places) for one in given[1:]]
        attended = kernel(given[0], *copied, sequences, 0.25, window)
        assert attended.shape == (131, 4, 16)
        assert [one.shape for one in torch.autograd.grad(attended.sum(), given)] == [one.shape for one in given]


def test_a_kernel_that_gives_something_else_is_found_out() -> None:
    heads = (4, 2, 16)

    def aligned_at_the_start(query, key, value, sequences, scale, window):
        parts, repeats = [], query.shape[1] // key.shape[1]
        counts = [*zip(*sequences.lengths)]
        for own, keys, values in zip(query.split(counts[0]), key.split(counts[1]), value.split(counts[1])):
            keys, values = (one.transpose(0, 1).repeat_interleave(repeats, 0) for one in (keys, values))
            attended = nn.functional.scaled_dot_product_attention(
                own.transpose(0, 1), keys, values, is_causal=True, scale=scale
            )
            parts.append(attended.transpose(0, 1))
        return torch.cat(parts)

    def absent(*given: object) -> Tensor:
        raise NotImplementedError("no kernel for CPU")

    assert fault_of(attend_each, CPU, torch.bfloat16, heads) == ""
    assert "from its plain form" in fault_of(aligned_at_the_start, CPU, torch.bfloat16, heads)
    assert "fails here (no kernel for CPU)" in fault_of(absent, CPU, torch.bfloat16, heads)
