"""Blocks of Qwen2.5-VL's vision tower by native kernels where there are any: the same weights, the same results.

A block has the formulas of a language model's layer, with one product for queries, keys and values. Every patch
looks at every other of its window or of its whole image.
"""

from itertools import pairwise

from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLVisionBlock

from saccade.models.layer_runs import LayerRun, QueryTokens, run_layer
from saccade.models.native.kernels import VECTOR, Kernels, native_kernels
from saccade.models.native.visits import visits_of
from saccade.models.plain_layers import Heads, PlainLayer, PlainNorm, PlainProduct, is_fp32_on_cpu, is_plain


class VisionBlock(Qwen2_5_VLVisionBlock):  # type: ignore[misc]
    """The modules do the work where there are no kernels, and for a block with adapters, hooks or half precision."""

    def __call__(
        self,
        hidden_states: Tensor,
        cu_seqlens: Tensor,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        **others: object,
    ) -> Tensor:
        """Shape (patches, hidden), of stretches of patches that begin at ``cu_seqlens``."""
        kernels = self._kernels()
        if kernels is None or position_embeddings is None:
            states: Tensor = super().__call__(
                hidden_states, cu_seqlens=cu_seqlens, position_embeddings=position_embeddings, **others
            )
            return states
        half = self.attn.head_dim // 2
        cosines, sines = (part[:, :half].contiguous() for part in position_embeddings)
        stretches = visits_of(
            [[(start, stop, start, stop - start, False)] for start, stop in pairwise(cu_seqlens.tolist())]
        )
        run = LayerRun(
            kernels,
            _plain(self),
            Heads(self.attn.head_dim, self.attn.scaling, repeats=1),
            (cosines, sines),
            QueryTokens(stretches, None),
            keeps_little=self.gradient_checkpointing,
        )
        return run_layer(hidden_states.contiguous(), run)

    def _kernels(self) -> Kernels | None:
        has_hooks = self._forward_hooks or self._forward_pre_hooks
        if has_hooks or self.attn.head_dim % VECTOR or not is_fp32_on_cpu(self):
            return None
        if not all(is_plain(module) for part in self.children() for module in part.modules()):
            return None
        return native_kernels()


def run_blocks_natively(hf: PreTrainedModel) -> None:
    """Lets the blocks of a Qwen2.5-VL use the kernels; towers of other families stay as they are."""
    for module in hf.modules():
        if type(module) is Qwen2_5_VLVisionBlock:
            # Its parameters, their names and the hooks on it stay as they are.
            module.__class__ = VisionBlock


def _plain(block: VisionBlock) -> PlainLayer:
    attention, mlp = block.attn, block.mlp
    query, key, value = (
        PlainProduct(*parts) for parts in zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3))
    )
    return PlainLayer(
        before_attention=PlainNorm.of(block.norm1),
        query=query,
        key=key,
        value=value,
        of_queries=None,
        of_keys=None,
        after_attention=PlainProduct.of(attention.proj),
        before_mlp=PlainNorm.of(block.norm2),
        gate=PlainProduct.of(mlp.gate_proj),
        up=PlainProduct.of(mlp.up_proj),
        down=PlainProduct.of(mlp.down_proj),
    )
