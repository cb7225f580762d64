"""The vision tower: DINOv2-small out of an ONNX graph, by the names of InternVL's tower in transformers."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

PATCH_PX = 14
_LAYERS, _WIDTH = 12, 384
_TABLE_SIDE = 37
# The exporter folded these two into constants without names.
_PATCH_POSITIONS, _CLASS_POSITION = "onnx::Reshape_1962", "onnx::Concat_1957"


def vision_config(tile_px: int) -> dict[str, object]:
    """The fields of ``InternVLVisionConfig`` for tiles of ``tile_px`` pixels a side."""
    return {
        "model_type": "internvl_vision",
        "hidden_size": _WIDTH,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": 6,
        "attention_bias": True,
        "use_qk_norm": False,
        "intermediate_size": 4 * _WIDTH,
        "hidden_act": "gelu",
        "norm_type": "layer_norm",
        "layer_norm_eps": 1e-6,
        "image_size": [tile_px, tile_px],
        "patch_size": [PATCH_PX, PATCH_PX],
        "use_absolute_position_embeddings": True,
        "use_mask_token": False,
        "layer_scale_init_value": 0.1,
        "use_mean_pooling": False,
    }


def tower_weights(path: Path, tile_px: int) -> Iterator[tuple[str, Tensor]]:
    """Each weight in float32 with its name in ``vision_tower.*``; the position table is resampled to the tile."""
    graph = onnx.load(str(path)).graph
    weights = {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()) for tensor in graph.initializer}
    inputs = {node.name: node.input[1] for node in graph.node if node.op_type == "MatMul"}

    def matrix(place: str) -> Tensor:
        return weights[inputs[f"{place}/MatMul"]].T.contiguous()

    side = tile_px // PATCH_PX
    table = weights[_PATCH_POSITIONS].reshape(1, _TABLE_SIDE, _TABLE_SIDE, _WIDTH).permute(0, 3, 1, 2)
    table = nn.functional.interpolate(table, size=(side, side), mode="bicubic", align_corners=False)
    patches = table.permute(0, 2, 3, 1).reshape(1, side * side, _WIDTH)
    yield "embeddings.position_embeddings", torch.cat([weights[_CLASS_POSITION], patches], dim=1)
    yield "embeddings.cls_token", weights["backbone.embeddings.cls_token"]
    for kind in ("weight", "bias"):
        name = f"embeddings.patch_embeddings.projection.{kind}"
        yield name, weights[f"backbone.{name}"]
        yield f"layernorm.{kind}", weights[f"backbone.layernorm.{kind}"]
    for layer in range(_LAYERS):
        there, place, here = (
            f"backbone.encoder.layer.{layer}",
            f"/backbone/encoder/layer.{layer}",
            f"encoder.layer.{layer}",
        )
        for part, name in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
            yield f"{here}.attention.{name}.weight", matrix(f"{place}/attention/attention/{part}")
            yield f"{here}.attention.{name}.bias", weights[f"{there}.attention.attention.{part}.bias"]
        yield f"{here}.attention.projection_layer.weight", matrix(f"{place}/attention/output/dense")
        yield f"{here}.attention.projection_layer.bias", weights[f"{there}.attention.output.dense.bias"]
        for part in ("fc1", "fc2"):
            yield f"{here}.mlp.{part}.weight", matrix(f"{place}/mlp/{part}")
            yield f"{here}.mlp.{part}.bias", weights[f"{there}.mlp.{part}.bias"]
        for part, name in (("norm1", "layernorm_before"), ("norm2", "layernorm_after")):
            for kind in ("weight", "bias"):
                yield f"{here}.{name}.{kind}", weights[f"{there}.{part}.{kind}"]
        yield f"{here}.lambda_1", weights[f"{there}.layer_scale1.lambda1"]
        yield f"{here}.lambda_2", weights[f"{there}.layer_scale2.lambda1"]
