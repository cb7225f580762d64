"""Pictures for vLLM: our own patches in the form that its processor would have given them."""

import base64

import msgspec
import torch
from torch import Tensor

from saccade.models.pixels import Patches
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef

_RAW = 3
"""The extension type of MessagePack under which vLLM reads a tensor's bytes."""

_Field = tuple[str, dict[str, object]]


def encoded_image(model: VisionLanguageModel, image: ImageRef) -> str:
    """One image of ``features.kwargs_data``: MessagePack of its tensors in base64.

    The pixels are the learner's own, resized and normalised as it sees them; ``--no-mm-device-do-normalize`` keeps vLLM
    from normalising them again.
    """
    [patches] = model.patches.get([image])
    items = _FORMS[model.family.model_type](model, patches)
    packed = msgspec.msgpack.encode({name: _element(*item) for name, item in items.items()})
    return base64.b64encode(packed).decode("ascii")


def _qwen(model: VisionLanguageModel, patches: Patches) -> dict[str, tuple[Tensor, _Field]]:
    cut = model.hf.config.vision_config
    # A still picture stands once in its patches, joined frames of a video as many as there are.
    one = patches.values.view(len(patches.values), cut.in_channels, -1, cut.patch_size, cut.patch_size)
    pixels = one.expand(-1, -1, cut.temporal_patch_size, -1, -1).reshape(len(one), -1)
    grid = torch.tensor([1, patches.rows, patches.columns])
    return {
        "pixel_values": (pixels.to(model.dtype), _flat(len(pixels))),
        "image_grid_thw": (grid, _batched_field(stays_on_cpu=True)),
    }


def _internvl(model: VisionLanguageModel, patches: Patches) -> dict[str, tuple[Tensor, _Field]]:
    tiles = patches.values
    return {
        "pixel_values": (tiles.to(model.dtype), _flat(len(tiles))),
        "image_num_patches": (torch.tensor(len(tiles)), _batched_field(stays_on_cpu=True)),
        "image_token_id": (torch.tensor(model.image_token_id), ("shared", {"keep_on_cpu": True, "batch_size": 1})),
    }


_FORMS = {"qwen2_5_vl": _qwen, "qwen3_vl": _qwen, "internvl": _internvl}


def is_sent(model: VisionLanguageModel) -> bool:
    """Whether the form in which vLLM takes pictures of the model's family is known here."""
    return model.family.model_type in _FORMS


def _flat(length: int) -> _Field:
    return "flat", {"keep_on_cpu": False, "slices": [[0, length, None]], "dim": 0}


def _batched_field(*, stays_on_cpu: bool) -> _Field:
    return "batched", {"keep_on_cpu": stays_on_cpu}


def _element(tensor: Tensor, field: _Field) -> dict[str, object]:
    raw = tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()
    kind = str(tensor.dtype).removeprefix("torch.")
    return {"data": [kind, list(tensor.shape), msgspec.msgpack.Ext(_RAW, raw)], "field": list(field)}
