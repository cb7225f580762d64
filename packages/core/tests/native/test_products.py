"""Native matrix products against the same in double precision."""

from collections.abc import Iterator

import pytest
import torch
from native_samples import kernels_or_skip, numbers
from torch import Tensor

from saccade.native.kernels import Kernels, matrix_product
from saccade.native.products import MANY_ROWS, LowRankProduct

SHAPES = [
    (64, 64, 1),
    (65, 100, 17),
    (128, 385, 64),
    (97, 800, 130),
    (600, 128, 356),
    (80, 1100, 600),
    (3, 64, 64),
    (64, 3, 64),
    (0, 9, 9),
]
"""Rows, depth and columns: none of them has to fit a tile, and what is small is left to torch."""


@pytest.fixture(params=["highest", "medium"])
def kernels(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    """At torch's two precisions: rounded factors are multiplied by tiles, where the processor has them."""
    found = kernels_or_skip()
    if request.param == "medium" and not found.has_tiles:
        pytest.skip("neither AMX nor bf16 in AVX-512 here")
    torch.set_float32_matmul_precision(request.param)
    yield found
    torch.set_float32_matmul_precision("highest")


def exact_product(left: Tensor, right: Tensor) -> Tensor:
    """Of the factors as they are multiplied: torch rounds small ones, which are left to it, or not."""
    if torch.get_float32_matmul_precision() == "highest":
        return left.double() @ right.double()
    if min(left.shape) < MANY_ROWS:
        pytest.skip("torch's own")
    return left.bfloat16().double() @ right.bfloat16().double()


def assert_close(ours: Tensor, exact: Tensor) -> None:
    torch.testing.assert_close(ours.double(), exact, atol=2e-4, rtol=0)


@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES)
def test_products_are_exact_in_every_orientation(kernels: Kernels, rows: int, depth: int, columns: int) -> None:
    left, right = numbers(rows, depth), numbers(depth, columns, seed=1)
    exact = exact_product(left, right)
    for one in (left, left.t().contiguous().t(), numbers(rows, depth + 7)[:, :depth].copy_(left)):
        for other in (right, right.t().contiguous().t(), numbers(depth, columns + 5)[:, :columns].copy_(right)):
            assert_close(kernels.product(one, other), exact)


@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES)
def test_biases_and_sums_are_added_once(kernels: Kernels, rows: int, depth: int, columns: int) -> None:
    left, right, bias = numbers(rows, depth), numbers(depth, columns, seed=1), numbers(columns, seed=2)
    added = numbers(rows, columns, seed=3)
    exact = exact_product(left, right)
    assert_close(kernels.product(left, right, bias=bias), exact + bias)
    assert_close(kernels.product(left, right, added=added), exact + added)
    assert_close(kernels.product(left, right, bias=bias, added=added), exact + bias + added)
    wide = torch.full((rows, columns + 3), 7.0)
    kernels.product(left, right, bias=bias, added=added, out=wide[:, :columns])
    assert_close(wide[:, :columns], exact + bias + added)
    assert torch.equal(wide[:, columns:], torch.full((rows, 3), 7.0))
    before = added.double()
    assert kernels.product(left, right, added=added, out=added) is added
    assert_close(added, exact + before)


@pytest.mark.parametrize("rank", [1, 16, 40])
@pytest.mark.parametrize("rows", [70, 97])
def test_what_an_adapter_adds_is_in_the_product(kernels: Kernels, rank: int, rows: int) -> None:
    left, right = numbers(rows, 100), numbers(100, 130, seed=1)
    # Signs and powers of two: sums of the one are whole, and both are the same rounded and not.
    left, down = left.sign(), numbers(rank, 100, seed=2).sign()
    up, added = torch.exp2(torch.round(numbers(130, rank, seed=3))), numbers(rows, 130, seed=4)
    exact_low = left.double() @ down.double().t()
    exact = exact_product(left, right) + 0.5 * exact_low @ up.double().t() + added
    for one, two in ((down.t(), up.t()), (down.t().contiguous(), up.t().contiguous())):
        low = torch.full((rows, rank), torch.nan)
        more = LowRankProduct(one, two, 0.5, low)
        assert_close(kernels.product(left, right, added=added, more=more), exact)
        assert torch.equal(low.double(), exact_low)


def test_a_row_does_not_depend_on_the_others(kernels: Kernels) -> None:
    left, right = numbers(200, 300), numbers(300, 70, seed=1)
    whole = kernels.product(left, right)
    assert torch.equal(kernels.product(left[70 : 70 + MANY_ROWS], right), whole[70 : 70 + MANY_ROWS])


def test_products_are_the_same_to_the_bit_on_any_number_of_threads(kernels: Kernels) -> None:
    left, right = numbers(500, 900), numbers(900, 170, seed=1)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = kernels.product(left, right)
        torch.set_num_threads(3)
        spread = kernels.product(left, right)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(alone, spread)


def test_a_right_side_without_neighbours_is_refused(kernels: Kernels) -> None:
    with pytest.raises(ValueError, match="neither its rows nor its columns"):
        kernels.product(numbers(70, 80), numbers(160, 80)[::2, ::2])


def test_a_product_for_the_head_is_rounded_as_all_others_are(kernels: Kernels) -> None:
    left, right = numbers(110, 800), numbers(800, 900, seed=1)
    for other in (right, right.t().contiguous().t()):
        ours, exact = matrix_product(left, other), exact_product(left, other)
        assert_close(ours, exact)
    assert matrix_product(left.bfloat16(), right.bfloat16()).dtype == torch.bfloat16
