"""Matrix products by the native kernels, which are spread over threads."""

import ctypes
from collections.abc import Callable
from ctypes import byref, c_int64
from dataclasses import dataclass

import torch
from jaxtyping import BFloat16, Float
from torch import Tensor

from saccade.native.interface import (
    ARGUMENTS,
    TILE_ARGUMENTS,
    Factors,
    Product,
    RoundedProduct,
    TiledProduct,
    address,
)
from saccade.native.threads import spread

_PRODUCT_ROWS = 48
"""Rows of an item of ``multiply``, as in the source."""
MANY_ROWS = 64
"""Below it, and below as many products in a sum, torch multiplies faster."""
TILE, DEEP = 16, 32
"""Rows of a tile, and numbers in bf16 in each, as in the source."""
_TILED_COLUMNS = 32
"""Columns of an item of ``multiply_rounded`` and ``multiply_tiles``, as in the source."""
_WORTH_SPREADING = 1 << 18
"""Multiplications below which threads cost more than they save."""


@dataclass(frozen=True, slots=True)
class LowRankProduct:
    """scale * (left @ between) @ right for the left side of another product: what an adapter adds to it."""

    between: Float[Tensor, "depth rank"]
    right: Float[Tensor, "rank columns"]
    scale: float
    low: Float[Tensor, "rows rank"]
    """Room in one piece, to be filled with left @ between."""


class Products:
    """A library of kernels that is spread over as many threads as torch has, and its products."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        has_tiles, needs_amx = (bool(c_int64.in_dll(library, name).value) for name in ("HAS_TILES", "NEEDS_AMX"))
        self.has_tiles = has_tiles and (not needs_amx or torch.cpu._init_amx())
        """Whether products may be of tiles: the kernels were compiled for a CPU with bf16 dot products (AVX-512) or
        AMX, which the system must grant."""
        for name, arguments in {**ARGUMENTS, **(TILE_ARGUMENTS if self.has_tiles else {})}.items():
            kernel = getattr(library, name)
            kernel.argtypes, kernel.restype = (*arguments, c_int64, c_int64), None

    def product(
        self,
        left: Float[Tensor, "rows depth"],
        right: Float[Tensor, "depth columns"],
        *,
        bias: Float[Tensor, "columns"] | None = None,
        added: Float[Tensor, "rows columns"] | None = None,
        out: Float[Tensor, "rows columns"] | None = None,
        more: LowRankProduct | None = None,
    ) -> Float[Tensor, "rows columns"]:
        """left @ right + bias + added, and the product of ``more``, written to ``out``, which may be ``added``.

        ``left`` may have any strides, ``right`` neighbours in its rows or its columns, the others in their rows.
        """
        rows, depth = left.shape
        columns = right.shape[1]
        out = left.new_empty(rows, columns) if out is None else out
        if 1 not in right.stride():
            raise ValueError(
                f"the right side has strides {right.stride()}; neither its rows nor its columns are contiguous"
            )
        is_medium = torch.get_float32_matmul_precision() == "medium"
        if min(rows, depth) >= MANY_ROWS and is_medium and self.has_tiles and 1 in left.stride():
            return self._tiled_product(left, right, bias, added, out, more)
        if min(rows, depth) < MANY_ROWS or (is_medium and torch.cpu._is_amx_tile_supported()):
            _by_torch(left, right, bias, added, out)
        else:
            product = Product(
                *map(address, (left, right, bias, added, out)),
                *(*left.stride(), *right.stride()),
                0 if added is None else added.stride(0),
                *(out.stride(0), rows, columns, depth),
            )
            self._spread(self._library.multiply, -(-rows // _PRODUCT_ROWS), rows * columns * depth, byref(product))
        if more is not None:
            out.addmm_(torch.mm(left, more.between, out=more.low), more.right, alpha=more.scale)
        return out

    def _tiled_product(
        self,
        left: Float[Tensor, "rows depth"],
        right: Float[Tensor, "depth columns"],
        bias: Float[Tensor, "columns"] | None,
        added: Float[Tensor, "rows columns"] | None,
        out: Float[Tensor, "rows columns"],
        more: LowRankProduct | None,
    ) -> Float[Tensor, "rows columns"]:
        """The same with factors in bf16."""
        rows, columns = out.shape
        pairs = [(left, right)] if more is None else [(left, right), (more.low, more.right)]
        depth = sum(-(-one.shape[1] // DEEP) * DEEP for one, _ in pairs)
        tiles = left.new_empty(-(-rows // TILE) * TILE, depth, dtype=torch.bfloat16)
        factors = [Factors(address(a), address(b), *a.stride(), *b.stride(), len(b)) for a, b in pairs]
        between = None if more is None else more.between
        product = TiledProduct(
            (Factors * 2)(*factors),
            *map(address, (bias, added, between, out, tiles)),
            *(0 if added is None else added.stride(0), out.stride(0)),
            *((0, 0) if between is None else between.stride()),
            *(rows, columns, 0.0 if more is None else more.scale),
        )
        self._spread(self._library.lay_tiles, -(-rows // TILE), TILE * tiles.numel(), byref(product))
        self._spread(
            self._library.multiply_tiles, -(-columns // _TILED_COLUMNS), rows * columns * depth, byref(product)
        )
        return out

    def rounded_product(
        self,
        left: Float[Tensor, "rows depth"],
        tiles: BFloat16[Tensor, "column_blocks depth_blocks 16 32"],
        *,
        columns: int,
        bias: Float[Tensor, "columns"] | None = None,
        added: Float[Tensor, "rows columns"] | None = None,
    ) -> Float[Tensor, "rows columns"]:
        """left @ weight.T + bias + added with factors in bf16; the weight lies as ``RoundedWeight`` has it."""
        rows, depth = left.shape
        out = left.new_empty(rows, columns)
        product = RoundedProduct(
            *map(address, (left, tiles, bias, added, out)),
            *(left.stride(0), 0 if added is None else added.stride(0), columns, rows, columns, depth),
        )
        items = -(-columns // _TILED_COLUMNS)
        self._spread(self._library.multiply_rounded, items, rows * columns * depth, byref(product))
        return out

    def _spread(self, function: Callable[..., object], items: int, work: int, *arguments: object) -> None:
        threads = min(torch.get_num_threads(), items) if work > _WORTH_SPREADING else 1
        if threads <= 1:
            function(*arguments, 0, items)
            return
        spread(function, arguments, items=items, threads=threads)


def _by_torch(
    left: Float[Tensor, "rows depth"],
    right: Float[Tensor, "depth columns"],
    bias: Float[Tensor, "columns"] | None,
    added: Float[Tensor, "rows columns"] | None,
    out: Float[Tensor, "rows columns"],
) -> Float[Tensor, "rows columns"]:
    first, second = (bias, None) if added is None else (added, bias)
    torch.mm(left, right, out=out) if first is None else torch.addmm(first, left, right, out=out)
    return out if second is None else out.add_(second)
