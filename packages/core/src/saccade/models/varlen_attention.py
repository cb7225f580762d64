"""Attention over a pack in one call of a kernel for sequences of many lengths: no mask, no loop over prefixes.

Each prefix and each suffix is a sequence of queries. Its keys are copies of those before it and then its own, so that
queries and keys end together, where the kernel (Dao 2023, arXiv 2307.08691) puts its causal mask. Query heads
share key heads in the kernel: what is copied is the few key heads alone.
"""

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from itertools import accumulate

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from saccade.models.attention import Layout, prefixes_and_runs, tree
from saccade.models.memory import on_device

_WIDEST = 256
"""Numbers of a head that the kernel takes, in steps of 8."""
_FARTHEST = 0.05
"""From the exact result where values are near 1, in bfloat16, whose steps there are 0.008."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class PackSequences:
    """The prefixes and suffixes of a pack as the kernel takes them; all layers share them."""

    queries: Int[Tensor, "sequences_and_one"]
    """Where the queries of each begin, and where the last ones end; int32."""
    keys: Int[Tensor, "sequences_and_one"]
    """The same for keys."""
    places: Int[Tensor, "keys"] | None
    """The token whose key and value stand at each place; None where these are the tokens as they lie."""
    lengths: tuple[tuple[int, int], ...]
    """Queries and keys of each."""

    @classmethod
    def of(cls, layout: Layout, device: torch.device) -> "PackSequences":
        """Sent in one piece, without waiting for the device."""
        lengths: list[tuple[int, int]] = []
        places: list[NDArray[np.int64]] = []
        for node, run in prefixes_and_runs(layout):
            before = [np.arange(one.start, one.stop) for one in node.before(run)]
            span, count = (node.prefix, 1) if run is None else (run.span, run.count)
            for own in np.arange(span.start, span.stop).reshape(count, -1):
                lengths.append((len(own), sum(map(len, before)) + len(own)))
                places += [*before, own]
        bounds = [[0, *accumulate(sizes)] for sizes in zip(*lengths)]
        is_copied = bounds[0] != bounds[1]
        numbers = np.concatenate([*map(np.asarray, bounds), *(places if is_copied else ())]).astype(np.int32)
        sent, count = on_device(numbers, device, torch.int32), len(lengths) + 1
        return cls(sent[:count], sent[count : 2 * count], sent[2 * count :] if is_copied else None, tuple(lengths))

    def attend(
        self,
        query: Float[Tensor, "1 heads tokens dim"],
        key: Float[Tensor, "1 key_heads tokens dim"],
        value: Float[Tensor, "1 key_heads tokens dim"],
        scale: float,
        *,
        window: int = 0,
    ) -> Float[Tensor, "1 tokens heads dim"]:
        """Causal softmax attention within each; with a ``window`` to so many tokens, the last of them the token itself.

        By the kernel on a GPU, in its plain form elsewhere.
        """
        queries, keys, values = (states[0].transpose(0, 1) for states in (query, key, value))
        if self.places is not None:
            keys, values = (_Copies.apply(states, self.places) for states in (keys, values))  # type: ignore[no-untyped-call]
        attention = varlen_kernel() if query.is_cuda else None
        return (attention or attend_each)(queries, keys, values, self, scale, window)[None]


Kernel = Callable[
    [
        Float[Tensor, "tokens heads dim"],
        Float[Tensor, "keys key_heads dim"],
        Float[Tensor, "keys key_heads dim"],
        PackSequences,
        float,
        int,
    ],
    Float[Tensor, "tokens heads dim"],
]


class _Copies(torch.autograd.Function):
    """Rows of states at places, some of them many times; the gradients of copies are added up in fp32."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, states: Float[Tensor, "tokens heads dim"], places: Int[Tensor, "keys"]
    ) -> Float[Tensor, "keys heads dim"]:
        ctx.save_for_backward(places)
        ctx.tokens = len(states)  # type: ignore[attr-defined]
        return states.index_select(0, places)

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, grad: Float[Tensor, "keys heads dim"]
    ) -> tuple[Float[Tensor, "tokens heads dim"], None]:
        (places,) = ctx.saved_tensors  # type: ignore[attr-defined]
        precise = torch.promote_types(grad.dtype, torch.float32)
        total = grad.new_zeros(ctx.tokens, *grad.shape[1:], dtype=precise)  # type: ignore[attr-defined]
        return total.index_add_(0, places, grad.to(precise)).to(grad.dtype), None


def attend_each(
    query: Float[Tensor, "tokens heads dim"],
    key: Float[Tensor, "keys key_heads dim"],
    value: Float[Tensor, "keys key_heads dim"],
    sequences: PackSequences,
    scale: float,
    window: int,
) -> Float[Tensor, "tokens heads dim"]:
    """What the kernel works out, one sequence after the other, on any device."""
    repeats = query.shape[1] // key.shape[1]
    counts = [[count for count, _ in sequences.lengths], [count for _, count in sequences.lengths]]
    parts = []
    for queries, keys, values in zip(*(map(torch.split, (query, key, value), (counts[0], counts[1], counts[1])))):
        keys, values = (states.transpose(0, 1).repeat_interleave(repeats, 0)[None] for states in (keys, values))
        seen: Tensor = causal_lower_right(len(queries), keys.shape[2])
        if window:
            ends = torch.arange(keys.shape[2] - len(queries), keys.shape[2], device=query.device)[:, None]
            places = torch.arange(keys.shape[2], device=query.device)
            seen = (places <= ends) & (places > ends - window)
        own = queries.transpose(0, 1)[None]
        attended = scaled_dot_product_attention(own, keys, values, attn_mask=seen, scale=scale)
        parts.append(attended[0].transpose(0, 1))
    return torch.cat(parts)


@functools.cache
def varlen_kernel() -> Kernel | None:
    """Torch's; None where this torch has none in which query heads share key heads."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    if not {"scale", "window_size", "enable_gqa"} <= {*signature(varlen_attn).parameters}:
        return None

    def attend_by_kernel(
        query: Tensor, key: Tensor, value: Tensor, sequences: PackSequences, scale: float, window: int
    ) -> Tensor:
        longest = [max(counts) for counts in zip(*sequences.lengths)]
        attended = varlen_attn(
            query, key, value, sequences.queries, sequences.keys, *longest,
            scale=scale, window_size=(window - 1 if window else -1, 0), enable_gqa=True,
        )  # fmt: skip
        assert isinstance(attended, Tensor)
        return attended

    return attend_by_kernel


def missing_for(device: torch.device, dtype: torch.dtype, heads: tuple[int, int, int]) -> str:
    """Why packs of a model are not attended to so; "" where they are.

    ``heads`` are those of queries and of keys, and the numbers of one. On a GPU the kernel is tried once, and the log
    says what came of it; on a CPU the plain form does the work.
    """
    return _tried(device, dtype, heads) if device.type == "cuda" else ""


@functools.cache
def _tried(device: torch.device, dtype: torch.dtype, heads: tuple[int, int, int]) -> str:
    kernel = varlen_kernel()
    why = _refusal(device, dtype, heads[2]) if kernel else f"torch {torch.__version__} has no such kernel"
    if kernel and not why:
        why = fault_of(kernel, device, dtype, heads)
    way = (
        f"part by part: {why}"
        if why
        else "in one call of a kernel for many lengths, which gives what its plain form gives"
    )
    logger.info("packs are attended to %s", way)
    return why


def fault_of(kernel: Kernel, device: torch.device, dtype: torch.dtype, heads: tuple[int, int, int]) -> str:
    """What is wrong with a kernel on a small pack; "" where nothing is."""
    try:
        apart = apart_from_plain(kernel, device, dtype, heads)
    except RuntimeError as error:
        return f"the kernel for many lengths fails here ({error})"
    return "" if apart < _FARTHEST else f"the kernel for many lengths is {apart:.2g} from its plain form"


def _refusal(device: torch.device, dtype: torch.dtype, width: int) -> str:
    if dtype not in (torch.bfloat16, torch.float16):
        return f"the kernel for many lengths takes half precision, not {dtype}"
    if width > _WIDEST or width % 8:
        return f"the kernel for many lengths takes heads of up to {_WIDEST} numbers in steps of 8, not {width}"
    if torch.cuda.get_device_capability(device) < (8, 0):
        return "the kernel for many lengths needs a GPU of compute capability 8.0 or later"
    return ""


def apart_from_plain(kernel: Kernel, device: torch.device, dtype: torch.dtype, heads: tuple[int, int, int]) -> float:
    """Largest difference of a kernel from ``attend_each`` in fp32, of values and gradients, on a small pack."""
    own, shared, width = heads
    sequences = PackSequences.of((tree(0, 70, (40, 40, 9)), tree(159, 33, ())), device)
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(192, count, width, generator=generator).to(device, dtype) for count in (own, shared, shared)]
    weights = torch.randn(192, own, width, generator=generator).to(device)
    found: list[list[Tensor]] = []
    with torch.enable_grad():
        for attention, precision in ((kernel, dtype), (attend_each, torch.float32)):
            states = [one.to(precision).requires_grad_() for one in given]
            places = sequences.places
            keys, values = (_Copies.apply(one, places) for one in states[1:])  # type: ignore[no-untyped-call]
            attended = attention(states[0], keys, values, sequences, width**-0.5, 0)
            gradients = torch.autograd.grad((attended.float() * weights).sum(), states)
            found.append([attended.detach(), *gradients])
    # Gradients of keys and values are sums over many queries.
    return max(
        float((one.float() - exact).abs().amax() / exact.abs().amax().clamp_min(1.0)) for one, exact in zip(*found)
    )
