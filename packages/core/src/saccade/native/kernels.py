"""The native kernels on torch's tensors: fp32 on the CPU, contiguous unless something else is said."""

import ctypes
import functools
from collections.abc import Sequence
from ctypes import byref

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.models.plain_layers import Angles
from saccade.native.block_mask import BlockMask, KeyValues
from saccade.native.interface import AttentionGradient, Decoding, Rotation, address, attention_of
from saccade.native.library import native_library
from saccade.native.products import Products

_BLOCK_ROWS = 256
"""Rows of a block of ``rms_norm_backward``, as in the source."""
_GATES = 4096
"""Elements of an item of the gated kernels, as in the source."""
VECTOR = 16
"""Head dimensions must be multiples of it."""


class Kernels(Products):
    """Each kernel is spread over as many threads as torch has; results do not depend on how many."""

    def rms_norm(
        self, x: Float[Tensor, "*rows width"], weight: Float[Tensor, "width"], epsilon: float
    ) -> tuple[Float[Tensor, "*rows width"], Float[Tensor, "all_rows"]]:
        """Rows normalised and weighted, and what each row was multiplied by, for the backward pass."""
        out = torch.empty_like(x)
        width = x.shape[-1]
        rows = x.numel() // width
        rstd = x.new_empty(rows)
        arrays = x.data_ptr(), weight.data_ptr(), epsilon, out.data_ptr(), rstd.data_ptr()
        self._spread(self._library.rms_norm, rows, x.numel(), *arrays, width)
        return out, rstd

    def rms_norm_backward(
        self,
        grad: Float[Tensor, "*rows width"],
        x: Float[Tensor, "*rows width"],
        weight: Float[Tensor, "width"],
        rstd: Float[Tensor, "all_rows"],
        more: Float[Tensor, "*rows width"] | None = None,
    ) -> tuple[Float[Tensor, "*rows width"], Float[Tensor, "width"]]:
        """Gradients of x, added to ``more``, and of the weight."""
        rows, width = len(rstd), len(weight)
        blocks = -(-rows // _BLOCK_ROWS)
        to_x, to_weight = torch.empty_like(x), x.new_empty(blocks, width)
        arrays = [address(part) for part in (grad, x, weight, rstd, more, to_x, to_weight)]
        self._spread(self._library.rms_norm_backward, blocks, 4 * x.numel(), *arrays, width, rows)
        return to_x, to_weight.sum(dim=0)

    def gated(self, gate: Float[Tensor, "rows width"], up: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        """silu(gate) * up."""
        out, count = torch.empty_like(gate), gate.numel()
        items = -(-count // _GATES)
        self._spread(self._library.gated, items, 8 * count, address(gate), address(up), address(out), count)
        return out

    def gated_backward(
        self, grad: Float[Tensor, "rows width"], gate: Float[Tensor, "rows width"], up: Float[Tensor, "rows width"]
    ) -> Float[Tensor, "rows width"]:
        """In place: ``gate`` and ``up`` become their gradients, and ``grad`` what ``gated`` gave, which is returned."""
        count = gate.numel()
        items = -(-count // _GATES)
        self._spread(self._library.gated_backward, items, 8 * count, address(grad), address(gate), address(up), count)
        return grad

    def rotate(
        self,
        source: Float[Tensor, "tokens heads_times_repeats dim"],
        to: Float[Tensor, "*to dim"],
        angles: Angles | None,
        *,
        back: bool = False,
        repeats: int = 1,
        places: Int[Tensor, "tokens"] | None = None,
        strides: tuple[int, int] | None = None,
    ) -> Float[Tensor, "*to dim"]:
        """Rotary positions of ``source``, summed over repeats, written to ``to``; without ``angles`` the sum alone.

        ``to`` is (tokens, heads, dim) and may be ``source``; with ``places`` each token goes there, in steps of
        ``strides[0]``.
        """
        tokens, heads, dim = source.shape
        heads //= repeats
        to_token, to_head = strides or (heads * dim, dim)
        cosines, sines = angles or (None, None)
        rotation = Rotation(
            source.data_ptr(),
            to.data_ptr(),
            address(cosines),
            address(sines),
            address(places),
            source.stride(0),
            to_token,
            to_head,
            heads,
            repeats,
            dim,
            -1.0 if back else 1.0,
        )
        self._spread(self._library.rotate, tokens, 4 * source.numel(), byref(rotation))
        return to

    def attend(
        self,
        query: Float[Tensor, "queries heads dim"],
        kv: KeyValues,
        mask: BlockMask,
        scale: float,
        *,
        repeats: int,
        fold: bool = False,
    ) -> tuple[Float[Tensor, "queries heads dim"], Float[Tensor, "queries heads"]]:
        """Softmax attention of ``query``, and the log-sum-exp in ln 2.

        ``repeats`` query heads share a key head; with ``fold`` these are worked on together, which is better for few
        queries, and otherwise there is more to spread over threads.
        """
        queries, heads, _ = query.shape
        out = torch.empty_like(query)
        lse = query.new_empty(queries, heads)
        attention = attention_of(query, kv, mask, scale, repeats, out, lse, fold=fold)
        items = len(mask.groups) * heads // (repeats if fold else 1)
        self._spread(self._library.attend, items, mask.pairs * query[0].numel() * 2, byref(attention))
        return out, lse

    def attend_backward(
        self,
        grad: Float[Tensor, "queries heads*dim"],
        query: Float[Tensor, "queries heads dim"],
        kv: KeyValues,
        mask: BlockMask,
        scale: float,
        *,
        repeats: int,
        out: Float[Tensor, "queries heads dim"],
        lse: Float[Tensor, "queries heads"],
    ) -> tuple[Float[Tensor, "queries heads dim"], Float[Tensor, "keys heads dim"], Float[Tensor, "keys heads dim"]]:
        """Gradients of queries, and of keys and values for each query head apart."""
        _, heads, dim = query.shape
        to_query = torch.empty_like(query)
        to_key, to_value = query.new_zeros(2, len(kv.key), heads, dim)
        attention = attention_of(query, kv, mask, scale, repeats, out, lse, fold=False)
        gradient = AttentionGradient(
            attention, *(address(part) for part in (grad, to_query, to_key, to_value)), heads * dim, heads * dim
        )
        items = len(mask.groups) * heads
        self._spread(self._library.attend_backward, items, mask.pairs * heads * dim * 5, byref(gradient))
        return to_query, to_key, to_value

    def decode(self, groups: Sequence[Decoding], work: int) -> None:
        """Runs all layers on a token of each row of some groups (``interface.Decoding``), which share none."""
        array = (Decoding * len(groups))(*groups)
        self._spread(self._library.decode, len(groups), work, byref(array))

    def draw(
        self, logits: Float[Tensor, "rows vocabulary"], shares: Float[Tensor, "rows"]
    ) -> tuple[Int[Tensor, "rows"], Float[Tensor, "rows"]]:
        """For each row of ``logits`` a token (int64) and its log-probability (float64).

        The token is the first whose cumulative probability exceeds the row's share (float64, in [0, 1)), or the
        likeliest where the share is negative. NaN among the logits gives a log-probability of NaN.
        """
        rows, width = logits.shape
        tokens, logprobs = torch.empty(rows, dtype=torch.int64), torch.empty(rows, dtype=torch.float64)
        arrays = [address(part) for part in (logits, shares, tokens, logprobs)]
        self._spread(self._library.draw, rows, 8 * logits.numel(), *arrays, width)
        return tokens, logprobs


def native_kernels() -> Kernels | None:
    """None where they are switched off, or cannot be had; see ``library.SWITCH``."""
    library = native_library()
    return None if library is None else _kernels_of(library)


def matrix_product(left: Float[Tensor, "rows depth"], right: Float[Tensor, "depth columns"]) -> Tensor:
    """left @ right, without a gradient; by kernels where torch is asked to round fp32 factors and cannot."""
    is_fp32 = left.device.type == "cpu" and left.dtype == right.dtype == torch.float32
    if is_fp32 and torch.get_float32_matmul_precision() == "medium" and not torch.cpu._is_amx_tile_supported():
        kernels = native_kernels()
        if kernels is not None and kernels.has_tiles:
            return kernels.product(left, right)
    return left @ right


@functools.cache
def _kernels_of(library: ctypes.CDLL) -> Kernels:
    return Kernels(library)
