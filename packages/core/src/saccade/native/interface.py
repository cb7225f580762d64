"""Arguments of the kernels as C sees them."""

import ctypes
from collections.abc import Mapping
from ctypes import c_float, c_int64, c_void_p

from jaxtyping import Float
from torch import Tensor

from saccade.native.block_mask import BlockMask, KeyValues


def _structure(name: str, pointers: str, integers: str, floats: str) -> type[ctypes.Structure]:
    fields = [
        *((field, c_void_p) for field in pointers.split()),
        *((field, c_int64) for field in integers.split()),
        *((field, c_float) for field in floats.split()),
    ]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Attention = _structure(
    "Attention",
    "query key value out lse order groups blocks",
    "query_stride kv_token kv_head out_stride heads repeats fold dim",
    "scale",
)
Product = _structure(
    "Product",
    "left right bias added out",
    "left_row left_step right_step right_column added_row out_row rows columns depth",
    "",
)
RoundedProduct = _structure(
    "RoundedProduct", "left weight bias added out", "left_row added_row out_row rows columns depth", ""
)
Factors = _structure("Factors", "left right", "left_row left_step right_step right_column depth", "")
Rotation = _structure(
    "Rotation", "source to cosines sines places", "from_token to_token to_head heads repeats dim", "direction"
)


class TiledProduct(ctypes.Structure):
    _fields_ = (
        ("factors", Factors * 2),
        *((field, c_void_p) for field in ("bias", "added", "between", "out", "tiles")),
        *((field, c_int64) for field in ("added_row", "out_row", "between_step", "between_column", "rows", "columns")),
        ("scale", c_float),
    )


class AttentionGradient(ctypes.Structure):
    _fields_ = (
        ("forward", Attention),
        *((field, c_void_p) for field in ("grad", "to_query", "to_key", "to_value")),
        ("grad_stride", c_int64),
        ("to_stride", c_int64),
    )


class Decoding(ctypes.Structure):
    _fields_ = (
        ("attention", Attention),
        *((field, c_void_p) for field in ("layers", "last", "states", "cosines", "sines", "places")),
        *((field, c_int64) for field in ("query_group_count", "rows", "hidden", "mlp", "key_heads")),
        ("layer_count", c_int64),
        ("layer_step", c_int64),
        ("epsilon", c_float),
    )


def address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


_P, _N, _F = c_void_p, c_int64, c_float
ARGUMENTS: Mapping[str, tuple[object, ...]] = {
    "rms_norm": (_P, _P, _F, _P, _P, _N),
    "rms_norm_backward": (_P, _P, _P, _P, _P, _P, _P, _N, _N),
    "gated": (_P, _P, _P, _N),
    "gated_backward": (_P, _P, _P, _N),
    "rotate": (_P,),
    "multiply": (_P,),
    "attend": (_P,),
    "attend_backward": (_P,),
    "decode": (_P,),
    "draw": (_P, _P, _P, _P, _N),
}
"""Types of each kernel's arguments, before the first and the last item that it works on."""
_FOR_TILES = ("multiply_rounded", "lay_tiles", "multiply_tiles")
TILE_ARGUMENTS: Mapping[str, tuple[object, ...]] = dict.fromkeys(_FOR_TILES, (_P,))
"""The same of the kernels for factors in bf16."""


def attention_of(
    query: Float[Tensor, "queries heads dim"],
    kv: KeyValues,
    mask: BlockMask,
    scale: float,
    repeats: int,
    out: Float[Tensor, "queries heads dim"],
    lse: Float[Tensor, "queries heads"] | None,
    *,
    fold: bool,
) -> ctypes.Structure:
    heads, dim = query.shape[1:]
    return Attention(
        query.data_ptr(),
        kv.key.data_ptr(),
        kv.value.data_ptr(),
        out.data_ptr(),
        address(lse),
        address(mask.order),
        mask.groups.data_ptr(),
        mask.blocks.data_ptr(),
        query.stride(0),
        kv.token_stride,
        kv.head_stride,
        out.stride(0),
        heads,
        repeats,
        repeats if fold else 1,
        dim,
        scale,
    )
