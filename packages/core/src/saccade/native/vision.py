"""Image features: encoded by native kernels where there are any, and kept by content hash.

A block of Qwen2.5-VL's vision tower has the formulas of a language model's layer, with one product for queries, keys
and values. Every patch looks at every other of its window or of its whole image. The weights and results are the same.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLVisionBlock

from saccade.models.families.family import ImageFeatures
from saccade.models.plain_layers import PlainLayer, PlainNorm, PlainProduct, is_fp32_on_cpu, is_plain
from saccade.models.vlm import VisionLanguageModel
from saccade.native.block_mask import block_mask
from saccade.native.kernels import VECTOR, Kernels, native_kernels
from saccade.native.layers import Heads, LayerRun, QueryTokens, run_layer
from saccade.types import ImageRef


def encode_images(model: VisionLanguageModel, images: Sequence[ImageRef]) -> list[ImageFeatures]:
    """As ``VisionLanguageModel.encode_images``, by kernels where there are any for its vision tower."""
    if model.batch_invariant and len(images) > 1:
        return [features for image in images for features in encode_images(model, [image])]
    with native_blocks(model.hf):
        return model.encode_images(images)


@contextmanager
def native_blocks(hf: PreTrainedModel) -> Iterator[None]:
    """Inside, kernels do the work of the tower's blocks; towers that they do not know stay as they are.

    The modules do the work where there are no kernels, and in a tower with adapters, hooks or half precision.
    """
    kernels, tower = native_kernels(), getattr(hf.model, "visual", None)
    if kernels is None or tower is None or not all(_is_known(block) for block in tower.blocks):
        yield
        return
    blocks = tower.blocks
    tower.blocks = nn.ModuleList(NativeBlock(block, kernels) for block in blocks)
    try:
        yield
    finally:
        tower.blocks = blocks


class NativeBlock(nn.Module):
    """Stands in for a block of the tower during one forward."""

    def __init__(self, block: Qwen2_5_VLVisionBlock, kernels: Kernels) -> None:
        super().__init__()
        self._block = block
        self._kernels = kernels

    def forward(
        self,
        hidden_states: Float[Tensor, "patches hidden"],
        cu_seqlens: Int[Tensor, "bounds"],
        position_embeddings: tuple[Float[Tensor, "patches dim"], Float[Tensor, "patches dim"]],
        **others: object,
    ) -> Float[Tensor, "patches hidden"]:
        """States after the block, of stretches of patches that begin at ``cu_seqlens``."""
        attention = self._block.attn
        cosines, sines = (part[:, : attention.head_dim // 2].contiguous() for part in position_embeddings)
        stretches = block_mask(
            [[(start, stop, start, stop - start, False)] for start, stop in pairwise(cu_seqlens.tolist())]
        )
        run = LayerRun(
            self._kernels,
            _plain(self._block),
            Heads(attention.head_dim, attention.scaling, repeats=1),
            (cosines, sines),
            QueryTokens(stretches, None),
            recomputes=self._block.gradient_checkpointing,
        )
        return run_layer(hidden_states.contiguous(), run)


def _is_known(block: Qwen2_5_VLVisionBlock) -> bool:
    if type(block) is not Qwen2_5_VLVisionBlock or block._forward_hooks or block._forward_pre_hooks:
        return False
    are_plain = all(is_plain(module) for part in block.children() for module in part.modules())
    return bool(are_plain and block.attn.head_dim % VECTOR == 0 and is_fp32_on_cpu(block))


def _plain(block: Qwen2_5_VLVisionBlock) -> PlainLayer[PlainProduct]:
    attention, mlp = block.attn, block.mlp
    query, key, value = (
        PlainProduct(*parts) for parts in zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3))
    )
    return PlainLayer(
        before_attention=PlainNorm.of(block.norm1),
        query=query,
        key=key,
        value=value,
        query_norm=None,
        key_norm=None,
        after_attention=PlainProduct.of(attention.proj),
        before_mlp=PlainNorm.of(block.norm2),
        gate=PlainProduct.of(mlp.gate_proj),
        up=PlainProduct.of(mlp.up_proj),
        down=PlainProduct.of(mlp.down_proj),
    )


def _size_bytes(features: ImageFeatures) -> int:
    return features.tokens.nbytes + sum(layer.nbytes for layer in features.deepstack)


class FeatureCache:
    """Features of the images last used, within a bound on their bytes; cleared when the weights change."""

    def __init__(self, model: VisionLanguageModel, *, capacity_bytes: int, one_by_one: bool = False) -> None:
        """``one_by_one`` encodes every image by itself, so that its features depend on nothing else."""
        self.encoded = 0
        """Images that went through the vision tower so far."""
        self._model = model
        self._capacity_bytes = capacity_bytes
        self._held_bytes = 0
        self._one_by_one = one_by_one
        self._features: OrderedDict[str, ImageFeatures] = OrderedDict()

    def get(self, images: Sequence[ImageRef]) -> list[ImageFeatures]:
        """Features of each image, in order; those not held are encoded, each once."""
        missing = list({image.hash: image for image in images if image.hash not in self._features}.values())
        # The model caches pixels on the way, and a training forward must be able to save those: no inference tensors.
        with torch.inference_mode(False), torch.no_grad():
            parts = [[image] for image in missing] if self._one_by_one else [missing]
            encoded = [features for part in parts for features in encode_images(self._model, part)]
        for image, features in zip(missing, encoded):
            self._features[image.hash] = features
            self._held_bytes += _size_bytes(features)
        self.encoded += len(missing)
        found = [self._features[image.hash] for image in images]
        for image in images:
            self._features.move_to_end(image.hash)
        self._shrink()
        return found

    def clear(self) -> None:
        self._features.clear()
        self._held_bytes = 0

    def _shrink(self) -> None:
        while self._held_bytes > self._capacity_bytes and self._features:
            _, dropped = self._features.popitem(last=False)
            self._held_bytes -= _size_bytes(dropped)
