"""Weights in bf16 and in tiles, for decode steps: products, a language model, and when it is used."""

from collections.abc import Iterator

import pytest
import torch
from native_samples import kernels_or_skip, numbers
from torch import Tensor

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.lora import LoraSettings, add_adapter
from saccade.models.plain_layers import PlainLanguageModel
from saccade.models.vlm import VisionLanguageModel
from saccade.native import accelerated, forwards
from saccade.native.kernels import Kernels
from saccade.native.rounded import RoundedLayers, RoundedWeight


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    found = kernels_or_skip()
    if not found.has_tiles:
        pytest.skip("neither AMX nor bf16 in AVX-512 here")
    return found


@pytest.fixture
def rounding() -> Iterator[None]:
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision("highest")


def product(kernels: Kernels, left: Tensor, weight: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
    rounded = RoundedWeight.of(weight)
    assert rounded is not None
    rounded.fill(weight)
    return kernels.rounded_product(left, rounded.tiles, columns=len(weight), bias=bias, added=added)


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 17, 32, 33, 50])
@pytest.mark.parametrize(("columns", "depth"), [(1, 32), (16, 64), (31, 96), (33, 32), (200, 352)])
def test_products_are_those_of_the_rounded_factors(kernels: Kernels, rows: int, columns: int, depth: int) -> None:
    left, weight, bias = numbers(rows, depth), numbers(columns, depth, seed=1), numbers(columns, seed=2)
    added = numbers(rows, columns + 3, seed=3)[:, :columns]
    exact = left.bfloat16().double() @ weight.bfloat16().double().t()
    for one in (None, bias):
        for more in (None, added):
            expected = exact + (0 if one is None else one) + (0 if more is None else more)
            ours = product(kernels, left, weight, one, more)
            torch.testing.assert_close(ours.double(), expected, atol=1e-4, rtol=0)


def test_a_row_depends_neither_on_the_others_nor_on_the_number_of_threads(kernels: Kernels) -> None:
    left, weight = numbers(40, 896), numbers(700, 896, seed=1)
    whole = product(kernels, left, weight, None, None)
    assert torch.equal(whole[:7], product(kernels, left[:7], weight, None, None))
    assert torch.equal(whole[19:20], product(kernels, left[19:20], weight, None, None))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(whole, product(kernels, left, weight, None, None))
    finally:
        torch.set_num_threads(threads)


def test_a_weight_whose_rows_do_not_fill_tiles_is_left_to_torch() -> None:
    assert RoundedWeight.of(numbers(32, 48)) is None


def adapted() -> VisionLanguageModel:
    model = tiny_model(["some words to say"], MediaStore(), vocab_size=300)
    add_adapter(model, LoraSettings(rank=2, alpha=3.0))
    for name, weight in model.hf.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(generator=torch.Generator().manual_seed(3), std=0.1)
    return model


@torch.no_grad()
def test_layers_and_head_have_the_adapter_in_them_and_follow_it(kernels: Kernels) -> None:
    model = adapted()
    language = PlainLanguageModel.of(model.hf)
    assert language is not None
    assert language.has_adapters
    rounded = RoundedLayers(language, model.hf.lm_head, kernels)
    gate = language.layers[1].gate
    assert gate.adapter is not None
    states, scale = numbers(5, gate.weight.shape[1]), 1.0
    for factor in (1.0, -3.0):
        gate.adapter.up.mul_(factor)
        scale *= factor
        rounded.follow()
        merged = gate.weight + gate.adapter.scale * gate.adapter.up @ gate.adapter.down
        exact = states.bfloat16().double() @ merged.bfloat16().double().t()
        torch.testing.assert_close(rounded.operations.project(states, gate).double(), exact, atol=1e-4, rtol=0)
    head = rounded.logits(states)
    assert head is not None
    exact = states.bfloat16().double() @ model.hf.lm_head.weight.bfloat16().double().t()
    torch.testing.assert_close(head.double(), exact, atol=1e-4, rtol=0)


def test_only_decoding_of_larger_models_under_rounded_factors_has_copies(
    kernels: Kernels, rounding: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = adapted()
    native = accelerated(model.hf)
    assert native is not None
    assert native.cached(decoded_rows=8).rounded is None
    monkeypatch.setattr(forwards, "SMALL", 0)
    assert native.cached(decoded_rows=8).rounded is not None
    assert native.cached(decoded_rows=1).rounded is not None
    assert native.cached().rounded is None
    torch.set_float32_matmul_precision("highest")
    assert native.cached(decoded_rows=8).rounded is None
