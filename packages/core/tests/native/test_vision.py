"""Blocks of the vision tower by native kernels beside the same blocks by transformers' modules."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from native_samples import assert_same_gradients, kernels_or_skip
from PIL import Image
from torch import Tensor

from saccade.learner.memory import activation_checkpointing
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.native.library import SWITCH
from saccade.native.vision import NativeBlock, encode_images, native_blocks
from saccade.types import ImageRef

SIZES_PX = ((128, 128), (40, 200), (72, 56), (24, 24))
"""Width and height: several windows, cut ones, and less than one."""


@pytest.fixture(scope="module")
def model() -> VisionLanguageModel:
    """One whose biases and norms are not the zeros and ones that models begin with."""
    made = tiny_model(["some words"], MediaStore(), family="qwen2_5_vl", size=TinySize(vision_depth=3))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in made.hf.model.visual.named_parameters():
            if name.endswith("bias") or "norm" in name:
                weight += 0.3 * torch.randn(weight.shape, generator=generator)
    made.hf.requires_grad_(True)
    return made


@pytest.fixture(scope="module")
def images(model: VisionLanguageModel) -> list[ImageRef]:
    noise = np.random.default_rng(5)
    return [
        model.media.add(Image.fromarray(noise.integers(0, 256, size=(height, width, 3), dtype=np.uint8)))
        for width, height in SIZES_PX
    ]


@pytest.fixture(autouse=True)
def _natively() -> None:
    kernels_or_skip()


def features(model: VisionLanguageModel, images: list[ImageRef]) -> Tensor:
    return torch.cat([one.tokens for one in encode_images(model, images)])


def gradients(model: VisionLanguageModel, images: list[ImageRef]) -> dict[str, Tensor]:
    model.hf.zero_grad()
    tokens = features(model, images)
    (tokens * torch.randn(tokens.shape, generator=torch.Generator().manual_seed(4))).sum().backward()
    return {name: weight.grad for name, weight in model.hf.named_parameters() if weight.grad is not None}


def operations(out: Tensor) -> Iterator[str]:
    """Names of the steps that autograd would take back from ``out``."""
    left, seen = [out.grad_fn], set()
    while left:
        step = left.pop()
        if step is not None and step not in seen:
            seen.add(step)
            yield step.name()
            left += [before for before, _ in step.next_functions]


def is_native(model: VisionLanguageModel, images: list[ImageRef]) -> bool:
    return "_LayerBackward" in set(operations(features(model, images)))


def test_features_and_gradients_are_those_of_the_modules(
    model: VisionLanguageModel, images: list[ImageRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_native(model, images)
    ours, our_gradients = features(model, images), gradients(model, images)
    monkeypatch.setenv(SWITCH, "0")
    assert not is_native(model, images)
    torch.testing.assert_close(ours, features(model, images), atol=2e-5, rtol=2e-5)
    assert_same_gradients(our_gradients, gradients(model, images))


def test_an_image_has_the_same_features_alone(model: VisionLanguageModel, images: list[ImageRef]) -> None:
    together = torch.split(features(model, images), [model.view.token_count(image) for image in images])
    for image, tokens in zip(images, together, strict=True):
        torch.testing.assert_close(features(model, [image]), tokens, atol=1e-5, rtol=1e-5)


def test_weights_that_are_frozen_get_no_gradient(model: VisionLanguageModel, images: list[ImageRef]) -> None:
    whole = gradients(model, images)
    name = "model.visual.blocks.1.attn.qkv.bias"
    model.hf.requires_grad_(False)
    model.hf.get_parameter(name).requires_grad_(True)
    try:
        alone = gradients(model, images)
    finally:
        model.hf.requires_grad_(True)
    assert alone.keys() == {name}
    torch.testing.assert_close(alone[name], whole[name])


def test_checkpoints_of_activations_change_nothing(model: VisionLanguageModel, images: list[ImageRef]) -> None:
    exact = gradients(model, images)
    with activation_checkpointing([model.hf]):
        ours = gradients(model, images)
    assert ours.keys() == exact.keys()
    assert all(torch.equal(ours[name], exact[name]) for name in exact)


@pytest.mark.parametrize("inside", ["", ".mlp.up_proj"])
def test_a_block_with_a_hook_is_left_to_its_modules(
    model: VisionLanguageModel, images: list[ImageRef], inside: str
) -> None:
    seen: list[int] = []
    hooked = model.hf.get_submodule(f"model.visual.blocks.0{inside}")
    hook = hooked.register_forward_hook(lambda module, given, out: seen.append(len(out)))
    try:
        features(model, images)
    finally:
        hook.remove()
    assert len(seen) == 1


def test_only_one_family_has_such_blocks() -> None:
    for family, count in (("qwen2_5_vl", 1), ("qwen3_vl", 0), ("internvl", 0)):
        hf = tiny_model(["some words"], MediaStore(), family=family).hf
        before = list(hf.modules())
        with native_blocks(hf):
            assert sum(isinstance(module, NativeBlock) for module in hf.modules()) == count
        assert list(hf.modules()) == before
