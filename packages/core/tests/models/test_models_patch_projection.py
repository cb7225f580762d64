"""The product that embeds patches against torch's convolution, and what it makes of pictures against transformers."""

import copy
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import nn

from saccade.bench.checkpoint import SIZES, write_checkpoint
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, tiny_model
from saccade.models.loading import LoadSettings, load_model
from saccade.models.pixels import PatchProjection


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_patches_are_embedded_by_a_product(family: TinyFamily) -> None:
    model = tiny_model(["red plate"] * 9, MediaStore(), family=family)
    assert isinstance(model.hf.model.visual.patch_embed.proj, PatchProjection)


@pytest.mark.parametrize("frames", [1, 2])
@pytest.mark.parametrize("is_still", [False, True])
def test_the_product_is_the_convolution(frames: int, is_still: bool) -> None:
    torch.manual_seed(0)
    convolution = nn.Conv3d(3, 8, (frames, 14, 14), stride=(frames, 14, 14))
    projection = PatchProjection(copy.deepcopy(convolution))
    patches = torch.randn(5, 3, 1 if is_still else frames, 14, 14).expand(-1, -1, frames, -1, -1)
    weights = torch.randn(5, 8, 1, 1, 1)
    product, expected = projection(patches), convolution(patches)
    torch.testing.assert_close(product, expected, atol=1e-5, rtol=0)
    (product * weights).sum().backward()
    (expected * weights).sum().backward()
    for ours, theirs in zip(projection.parameters(), convolution.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-5)


def test_a_picture_is_encoded_as_by_transformers_from_all_its_frames(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SIZES["tiny"])
    model = load_model(tmp_path, MediaStore(), LoadSettings(device="cpu", dtype="float32"))
    picture = Image.effect_noise((84, 112), 90).convert("RGB")
    made = model.image_processor(images=[picture], return_tensors="pt")
    image = model.patches.media.add(picture)
    with torch.no_grad():
        expected = model.hf.model.get_image_features(made["pixel_values"], made["image_grid_thw"]).pooler_output[0]
        [ours] = model.encode_images([image])
    torch.testing.assert_close(ours.tokens, expected, atol=1e-5, rtol=0)
    [patches] = model.patches.get([image])
    assert 2 * patches.values.numel() == made["pixel_values"].numel()


def test_the_names_of_the_weights_stay() -> None:
    model = tiny_model(["red plate"] * 9, MediaStore())
    assert "model.visual.patch_embed.proj.weight" in model.hf.state_dict()
