"""The native kernels on torch's tensors: fp32 on the CPU, contiguous unless something else is said."""

import ctypes
import functools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_float, c_int64, c_void_p
from itertools import pairwise

import torch
from torch import Tensor

from saccade.models.native.library import native_library
from saccade.models.native.visits import KeyValues, Visits

_BLOCK_ROWS = 256
"""Rows of a block of ``rms_norm_backward``, as in the source."""
_GATES = 4096
"""Elements of an item of the gated kernels, as in the source."""
_WORTH_SPREADING = 1 << 18
"""Multiplications below which threads cost more than they save."""
VECTOR = 16
"""Head dimensions must be multiples of it."""


def _structure(name: str, pointers: str, integers: str, floats: str) -> type[ctypes.Structure]:
    fields = [
        *((field, c_void_p) for field in pointers.split()),
        *((field, c_int64) for field in integers.split()),
        *((field, c_float) for field in floats.split()),
    ]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


_Attention = _structure(
    "_Attention",
    "query key value out normaliser order families visits",
    "query_stride kv_token kv_head out_stride heads repeats fold dim",
    "scale",
)
_Turning = _structure(
    "_Turning", "source to cosines sines places", "from_token to_token to_head heads repeats dim", "direction"
)


class _AttentionGradient(ctypes.Structure):
    _fields_ = (
        ("forward", _Attention),
        *((field, c_void_p) for field in ("grad", "to_query", "to_key", "to_value")),
        ("grad_stride", c_int64),
        ("to_stride", c_int64),
    )


class Kernels:
    """Spreads each kernel over as many threads as torch has; its results do not depend on how many."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, arguments in _ARGUMENTS.items():
            kernel = getattr(library, name)
            kernel.argtypes, kernel.restype = (*arguments, c_int64, c_int64), None

    def rms_norm(self, x: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        """Rows normalised and weighted, and what each row was multiplied by, for the backward pass."""
        out = torch.empty_like(x)
        width = x.shape[-1]
        rows = x.numel() // width
        kept = x.new_empty(rows)
        arrays = x.data_ptr(), weight.data_ptr(), epsilon, out.data_ptr(), kept.data_ptr()
        self._spread(self._library.rms_norm, rows, x.numel(), *arrays, width)
        return out, kept

    def rms_norm_backward(
        self, grad: Tensor, x: Tensor, weight: Tensor, kept: Tensor, more: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Gradients of x, added to ``more``, and of the weight."""
        rows, width = len(kept), len(weight)
        blocks = -(-rows // _BLOCK_ROWS)
        to_x, to_weight = torch.empty_like(x), x.new_empty(blocks, width)
        arrays = [_at(part) for part in (grad, x, weight, kept, more, to_x, to_weight)]
        self._spread(self._library.rms_norm_backward, blocks, 4 * x.numel(), *arrays, width, rows)
        return to_x, to_weight.sum(dim=0)

    def gated(self, gate: Tensor, up: Tensor) -> Tensor:
        """silu(gate) * up."""
        out, count = torch.empty_like(gate), gate.numel()
        items = -(-count // _GATES)
        self._spread(self._library.gated, items, 8 * count, _at(gate), _at(up), _at(out), count)
        return out

    def gated_backward(self, grad: Tensor, gate: Tensor, up: Tensor) -> Tensor:
        """In place: ``gate`` and ``up`` become their gradients, and ``grad`` what ``gated`` gave, which is returned."""
        count = gate.numel()
        items = -(-count // _GATES)
        self._spread(self._library.gated_backward, items, 8 * count, _at(grad), _at(gate), _at(up), count)
        return grad

    def turn(
        self,
        source: Tensor,
        to: Tensor,
        angles: tuple[Tensor, Tensor] | None,
        *,
        back: bool = False,
        repeats: int = 1,
        places: Tensor | None = None,
        strides: tuple[int, int] | None = None,
    ) -> Tensor:
        """Rotary positions of ``source`` (tokens, heads * repeats, head_dim), summed over repeats, written to ``to``.

        ``angles`` are cosines and sines, (tokens, head_dim / 2); None sums alone. ``to`` is (tokens,
        heads, head_dim) and may be ``source``; with ``places`` each token goes there, in steps of ``strides[0]``.
        """
        tokens, heads, dim = source.shape
        heads //= repeats
        to_token, to_head = strides or (heads * dim, dim)
        cosines, sines = angles or (None, None)
        turning = _Turning(
            source.data_ptr(),
            to.data_ptr(),
            _at(cosines),
            _at(sines),
            _at(places),
            source.stride(0),
            to_token,
            to_head,
            heads,
            repeats,
            dim,
            -1.0 if back else 1.0,
        )
        self._spread(self._library.turn, tokens, 4 * source.numel(), byref(turning))
        return to

    def attend(
        self, query: Tensor, held: KeyValues, visits: Visits, scale: float, *, repeats: int, fold: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Softmax attention of ``query`` (queries, heads, head_dim), and its normalisers (queries, heads) in ln 2.

        ``repeats`` query heads share a key head; with ``fold`` these are worked on together, which is better for few
        queries, and otherwise there is more to spread over threads.
        """
        queries, heads, _ = query.shape
        out = torch.empty_like(query)
        normaliser = query.new_empty(queries, heads)
        attention = _attention(query, held, visits, scale, repeats, out, normaliser, fold=fold)
        items = len(visits.families) * heads // (repeats if fold else 1)
        self._spread(self._library.attend, items, visits.pairs * query[0].numel() * 2, byref(attention))
        return out, normaliser

    def attend_backward(
        self,
        grad: Tensor,
        query: Tensor,
        held: KeyValues,
        visits: Visits,
        scale: float,
        *,
        repeats: int,
        out: Tensor,
        normaliser: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of queries, and of keys and values for each query head apart, (keys, heads, head_dim)."""
        _, heads, dim = query.shape
        to_query = torch.empty_like(query)
        to_key, to_value = query.new_zeros(2, len(held.key), heads, dim)
        attention = _attention(query, held, visits, scale, repeats, out, normaliser, fold=False)
        gradient = _AttentionGradient(
            attention, *(_at(part) for part in (grad, to_query, to_key, to_value)), heads * dim, heads * dim
        )
        items = len(visits.families) * heads
        self._spread(self._library.attend_backward, items, visits.pairs * heads * dim * 5, byref(gradient))
        return to_query, to_key, to_value

    def draw(self, logits: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """For each row of ``logits`` (rows, vocabulary) a token (int64) and its log-probability (float64).

        The token is the first whose cumulative probability exceeds the row's share (float64, in [0, 1)), or the
        likeliest where the share is negative. NaN among the logits gives a log-probability of NaN.
        """
        rows, width = logits.shape
        tokens, logprobs = torch.empty(rows, dtype=torch.int64), torch.empty(rows, dtype=torch.float64)
        arrays = [_at(part) for part in (logits, shares, tokens, logprobs)]
        self._spread(self._library.draw, rows, 8 * logits.numel(), *arrays, width)
        return tokens, logprobs

    def _spread(self, function: Callable[..., object], items: int, work: int, *arguments: object) -> None:
        threads = min(torch.get_num_threads(), items) if work > _WORTH_SPREADING else 1
        if threads <= 1:
            function(*arguments, 0, items)
            return
        cuts = [items * part // threads for part in range(threads + 1)]
        running = [_pool().submit(function, *arguments, start, stop) for start, stop in pairwise(cuts)]
        for one in running:
            one.result()


def native_kernels() -> Kernels | None:
    """None where they are switched off, or cannot be had; see ``library.SWITCH``."""
    library = native_library()
    return None if library is None else _kernels_of(library)


@functools.cache
def _kernels_of(library: ctypes.CDLL) -> Kernels:
    return Kernels(library)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="saccade-native")


def _at(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


_P, _N, _F = c_void_p, c_int64, c_float
_ARGUMENTS: Mapping[str, tuple[object, ...]] = {
    "rms_norm": (_P, _P, _F, _P, _P, _N),
    "rms_norm_backward": (_P, _P, _P, _P, _P, _P, _P, _N, _N),
    "gated": (_P, _P, _P, _N),
    "gated_backward": (_P, _P, _P, _N),
    "turn": (_P,),
    "attend": (_P,),
    "attend_backward": (_P,),
    "draw": (_P, _P, _P, _P, _N),
}
"""Of each kernel, before the first and the last item that it works on."""


def _attention(
    query: Tensor,
    held: KeyValues,
    visits: Visits,
    scale: float,
    repeats: int,
    out: Tensor,
    normaliser: Tensor | None,
    *,
    fold: bool,
) -> ctypes.Structure:
    heads, dim = query.shape[1:]
    return _Attention(
        query.data_ptr(),
        held.key.data_ptr(),
        held.value.data_ptr(),
        out.data_ptr(),
        _at(normaliser),
        _at(visits.order),
        visits.families.data_ptr(),
        visits.visits.data_ptr(),
        query.stride(0),
        held.token_stride,
        held.head_stride,
        out.stride(0),
        heads,
        repeats,
        repeats if fold else 1,
        dim,
        scale,
    )
