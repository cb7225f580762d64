"""Attention of decode steps to keys and values where they lie: a kernel that follows the table of a row's pages.

Gathered pages are read, written and read again in each layer; here they are read once. The kernel is torch's own
(FlashAttention, Dao 2023, arXiv 2307.08691, with the pages of Kwon et al. 2023).
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Protocol, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel

PAGE_IN_PLACE = 256
"""Tokens of a page: FlashAttention 2 takes multiples of these alone."""


class Kernel(Protocol):
    """``torch.nn.attention.varlen.varlen_attn``, as far as it is used here."""

    def __call__(
        self,
        query: Float[Tensor, "queries heads dim"],
        key: Float[Tensor, "pages page key_heads dim"],
        value: Float[Tensor, "pages page key_heads dim"],
        cu_seq_q: Int[Tensor, "rows+1"],
        cu_seq_k: Int[Tensor, "rows+1"],
        max_q: int,
        max_k: int,
        *,
        scale: float,
        window_size: tuple[int, int],
        enable_gqa: bool,
        seqused_k: Int[Tensor, "rows"],
        block_table: Int[Tensor, "rows pages"],
    ) -> Float[Tensor, "queries heads dim"]: ...


AttendInPlace = Callable[
    [
        Float[Tensor, "queries heads dim"],
        Float[Tensor, "pages page key_heads dim"],
        Float[Tensor, "pages page key_heads dim"],
        float,
    ],
    Float[Tensor, "queries heads*dim"],
]
"""Queries, keys and values of one layer's pages, scale of the scores."""


def kernel_in_place(model: VisionLanguageModel) -> Kernel:
    """The kernel for a model's decode steps; UserError where there is none."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        found: Mapping[str, inspect.Parameter] = {}
    else:
        found = inspect.signature(varlen_attn).parameters
    wrong = None
    if model.device.type != "cuda" or model.dtype not in (torch.bfloat16, torch.float16):
        wrong = f"is for GPUs in half precision, and the model is {model.dtype} on {model.device.type}"
    elif "block_table" not in found:
        wrong = f"needs torch 2.13 or newer, and this is {torch.__version__}"
    if wrong is not None:
        raise UserError(f"model.engine.paged_attention=in_place {wrong}; set model.engine.paged_attention=gathered")
    # Without ``return_aux`` it gives the one tensor.
    return cast(Kernel, varlen_attn)


def attend_in_place(
    kernel: Kernel, table: Int[Tensor, "rows pages"], starts: Int[Tensor, "rows"], width: int, total: int
) -> AttendInPlace:
    """For ``width`` new tokens of each row, which lie in its pages behind the ``starts`` that were there before.

    The last of them looks at all that the row holds, the one before it at all but one; ``total`` bounds the rows.
    """
    used = (starts + width).int()
    pages = table.int()
    before = width * torch.arange(len(starts) + 1, device=starts.device, dtype=torch.int32)
    ends = torch.nn.functional.pad(used.cumsum(0, dtype=torch.int32), (1, 0))

    def attend(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        return kernel(
            query,
            key,
            value,
            before,
            ends,
            width,
            total,
            scale=scale,
            window_size=(-1, 0),
            enable_gqa=True,
            seqused_k=used,
            block_table=pages,
        ).flatten(1)

    return attend
