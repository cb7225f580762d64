"""The product that embeds patches against torch's convolution."""

import copy

import pytest
import torch
from torch import nn

from saccade.media.store import MediaStore
from saccade.models.patch_projection import PatchProjection
from saccade.models.tiny import TinyFamily, tiny_model


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_patches_are_embedded_like_by_a_convolution(family: TinyFamily) -> None:
    model = tiny_model(["red plate"] * 9, MediaStore(), family=family)
    projection = model.hf.model.visual.patch_embed.proj
    assert isinstance(projection, PatchProjection)
    convolution = copy.deepcopy(projection)
    convolution.__class__ = nn.Conv3d
    patches = torch.randn(5, projection.in_channels, *projection.kernel_size)
    weights = torch.randn(5, projection.out_channels, 1, 1, 1)
    product, expected = projection(patches), convolution(patches)
    torch.testing.assert_close(product, expected, atol=1e-5, rtol=0)
    (product * weights).sum().backward()
    (expected * weights).sum().backward()
    for ours, theirs in zip(projection.parameters(), convolution.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-5)


def test_the_names_of_the_weights_stay() -> None:
    model = tiny_model(["red plate"] * 9, MediaStore())
    assert "model.visual.patch_embed.proj.weight" in model.hf.state_dict()
